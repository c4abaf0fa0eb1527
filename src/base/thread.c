/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all;
	sigset_t before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(thread, NULL, run, context);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}
