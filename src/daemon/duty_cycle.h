/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_DUTY_CYCLE_H
#define DAEMON_DUTY_CYCLE_H

/* Duty cycle of a worker thread: the pause between two rounds of work while a program writes many
 * files. A round ends with a commit, which waits for the disk and slows other writers down. The
 * first change is processed at once. After that, rounds take about a fifth of the time, and each
 * round processes more changes. A ticket (.twinfs/sync) ends the pause. */

#include <stdint.h>

#include "base/clock.h"

#define DUTY_CYCLE_PAUSE_MS_MIN 20
#define DUTY_CYCLE_PAUSE_MS_MAX 500
#define DUTY_CYCLE_PAUSE_FACTOR 4 /* the pause is this many times as long as the round */

/* Returns when the next round may begin, after a round that began at began_ns and ends now. Both
 * are times of clock_monotonic_ns(). */
static inline uint64_t duty_cycle_resume_ns(uint64_t began_ns)
{
	uint64_t now_ns = clock_monotonic_ns(),
		 pause_ns = (now_ns - began_ns) * DUTY_CYCLE_PAUSE_FACTOR;

	if (pause_ns < DUTY_CYCLE_PAUSE_MS_MIN * MS_NS)
		pause_ns = DUTY_CYCLE_PAUSE_MS_MIN * MS_NS;
	if (pause_ns > DUTY_CYCLE_PAUSE_MS_MAX * MS_NS)
		pause_ns = DUTY_CYCLE_PAUSE_MS_MAX * MS_NS;
	return now_ns + pause_ns;
}

#endif
