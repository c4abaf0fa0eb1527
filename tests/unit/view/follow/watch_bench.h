/* SPDX-License-Identifier: MIT */
#ifndef TESTS_WATCH_BENCH_H
#define TESTS_WATCH_BENCH_H

/* A watch on a folder of its own, for the tests of both back ends. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "folder.h"
#include "unit_test.h"
#include "view/follow/watch.h"

#define WAIT_SECONDS 30

/* The folder of a test, a watch with two queues, and the events that were taken last. */
struct bench {
	char folder[64];
	int root;
	struct watch *watch;
	struct event_set set;
	const struct name_events **list;
	size_t count;
	sem_t woken;
	atomic_bool holds_up; /* on_wake stops the drain thread */
	sem_t held_up; /* posted when the drain thread has stopped */
	sem_t may_go_on;
};

static inline void on_wake(void *context)
{
	struct bench *bench = context;

	sem_post(&bench->woken);
	if (!atomic_load(&bench->holds_up))
		return;
	sem_post(&bench->held_up);
	sem_wait(&bench->may_go_on);
}

static inline void add(struct bench *bench, unsigned int queue, const char *path, uint64_t dir)
{
	int fd AUTO_CLOSE = openat(bench->root, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t known = 0;

	assert_true(fd >= 0);
	assert_int_equal(watch_add(bench->watch, queue, fd, dir, &known), WATCH_ADDED);
	assert_int_equal(known, 0);
}

/* Makes a folder without a watch. */
static inline struct bench *bench_new(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	folder_make(bench->folder, "/tmp");
	bench->root = open(bench->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(bench->root >= 0);
	assert_int_equal(sem_init(&bench->woken, 0, 0), 0);
	assert_int_equal(sem_init(&bench->held_up, 0, 0), 0);
	assert_int_equal(sem_init(&bench->may_go_on, 0, 0), 0);
	return bench;
}

/* Watches the folder as number 1. Uses fanotify if there are groups. */
static inline void bench_watch(struct bench *bench, struct fanotify_group *groups)
{
	const struct watch_settings settings = {
		.queues = 2,
		.groups = groups,
		.prefers_fanotify = true,
		.wake = on_wake,
		.context = bench,
	};

	assert_int_equal(watch_new(&bench->watch, &settings), 0);
	add(bench, 0, ".", 1);
}

static inline int tear_down(void **state)
{
	struct bench *bench = *state;

	atomic_store(&bench->holds_up, false);
	sem_post(&bench->may_go_on);
	watch_free(bench->watch);
	close(bench->root);
	event_set_reset(&bench->set);
	free(bench->list);
	folder_remove(bench->folder);
	free(bench);
	return 0;
}

static inline void take(struct bench *bench)
{
	event_set_reset(&bench->set);
	free(bench->list);
	bench->list = NULL;
	assert_int_equal(watch_take(bench->watch, &bench->set), 0);
	assert_int_equal(event_set_list(&bench->set, &bench->list, &bench->count), 0);
}

/* The events of a name; 0: none. */
static inline uint32_t events(const struct bench *bench, uint64_t dir, const char *name)
{
	for (size_t i = 0; i < bench->count; i++) {
		if (bench->list[i]->dir == dir && strcmp(bench->list[i]->name, name) == 0)
			return bench->list[i]->events;
	}
	return 0;
}

static inline uint64_t directories(struct bench *bench)
{
	struct watch_figures figures;

	watch_figures(bench->watch, &figures);
	return figures.directories;
}

static inline int create(const struct bench *bench, const char *path)
{
	int fd = openat(bench->root, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	return fd;
}

static inline void wait_for(sem_t *semaphore)
{
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += WAIT_SECONDS;
	assert_int_equal(sem_timedwait(semaphore, &limit), 0);
}

/* Changes a file in every way, and checks the events after each change. */
static inline void check_events_of_a_name(struct bench *bench)
{
	int fd = create(bench, "file");

	take(bench);
	assert_int_equal(bench->count, 1);
	assert_int_equal(events(bench, 1, "file"), EVENT_NAME | EVENT_CREATED);

	assert_int_equal(write(fd, "a", 1), 1);
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_WRITTEN);
	close(fd);
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_WRITTEN | EVENT_CLOSED);

	assert_int_equal(fchmodat(bench->root, "file", 0600, 0), 0);
	take(bench);
	assert_int_equal(events(bench, 1, "file"), EVENT_ATTRIBUTES);

	assert_int_equal(renameat(bench->root, "file", bench->root, "moved"), 0);
	take(bench);
	assert_int_equal(bench->count, 2);
	assert_int_equal(events(bench, 1, "file"), EVENT_NAME | EVENT_MOVED_AWAY);
	assert_int_equal(events(bench, 1, "moved"), EVENT_NAME | EVENT_MOVED_HERE);

	assert_int_equal(unlinkat(bench->root, "moved", 0), 0);
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_int_equal(events(bench, 1, "moved"), EVENT_NAME | EVENT_REMOVED);
	take(bench);
	assert_int_equal(bench->count, 0);
}

/* Gives a number of one directory to another one, and checks whose events have it. */
static inline void check_owner_of_a_number(struct bench *bench)
{
	assert_int_equal(mkdirat(bench->root, "a", 0755), 0);
	assert_int_equal(mkdirat(bench->root, "b", 0755), 0);
	assert_int_equal(mkdirat(bench->root, "c", 0755), 0);
	add(bench, 0, "a", 2);
	add(bench, 0, "b", 2);
	add(bench, 0, "c", 3);
	watch_renumber(bench->watch, 0, 3, 2);
	assert_int_equal(directories(bench), 2);
	take(bench);
	close(create(bench, "a/a"));
	close(create(bench, "b/b"));
	close(create(bench, "c/c"));
	take(bench);
	assert_int_equal(bench->count, 1);
	assert_true(events(bench, 2, "c") & EVENT_NAME);
}

/* Stops the drain thread, so that the kernel's queues are not read. */
static inline void hold_up(struct bench *bench)
{
	atomic_store(&bench->holds_up, true);
	take(bench); /* takes earlier events, so that the next event wakes the follower */
	close(create(bench, "first"));
	wait_for(&bench->held_up);
}

static inline long kernel_limit(const char *path)
{
	FILE *file AUTO_FCLOSE = fopen(path, "re");
	char line[32] = "";

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	return strtol(line, NULL, 10);
}

/* Removed, renamed and replaced names are known before their events are taken; new ones are no
 * such names. */
static inline void check_removals_are_known(struct bench *bench)
{
	close(create(bench, "a"));
	assert_int_equal(linkat(bench->root, "a", bench->root, "b", 0), 0);
	assert_false(watch_has_removed(bench->watch));
	assert_int_equal(unlinkat(bench->root, "a", 0), 0);
	assert_true(watch_has_removed(bench->watch));
	take(bench);
	assert_false(watch_has_removed(bench->watch));
	assert_int_equal(renameat(bench->root, "b", bench->root, "c"), 0);
	assert_true(watch_has_removed(bench->watch));
	take(bench);
	assert_false(watch_has_removed(bench->watch));
}

#endif
