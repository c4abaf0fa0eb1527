/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <limits.h>
#include <string.h>

/* strerror() can share one buffer between threads; the functions used below do not. */

static int magnitude(int error)
{
	if (error == INT_MIN)
		return INT_MAX;
	return error < 0 ? -error : error;
}

const char *error_text(int error)
{
	const char *text = strerrordesc_np(magnitude(error));

	return text ? text : "Unknown error";
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(magnitude(error));

	return name ? name : "EUNKNOWN";
}
