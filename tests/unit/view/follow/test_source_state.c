/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "index/source.h"
#include "unit_test.h"
#include "view/follow/source_state.h"

#define SOURCES 66 /* more than there can be queues */

/* Many sources that are one local directory. */
struct case_state {
	struct source list[SOURCES];
	struct sources sources;
	struct source_state *states;
};

static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));
	int fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_non_null(p);
	assert_true(fd >= 0);
	for (size_t i = 0; i < SOURCES; i++)
		p->list[i].fd = fd;
	p->sources = (struct sources){.list = p->list, .count = SOURCES};
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	close(p->list[0].fd);
	free(p->states);
	free(p);
	return 0;
}

static void follow(struct case_state *p, enum follower_mode mode)
{
	free(p->states);
	assert_int_equal(source_states_new(&p->states, &p->sources, mode), 0);
}

static void test_source_without_events_is_polled(void **state)
{
	struct case_state *p = *state;

	p->sources.count = 3;
	follow(p, FOLLOW_INOTIFY);
	assert_int_equal(source_states_queues(p->states, 3), 3);
	follow(p, FOLLOW_POLL);
	assert_int_equal(source_states_queues(p->states, 3), 0);
	assert_true(source_state_is_walked(&p->states[2]));
	follow(p, FOLLOW_NONE);
	assert_int_equal(source_states_queues(p->states, 3), 0);
	follow(p, FOLLOW_AUTO); /* a local file system is followed by inotify */
	assert_int_equal(source_states_queues(p->states, 3), 3);
	assert_false(source_state_is_walked(&p->states[2]));
}

static void test_sources_beyond_the_last_queue_are_polled(void **state)
{
	struct case_state *p = *state;

	follow(p, FOLLOW_INOTIFY);
	assert_int_equal(source_states_queues(p->states, SOURCES), 64);
	assert_false(source_state_is_walked(&p->states[63]));
	assert_true(source_state_is_walked(&p->states[64]));
}

static void test_queues_include_the_last_watched_source(void **state)
{
	struct case_state *p = *state;

	p->sources.count = 3;
	follow(p, FOLLOW_INOTIFY);
	p->states[0].polled = p->states[2].polled = true;
	assert_int_equal(source_states_queues(p->states, 3), 2);
	source_states_poll_all(p->states, 3);
	assert_int_equal(source_states_queues(p->states, 3), 0);
}

static void test_source_with_unwatched_directories_is_walked(void **state)
{
	struct case_state *p = *state;

	p->sources.count = 2;
	follow(p, FOLLOW_INOTIFY);
	assert_int_equal(source_states_unwatched(p->states, 2), 0);
	atomic_store(&p->states[0].unwatched, 2);
	atomic_store(&p->states[1].unwatched, 3);
	assert_int_equal(source_states_unwatched(p->states, 2), 5);
	assert_true(source_state_is_walked(&p->states[0]));
	atomic_store(&p->states[0].unwatched, 0);
	assert_false(source_state_is_walked(&p->states[0]));
}

static void test_lost_events_require_a_walk_of_watched_sources_only(void **state)
{
	struct case_state *p = *state;

	p->sources.count = 2;
	follow(p, FOLLOW_INOTIFY);
	assert_false(source_states_need_walk(p->states, 2));
	source_states_require_walk_all(p->states, 2);
	assert_true(source_state_needs_walk(&p->states[0]));
	assert_true(source_state_needs_walk(&p->states[1]));
	assert_false(source_state_is_walked(&p->states[0]));
	source_states_poll_all(p->states, 2);
	assert_false(source_states_need_walk(p->states, 2));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_source_without_events_is_polled),
		CASE(test_sources_beyond_the_last_queue_are_polled),
		CASE(test_queues_include_the_last_watched_source),
		CASE(test_source_with_unwatched_directories_is_walked),
		CASE(test_lost_events_require_a_walk_of_watched_sources_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
