/* SPDX-License-Identifier: MIT */
#include "base/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/stop.h"

static volatile sig_atomic_t stopped_by;

static void take_signal(int number)
{
	stopped_by = number;
	stop_request();
}

void interrupt_watch(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESETHAND};
		struct sigaction before;

		/* a shell ignores SIGINT for background processes; nohup(1) ignores SIGHUP */
		if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &action, NULL);
	}
}

void interrupt_note(int number)
{
	stopped_by = number;
}

int interrupt_signal(void)
{
	return stopped_by;
}

void interrupt_raise(int number)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, number);
	(void)signal(number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* daemons block it */
	(void)raise(number);
}
