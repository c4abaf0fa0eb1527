/* SPDX-License-Identifier: MIT */
#ifndef CLI_SHOWN_PATHS_H
#define CLI_SHOWN_PATHS_H

/* The sources as the user wrote them. Paths are printed in this form. */

#include <stddef.h>

#include "base/attributes.h"

struct sources;

/* Finds for each source the first given path that leads to it, or its absolute path if none does.
 * Returns a list that the caller frees, or NULL if memory is short. The paths in the list are
 * borrowed from given and sources. */
MUST_CHECK const char **shown_paths_find(const struct sources *sources, char *const *given,
					 size_t count);

#endif
