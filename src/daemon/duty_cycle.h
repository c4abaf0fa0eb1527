/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_DUTY_CYCLE_H
#define DAEMON_DUTY_CYCLE_H

/* How long a thread that follows a busy writer rests between two rounds of work: each ends with a
 * commit, a wait for the disk that makes others who write to it wait, too. What happens first is
 * taken up at once; then rounds are a fifth of the time, and larger, so that a writer of 100,000
 * files is slowed little. Who waits for sync is not kept waiting by it. */

#include <stdint.h>

#include "base/clock.h"

#define DUTY_CYCLE_PAUSE_MS_MIN 20
#define DUTY_CYCLE_PAUSE_MS_MAX 500
#define DUTY_CYCLE_PAUSE_FACTOR 4 /* so many times as long as the round took */

/* When to go on after a round that began then and has ended now; clock_monotonic_ns(). */
static inline uint64_t duty_cycle_resume_ns(uint64_t began_ns)
{
	uint64_t now_ns = clock_monotonic_ns(),
		 pause_ns = (now_ns - began_ns) * DUTY_CYCLE_PAUSE_FACTOR;

	if (pause_ns < DUTY_CYCLE_PAUSE_MS_MIN * UINT64_C(1000000))
		pause_ns = DUTY_CYCLE_PAUSE_MS_MIN * UINT64_C(1000000);
	if (pause_ns > DUTY_CYCLE_PAUSE_MS_MAX * UINT64_C(1000000))
		pause_ns = DUTY_CYCLE_PAUSE_MS_MAX * UINT64_C(1000000);
	return now_ns + pause_ns;
}

#endif
