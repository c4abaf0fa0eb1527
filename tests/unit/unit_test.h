/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_TEST_H
#define TESTS_UNIT_TEST_H

/* cmocka, after the headers that must precede it. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns whether the test must end because it lacks something, and prints what. meson counts such
 * a test as passed and keeps the line in its log; skip() of cmocka is a failure in TAP. */
static inline bool lacks(bool condition, const char *what)
{
	if (condition)
		print_message("# SKIP: lacks %s\n", what);
	return condition;
}

static inline bool lacks_root(void)
{
	return lacks(geteuid() != 0, "root");
}

struct thread_call {
	void (*run)(void *context);
	void *context;
};

static inline void *thread_call_run(void *context)
{
	const struct thread_call *call = context;

	call->run(call->context);
	return NULL;
}

/* Runs a function in another thread and waits for its end. An assertion that fails there ends the
 * program, and cmocka prints which one only if CMOCKA_TEST_ABORT=1 is set. */
static inline void run_in_thread(void (*run)(void *context), void *context)
{
	struct thread_call call = {run, context};
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, thread_call_run, &call), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

#endif
