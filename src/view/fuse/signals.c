/* SPDX-License-Identifier: MIT */
#include "view/fuse/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/stop.h"
#include "base/thread.h"

/* How long a daemon may take to end. It possibly waits for a source that does not
 * answer. A service manager kills it after 90 s. */
#define GRACE_S 60

struct signal_watch {
	pthread_t thread;
	sigset_t signals;
	atomic_bool ending;
	atomic_int number; /* last signal that ended the daemon */
	pthread_mutex_t lock; /* protects the fields below; held during the callbacks */
	void (*stop)(void *context);
	void *stop_context;
	bool received;
	bool hangup_ends;
	void (*hangup)(void *context);
	void *context;
};

static void stop_everything(struct signal_watch *watch)
{
	stop_request();
	pthread_mutex_lock(&watch->lock);
	watch->received = true;
	if (watch->stop)
		watch->stop(watch->stop_context);
	pthread_mutex_unlock(&watch->lock);
}

static void call_hangup(struct signal_watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	if (watch->hangup)
		watch->hangup(watch->context);
	pthread_mutex_unlock(&watch->lock);
}

/* Waits for the next signal. After one that ends the daemon, ends the process if nothing else does.
 * Returns the signal, or 0 after a failure. */
static int await_signal(struct signal_watch *watch)
{
	static const struct timespec grace = {.tv_sec = GRACE_S};
	bool stopped = atomic_load(&watch->number) != 0;
	int number;

	do
		number = sigtimedwait(&watch->signals, NULL, stopped ? &grace : NULL);
	while (number < 0 && errno == EINTR);
	if (number < 0 && errno == EAGAIN)
		interrupt_raise(atomic_load(&watch->number));
	return number < 0 ? 0 : number;
}

static void *watch_signals(void *context)
{
	struct signal_watch *watch = context;
	int signal;

	while ((signal = await_signal(watch)) != 0 && !atomic_load(&watch->ending)) {
		if (signal == SIGHUP && !watch->hangup_ends) {
			call_hangup(watch);
			continue;
		}
		atomic_store(&watch->number, signal);
		stop_everything(watch);
	}
	return NULL;
}

int signal_watch_new(struct signal_watch **watch, bool hangup_ends)
{
	struct signal_watch *made = calloc(1, sizeof(*made));
	sigset_t before;
	int r;

	if (!made)
		return -ENOMEM;
	(void)sigemptyset(&made->signals);
	(void)sigaddset(&made->signals, SIGINT);
	(void)sigaddset(&made->signals, SIGTERM);
	(void)sigaddset(&made->signals, SIGHUP);
	made->hangup_ends = hangup_ends;
	pthread_mutex_init(&made->lock, NULL);
	pthread_sigmask(SIG_BLOCK, &made->signals, &before);
	(void)signal(SIGHUP, SIG_DFL); /* SIGHUP can be ignored (nohup) */
	r = thread_start(&made->thread, watch_signals, made);
	if (r < 0) {
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_mutex_destroy(&made->lock);
		free(made);
		return r;
	}
	*watch = made;
	return 0;
}

void signal_watch_on_hangup(struct signal_watch *watch, void (*hangup)(void *context),
			    void *context)
{
	pthread_mutex_lock(&watch->lock);
	watch->hangup = hangup;
	watch->context = context;
	pthread_mutex_unlock(&watch->lock);
}

void signal_watch_attach(struct signal_watch *watch, void (*stop)(void *context), void *context)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->lock);
	watch->stop = stop;
	watch->stop_context = context;
	if (stop && watch->received)
		stop(context);
	pthread_mutex_unlock(&watch->lock);
}

int signal_watch_number(const struct signal_watch *watch)
{
	return atomic_load(&watch->number);
}

void signal_watch_free(struct signal_watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->ending, true);
	pthread_kill(watch->thread, SIGINT); /* any of the awaited signals */
	pthread_join(watch->thread, NULL);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}
