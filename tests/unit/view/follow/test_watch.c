/* SPDX-License-Identifier: MIT */
#include "watch_bench.h"

#define NAME_BYTES 255

static int set_up(void **state)
{
	struct bench *bench = bench_new();

	bench_watch(bench, NULL);
	*state = bench;
	return 0;
}

static void test_all_events_of_a_name_are_taken_at_once(void **state)
{
	check_events_of_a_name(*state);
}

static void test_removals_are_known_before_the_events_are_taken(void **state)
{
	check_removals_are_known(*state);
}

/* The changes of the file under its former name are unknown. */
static void test_name_that_was_moved_here_has_that_event(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	close(create(bench, "sub/new"));
	take(bench);
	assert_int_equal(renameat(bench->root, "sub/new", bench->root, "new"), 0);
	assert_int_equal(renameat(bench->root, "new", bench->root, "newer"), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "new"), EVENT_NAME | EVENT_MOVED_IN | EVENT_MOVED_AWAY);
	assert_int_equal(events(bench, 1, "newer"), EVENT_NAME | EVENT_MOVED_HERE);
	assert_false(bench->set.has_moved_out);
	assert_int_equal(renameat(bench->root, "newer", bench->root, "sub/new"), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "newer"), EVENT_NAME | EVENT_MOVED_AWAY);
	assert_true(bench->set.has_moved_out);
	take(bench);
	assert_false(bench->set.has_moved_out);
}

static void test_writes_are_known_before_the_events_are_taken(void **state)
{
	struct bench *bench = *state;
	int fd = create(bench, "file");

	take(bench);
	assert_int_equal(linkat(bench->root, "file", bench->root, "link", 0), 0);
	assert_false(watch_has_written(bench->watch));
	assert_int_equal(write(fd, "a", 1), 1);
	assert_true(watch_has_written(bench->watch));
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_WRITTEN);
	assert_false(watch_has_written(bench->watch));
	assert_int_equal(fchmod(fd, 0600), 0);
	assert_true(watch_has_written(bench->watch));
	close(fd);
}

/* Without the wake, the follower would not take the events that the query read. */
static void test_query_for_writes_wakes_the_follower(void **state)
{
	struct bench *bench = *state;

	atomic_store(&bench->holds_up, true);
	close(create(bench, "a"));
	wait_for(&bench->held_up); /* the drain thread is stopped */
	take(bench);
	wait_for(&bench->woken);
	atomic_store(&bench->holds_up, false);
	close(create(bench, "b"));
	assert_true(watch_has_written(bench->watch));
	assert_int_equal(sem_trywait(&bench->woken), 0);
	sem_post(&bench->may_go_on);
}

static void test_file_that_is_written_again_is_not_closed(void **state)
{
	struct bench *bench = *state;
	int fd = create(bench, "file");

	assert_int_equal(write(fd, "a", 1), 1);
	close(fd);
	fd = create(bench, "file");
	assert_int_equal(write(fd, "b", 1), 1);
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_NAME | EVENT_CREATED | EVENT_WRITTEN);
	close(fd);
}

static void test_take_returns_all_earlier_events(void **state)
{
	struct bench *bench = *state;
	char name[16];

	for (int i = 0; i < 2000; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mkdirat(bench->root, name, 0755), 0);
		take(bench);
		assert_int_equal(bench->count, 1);
		assert_int_equal(events(bench, 1, name),
				 EVENT_NAME | EVENT_CREATED | EVENT_NEW_DIR);
	}
}

static void test_directory_itself_has_no_name(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	take(bench);
	assert_int_equal(fchmodat(bench->root, "sub", 0700, 0), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "sub"), EVENT_ATTRIBUTES);
	assert_int_equal(events(bench, 2, ""), EVENT_ATTRIBUTES);
	assert_int_equal(renameat(bench->root, "sub", bench->root, "bus"), 0);
	take(bench);
	assert_int_equal(events(bench, 2, ""), EVENT_ATTRIBUTES);
}

static void test_deleted_directory_is_forgotten(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	assert_int_equal(directories(bench), 2);
	assert_int_equal(unlinkat(bench->root, "sub", AT_REMOVEDIR), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "sub"), EVENT_NAME | EVENT_CREATED | EVENT_REMOVED |
							  EVENT_REPLACED | EVENT_NEW_DIR);
	assert_int_equal(events(bench, 2, ""), EVENT_ATTRIBUTES);
	assert_int_equal(directories(bench), 1);
	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	close(create(bench, "sub/a"));
	take(bench);
	assert_true(events(bench, 2, "a") & EVENT_NAME);
}

