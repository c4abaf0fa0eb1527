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
#include "watch/watch.h"

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

#endif
