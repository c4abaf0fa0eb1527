/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

#include "base/attributes.h"

/* Signals that a thread raises by its own faults. If they were blocked, the process would end
 * before a handler can report the cause. */
static const int own_faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};

int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all;
	sigset_t before;
	int r;

	(void)sigfillset(&all);
	for (size_t i = 0; i < ARRAY_SIZE(own_faults); i++)
		(void)sigdelset(&all, own_faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}
