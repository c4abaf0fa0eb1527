/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <signal.h>

#include "base/attributes.h"

/* Size of the stack of each thread. The default is that of the main thread, which a user can limit
 * (RLIMIT_STACK), or 128 KiB (musl). No frame is larger than 16 KiB (src/meson.build). Sanitizers
 * put guards around each variable. */
#ifdef TWINFS_INSTRUMENTED
#define STACK_BYTES ((size_t)8 << 20)
#else
#define STACK_BYTES ((size_t)512 << 10)
#endif

/* Signals that a thread raises by its own faults. If they were blocked, the process would end
 * before a handler can report the cause. */
static const int own_faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};

int thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all;
	sigset_t before;
	pthread_attr_t attributes;
	int r = pthread_attr_init(&attributes);

	if (r)
		return -r;
	r = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	(void)sigfillset(&all);
	for (size_t i = 0; i < ARRAY_SIZE(own_faults); i++)
		(void)sigdelset(&all, own_faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (r == 0)
		r = pthread_create(thread, &attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}