static void test_renamed_directory_keeps_its_number(void **state)
{
	struct bench *bench = *state;
	uint64_t known = 0;
	int fd;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	add(bench, 0, "sub", 2);
	assert_int_equal(renameat(bench->root, "sub", bench->root, "bus"), 0);
	fd = openat(bench->root, "bus", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(watch_add(bench->watch, 0, fd, 3, &known), WATCH_KNOWN);
	assert_int_equal(known, 2);
	take(bench);
	close(create(bench, "bus/before"));
	take(bench);
	assert_true(events(bench, 2, "before") & EVENT_NAME);

	watch_renumber(bench->watch, 0, 2, 3);
	watch_renumber(bench->watch, 0, 2, 4);
	assert_int_equal(watch_add(bench->watch, 0, fd, 3, &known), WATCH_ADDED);
	assert_int_equal(directories(bench), 2);
	close(create(bench, "bus/after"));
	take(bench);
	assert_true(events(bench, 3, "after") & EVENT_NAME);
	assert_int_equal(bench->count, 1);
	close(fd);
}

static void test_number_belongs_to_the_directory_that_was_added_last(void **state)
{
	check_owner_of_a_number(*state);
}

static void test_unwatched_directory_has_no_events(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 0, "sub", 2);
	take(bench);
	watch_remove(bench->watch, 0, 2);
	watch_remove(bench->watch, 0, 2);
	watch_remove(bench->watch, 1, 1);
	assert_int_equal(directories(bench), 1);
	close(create(bench, "sub/a"));
	take(bench);
	assert_int_equal(bench->count, 0);
	add(bench, 0, "sub", 2);
	close(create(bench, "sub/b"));
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_true(events(bench, 2, "b") & EVENT_NAME);
}

static void test_only_directories_are_watched(void **state)
{
	struct bench *bench = *state;
	uint64_t known;
	int fd = create(bench, "file");

	assert_int_equal(watch_add(bench->watch, 0, fd, 2, &known), -ENOTDIR);
	close(fd);
	assert_int_equal(watch_add(bench->watch, 0, fd, 2, &known), -ENOENT);
}

static void test_wake_is_sent_once_until_events_are_taken(void **state)
{
	struct bench *bench = *state;
	int woken;

	close(create(bench, "a"));
	wait_for(&bench->woken);
	for (int i = 0; i < 100; i++)
		close(create(bench, "b"));
	take(bench);
	assert_int_equal(bench->count, 2);
	close(create(bench, "c"));
	wait_for(&bench->woken);
	assert_int_equal(sem_getvalue(&bench->woken, &woken), 0);
	assert_in_range(woken, 0, 1); /* a wake for the events that take was reading is possible */
}

static void test_overflow_of_a_kernel_queue_affects_no_other_queue(void **state)
{
	struct bench *bench = *state;
	struct watch_figures figures;
	long limit = kernel_limit("/proc/sys/fs/inotify/max_queued_events");

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 1, "sub", 1);
	hold_up(bench);
	for (long i = 0; i < limit / 2 + 1; i++)
		assert_int_equal(renameat(bench->root, i % 2 ? "again" : "first", bench->root,
					  i % 2 ? "first" : "again"),
				 0);
	close(create(bench, "sub/a"));
	take(bench);
	assert_int_equal(bench->set.overflowed, 1);
	assert_int_equal(bench->count, 1);
	assert_true(events(bench, 1, "a") & EVENT_NAME);
	watch_figures(bench->watch, &figures);
	assert_int_equal(figures.overflows, 1);
	assert_true(figures.events >= (uint64_t)limit);

	close(create(bench, "b"));
	take(bench);
	assert_int_equal(bench->set.overflowed, 0);
	assert_true(events(bench, 1, "b") & EVENT_NAME);
}

/* Makes a name of the largest length, so that few names fill a queue. */
static void name_of(char name[NAME_BYTES + 1], long number)
{
	int digits = snprintf(name, NAME_BYTES + 1, "%ld", number);

	memset(name + digits, 'x', NAME_BYTES - (size_t)digits);
	name[NAME_BYTES] = '\0';
}

/* Waits until the drain thread has read this many events, so that the queue of the kernel does not
 * overflow. */
static void wait_for_events(struct bench *bench, uint64_t events, struct watch_figures *figures)
{
	for (int i = 0; i < WAIT_SECONDS * 1000; i++) {
		watch_figures(bench->watch, figures);
		if (figures->events >= events)
			return;
		clock_sleep_ms(1);
	}
	fail_msg("only %lu events of %lu", figures->events, events);
}

