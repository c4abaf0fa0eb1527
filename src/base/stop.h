/* SPDX-License-Identifier: MIT */
#ifndef BASE_STOP_H
#define BASE_STOP_H

/* The stop flag: all long work of this process stops when it is set. Any thread, and signal
 * handlers.
 */

#include <stdbool.h>

void stop_request(void);
bool stop_requested(void);

#endif
