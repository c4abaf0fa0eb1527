/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

#include "base/attributes.h"

/* What a thread raises by what it does itself: blocked, it ends the process before anybody can say
 * why. */
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