static void test_full_memory_drops_the_largest_queue(void **state)
{
	struct bench *bench = *state;
	const long enough = WATCH_PENDING_MAX / NAME_BYTES;
	char name[2][NAME_BYTES + 1];
	struct watch_figures figures = {0};
	long i;

	assert_int_equal(mkdirat(bench->root, "sub", 0755), 0);
	add(bench, 1, "sub", 1);
	close(create(bench, "sub/a"));
	name_of(name[0], 0);
	close(create(bench, name[0]));
	for (i = 1; i < enough && figures.overflows == 0; i++) {
		name_of(name[i % 2], i);
		assert_int_equal(renameat(bench->root, name[(i + 1) % 2], bench->root, name[i % 2]),
				 0);
		if (i % 2048 == 0)
			wait_for_events(bench, 2 * (uint64_t)i, &figures);
	}
	assert_in_range(i, enough / 2, enough - 1);
	take(bench);
	assert_int_equal(bench->set.overflowed, 1);
	assert_int_equal(bench->count, 1);
	assert_true(events(bench, 1, "a") & EVENT_NAME);
}

/* Each thread makes directories. It watches each directory, adds it again under another number, and
 * makes a file in it. It removes a third of the directories. */
#define MAKERS 4
#define EACH 300

struct maker {
	struct bench *bench;
	unsigned int number;
	unsigned int mistakes;
	struct event_set set;
};

static void make_one(struct maker *maker, unsigned int i)
{
	struct bench *bench = maker->bench;
	uint64_t dir = 2 + (uint64_t)maker->number * EACH + i, known = 0;
	char path[32], file[48];
	int fd, other;

	(void)snprintf(path, sizeof(path), "%u-%u", maker->number, i);
	(void)snprintf(file, sizeof(file), "%s/file", path);
	maker->mistakes += mkdirat(bench->root, path, 0755) != 0;
	fd = openat(bench->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	maker->mistakes += watch_add(bench->watch, 0, fd, dir, &known) != WATCH_ADDED;
	maker->mistakes += watch_add(bench->watch, 0, fd, dir + 1000000, &known) != WATCH_KNOWN;
	maker->mistakes += known != dir;
	other = openat(bench->root, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	maker->mistakes += other < 0;
	close(other);
	close(fd);
	if (i % 3 == 0) {
		maker->mistakes += unlinkat(bench->root, file, 0) != 0;
		maker->mistakes += unlinkat(bench->root, path, AT_REMOVEDIR) != 0;
	} else if (i % 3 == 1) {
		maker->mistakes += watch_take(bench->watch, &maker->set) != 0;
	}
}

static void *run_maker(void *context)
{
	struct maker *maker = context;

	for (unsigned int i = 0; i < EACH; i++)
		make_one(maker, i);
	return NULL;
}

static void test_nothing_is_lost_while_many_threads_watch_and_take(void **state)
{
	struct bench *bench = *state;
	struct maker makers[MAKERS];
	pthread_t threads[MAKERS];
	struct event_set all CLEANUP(event_set_reset) = {0};

	for (unsigned int i = 0; i < MAKERS; i++) {
		makers[i] = (struct maker){.bench = bench, .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, run_maker, &makers[i]), 0);
	}
	for (unsigned int i = 0; i < MAKERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(makers[i].mistakes, 0);
		assert_int_equal(event_set_merge(&all, &makers[i].set), 0);
	}
	assert_int_equal(watch_take(bench->watch, &all), 0);
	assert_int_equal(all.overflowed, 0);
	/* the name of each directory, the file in it, and each deleted directory itself */
	assert_int_equal(all.count, MAKERS * (2 * EACH + EACH / 3));
	assert_int_equal(directories(bench), 1 + MAKERS * (EACH - EACH / 3));
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCHED(test_all_events_of_a_name_are_taken_at_once),
		WATCHED(test_removals_are_known_before_the_events_are_taken),
		WATCHED(test_name_that_was_moved_here_has_that_event),
		WATCHED(test_writes_are_known_before_the_events_are_taken),
		WATCHED(test_query_for_writes_wakes_the_follower),
		WATCHED(test_file_that_is_written_again_is_not_closed),
		WATCHED(test_take_returns_all_earlier_events),
		WATCHED(test_directory_itself_has_no_name),
		WATCHED(test_deleted_directory_is_forgotten),
		WATCHED(test_renamed_directory_keeps_its_number),
		WATCHED(test_number_belongs_to_the_directory_that_was_added_last),
		WATCHED(test_unwatched_directory_has_no_events),
		WATCHED(test_only_directories_are_watched),
		WATCHED(test_wake_is_sent_once_until_events_are_taken),
		WATCHED(test_overflow_of_a_kernel_queue_affects_no_other_queue),
		WATCHED(test_full_memory_drops_the_largest_queue),
		WATCHED(test_nothing_is_lost_while_many_threads_watch_and_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
