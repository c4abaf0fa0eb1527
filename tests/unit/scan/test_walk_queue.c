/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include "scan/walk.h"
#include "unit_test.h"

#define FAST_DIRS 100

static void push(struct walk_queue *queue)
{
	struct walk_dir *dir = walk_dir_new(NULL, (struct name){"d", 1});

	assert_non_null(dir);
	walk_queue_push(queue, dir, dir, 1, WALK_LAST);
}

/* Pushes two directories with these ids. */
static void push_two(struct walk_queue *queue, uint64_t one, uint64_t other, enum walk_order order)
{
	struct walk_dir *first = walk_dir_new(NULL, (struct name){"a", 1});
	struct walk_dir *last = walk_dir_new(NULL, (struct name){"b", 1});

	assert_true(first && last);
	first->id = one;
	last->id = other;
	first->next = last;
	walk_queue_push(queue, first, last, 2, order);
}

static void take_from(struct walk_queue *queue, uint64_t id, bool seeks)
{
	struct walk_dir *dir = walk_queue_pop(queue, SIZE_MAX, seeks);

	assert_non_null(dir);
	assert_int_equal(dir->id, id);
	walk_queue_finish(queue, dir, false, 0);
}

static void take(struct walk_queue *queue, uint64_t id)
{
	take_from(queue, id, false);
}

static void test_directories_are_taken_in_the_order_of_the_push(void **state)
{
	struct walk_queue queue;

	(void)state;
	walk_queue_init(&queue, 1);
	push_two(&queue, 1, 2, WALK_NEXT);
	push_two(&queue, 3, 4, WALK_LAST);
	take(&queue, 1);
	push_two(&queue, 5, 6, WALK_NEXT);
	push_two(&queue, 7, 8, WALK_LAST);
	for (size_t i = 0; i < 7; i++)
		take(&queue, (uint64_t[]){5, 6, 2, 3, 4, 7, 8}[i]);
	assert_null(walk_queue_pop(&queue, SIZE_MAX, false));
	walk_queue_deinit(&queue);
}

static void test_when_many_directories_wait_those_found_later_are_taken_first(void **state)
{
	struct walk_queue queue;

	(void)state;
	walk_queue_init(&queue, 1);
	push_two(&queue, 1, 2, WALK_LAST);
	for (size_t i = 0; i < WALK_WAITING - 2; i++)
		push(&queue);
	push_two(&queue, 3, 4, WALK_LAST);
	for (size_t i = 0; i < 4; i++)
		take(&queue, (uint64_t[]){3, 4, 1, 2}[i]);
	push_two(&queue, 5, 6, WALK_LAST);
	take(&queue, 0);
	walk_queue_deinit(&queue);
}

static void test_when_many_directories_wait_those_found_later_are_sorted_first(void **state)
{
	struct walk_queue queue;

	(void)state;
	walk_queue_init(&queue, 1);
	push_two(&queue, 1, 2, WALK_LAST);
	take_from(&queue, 1, true);
	push_two(&queue, 3, 4, WALK_LAST);
	take_from(&queue, 2, true);
	take_from(&queue, 3, true);
	for (size_t i = 0; i < WALK_WAITING; i++)
		push(&queue);
	take_from(&queue, 0, true);
	for (size_t i = 0; i < WALK_WAITING - 1; i++)
		take_from(&queue, 0, true);
	take_from(&queue, 4, true);
	assert_null(walk_queue_pop(&queue, SIZE_MAX, true));
	walk_queue_deinit(&queue);
}

/* Takes and releases the next directory. */
static void read_one(struct walk_queue *queue, bool waited)
{
	struct walk_dir *dir = walk_queue_pop(queue, SIZE_MAX, false);

	assert_non_null(dir);
	walk_queue_finish(queue, dir, waited, 0);
}

/* Joins, then reads directories until the walk ends. Returns NULL if it read none. */
static void *work(void *context)
{
	struct walk_queue *queue = context;
	struct walk_dir *dir;
	void *read = NULL;

	walk_queue_join(queue);
	while ((dir = walk_queue_pop(queue, SIZE_MAX, false))) {
		read = queue;
		walk_queue_finish(queue, dir, false, 0);
	}
	return read;
}

/* Waits until a second thread has joined. */
static void await_second(struct walk_queue *queue)
{
	unsigned int joined;

	do {
		pthread_mutex_lock(&queue->lock);
		joined = queue->joined;
		pthread_mutex_unlock(&queue->lock);
	} while (joined < 2);
}

/* Makes a queue with a number of directories, of which only this thread may read. Returns a second
 * thread that has joined. */
static pthread_t begin(struct walk_queue *queue, size_t dirs)
{
	pthread_t second;

	walk_queue_init(queue, 1);
	walk_queue_join(queue);
	for (size_t i = 0; i < dirs; i++)
		push(queue);
	assert_int_equal(pthread_create(&second, NULL, work, queue), 0);
	await_second(queue);
	return second;
}

static void test_thread_beyond_the_first_ones_reads_nothing_without_waits(void **state)
{
	struct walk_queue queue;
	pthread_t second = begin(&queue, FAST_DIRS);
	void *read;

	(void)state;
	for (size_t i = 0; i < FAST_DIRS; i++)
		read_one(&queue, i % (FAST_DIRS / 2) == 0);
	assert_int_equal(queue.admitted, 1);
	assert_null(walk_queue_pop(&queue, SIZE_MAX, false));
	assert_int_equal(pthread_join(second, &read), 0);
	assert_null(read);
	walk_queue_deinit(&queue);
}

static void test_waits_in_short_succession_admit_a_thread(void **state)
{
	struct walk_queue queue;
	pthread_t second = begin(&queue, 3);
	void *read;

	(void)state;
	read_one(&queue, true);
	read_one(&queue, true);
	/* this thread takes no further directory */
	assert_int_equal(pthread_join(second, &read), 0);
	assert_non_null(read);
	walk_queue_deinit(&queue);
}

static void test_error_ends_the_walk(void **state)
{
	struct walk_queue queue;
	struct walk_dir *dir;

	(void)state;
	walk_queue_init(&queue, 1);
	push(&queue);
	push(&queue);
	dir = walk_queue_pop(&queue, SIZE_MAX, false);
	walk_queue_finish(&queue, dir, false, -ENOMEM);
	assert_null(walk_queue_pop(&queue, SIZE_MAX, false));
	assert_int_equal(queue.error, -ENOMEM);
	walk_queue_deinit(&queue); /* releases the directory that waits */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread_beyond_the_first_ones_reads_nothing_without_waits),
		cmocka_unit_test(test_waits_in_short_succession_admit_a_thread),
		cmocka_unit_test(test_directories_are_taken_in_the_order_of_the_push),
		cmocka_unit_test(test_when_many_directories_wait_those_found_later_are_taken_first),
		cmocka_unit_test(
			test_when_many_directories_wait_those_found_later_are_sorted_first),
		cmocka_unit_test(test_error_ends_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
