/* SPDX-License-Identifier: MIT */
#include "base/stop.h"

#include <stdatomic.h>

static atomic_bool stop_flag;

void stop_request(void)
{
	atomic_store(&stop_flag, true);
}

bool stop_requested(void)
{
	return atomic_load_explicit(&stop_flag, memory_order_relaxed);
}
