/* SPDX-License-Identifier: MIT */
#include <pthread.h>

#include "index/audit.h"
#include "scan/results.h"

#define PREFIX 55

static const struct hash128 hash = {1, 2};

struct case_state {
	struct fixture *f;
	struct results results;
	struct file_result files[100];
};

/* Adds a hundred files of 10 bytes that were read. */
static int setup_play(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));
	static char names[100][8];

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	for (size_t i = 0; i < 100; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%02zu", i);
		add_file(p->f, p->f->roots[0], names[i], file_of(1000 + i, 10, 0));
	}
	fixture_commit(p->f);
	for (size_t i = 0; i < 100; i++) {
		const struct file_record file = {.attributes = file_of(1000 + i, 10, 0)};

		p->files[i] = (struct file_result){.file = id_at(p->f, p->f->roots[0], names[i]),
						   .digest = file_digest(&file),
						   .prefix = PREFIX};
	}
	results_init(&p->results, p->f->catalog, NULL);
	*state = p;
	return 0;
}

static int teardown_play(void **state)
{
	struct case_state *p = *state;

	results_deinit(&p->results);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static void add_class(struct case_state *p, size_t first, size_t count, uint64_t group)
{
	struct class_result class = {.group = group, .size = 10, .hash = hash, .count = count};

	assert_int_equal(results_add_class(&p->results, &class, p->files + first), 0);
}

static uint64_t group_of(const struct case_state *p, size_t which)
{
	return content_of(p->f, p->files[which].file).group;
}

static void test_classes_of_two_or_more_become_groups(void **state)
{
	struct case_state *p = *state;

	add_class(p, 0, 3, 0);
	add_class(p, 3, 1, 0);
	add_class(p, 4, 2, 0);
	assert_int_equal(totals_of(p->f).groups, 0); /* not yet committed */
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(totals_of(p->f).groups, 2);
	assert_int_equal(group_at(p->f, group_of(p, 0)).inodes, 3);
	assert_int_equal(group_of(p, 3), 0);
	assert_int_equal(content_of(p->f, p->files[3].file).prefix, PREFIX);
	assert_int_equal(group_at(p->f, group_of(p, 4)).inodes, 2);
	assert_int_equal(group_at(p->f, group_of(p, 0)).ordinal +
				 group_at(p->f, group_of(p, 4)).ordinal,
			 1 + 2);
	audit_index(p->f->catalog);
}

static void test_files_equal_to_a_group_join_it(void **state)
{
	struct case_state *p = *state;
	uint64_t group;

	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	group = group_of(p, 0);
	add_class(p, 2, 1, group);
	add_class(p, 3, 2, group);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(group_at(p->f, group).inodes, 5);
	assert_int_equal(totals_of(p->f).groups, 1);
	audit_index(p->f->catalog);
}

static void test_file_that_changed_meanwhile_is_read_again(void **state)
{
	struct case_state *p = *state;

	add_class(p, 0, 3, 0);
	add_class(p, 3, 2, 0);
	update_file(p->f, p->files[1].file, file_of(1001, 10, 1));
	update_file(p->f, p->files[3].file, file_of(1003, 10, 1));
	update_file(p->f, p->files[4].file, file_of(1004, 10, 1));
	fixture_commit(p->f);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(content_of(p->f, p->files[1].file).prefix, 0);
	assert_int_equal(group_at(p->f, group_of(p, 0)).inodes, 2);
	assert_int_equal(totals_of(p->f).groups, 1);
	audit_index(p->f->catalog);
}

static void test_files_of_a_removed_group_are_read_again(void **state)
{
	struct case_state *p = *state;
	uint64_t group;

	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	group = group_of(p, 0);
	add_class(p, 2, 2, group);
	update_file(p->f, p->files[0].file, file_of(1000, 10, 1));
	update_file(p->f, p->files[1].file, file_of(1001, 10, 1));
	fixture_commit(p->f);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(content_of(p->f, p->files[2].file).prefix, 0);
	assert_int_equal(totals_of(p->f).groups, 0);
	audit_index(p->f->catalog);
}

static int error_of(const struct case_state *p, size_t which)
{
	struct catalog_reader *reader = fixture_read(p->f);
	int error = -1;

	assert_int_equal(catalog_get_error(reader, ERROR_FILE, p->files[which].file, &error), 0);
	catalog_read_end(reader);
	return error;
}

static void test_error_is_stored_until_the_file_is_read(void **state)
{
	struct case_state *p = *state;
	struct problem_result problem = {.file = p->files[0].file, .error = EIO};

	assert_int_equal(results_add_problem(&p->results, &problem), 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(error_of(p, 0), EIO);
	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(error_of(p, 0), 0);
	assert_int_equal(totals_of(p->f).errors, 0);
	audit_index(p->f->catalog);
}

static void test_copy_that_becomes_unreadable_leaves_its_group(void **state)
{
	struct case_state *p = *state;
	struct problem_result problem = {.file = p->files[0].file, .error = EIO};

	add_class(p, 0, 3, 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(results_add_problem(&p->results, &problem), 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(error_of(p, 0), EIO);
	assert_int_equal(content_of(p->f, p->files[0].file).prefix, 0);
	assert_int_equal(group_at(p->f, group_of(p, 1)).inodes, 2);
	assert_int_not_equal(group_at(p->f, group_of(p, 1)).kept, p->files[0].file);
	audit_index(p->f->catalog);
}

static void test_changed_file_gets_its_new_attributes(void **state)
{
	struct case_state *p = *state;
	struct problem_result problem = {.file = p->files[0].file,
					 .attributes = file_of(1000, 999, 1)};

	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(results_add_problem(&p->results, &problem), 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(file_at(p->f, p->files[0].file).attributes.size, 999);
	assert_int_equal(content_of(p->f, p->files[0].file).prefix, 0);
	audit_index(p->f->catalog);
}

static void test_empty_commit_makes_no_generation(void **state)
{
	struct case_state *p = *state;
	uint64_t generation = totals_of(p->f).generation;

	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(totals_of(p->f).generation, generation);
}

/* ---- commits in a thread ------------------------------------------------------------- */

static void test_results_added_during_a_commit_are_in_the_next_one(void **state)
{
	struct case_state *p = *state;

	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, true), 0);
	add_class(p, 2, 3, 0);
	assert_int_equal(results_wait(&p->results), 0);
	assert_int_equal(totals_of(p->f).groups, 1);
	assert_int_equal(content_of(p->f, p->files[2].file).prefix, 0);
	assert_int_equal(results_commit(&p->results, true), 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	assert_int_equal(totals_of(p->f).groups, 2);
	audit_index(p->f->catalog);
}

static void test_deinit_waits_for_the_thread(void **state)
{
	struct case_state *p = *state;

	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, true), 0);
	results_deinit(&p->results);
	assert_int_equal(totals_of(p->f).groups, 1);
	results_init(&p->results, p->f->catalog, NULL);
}

/* The commit fails because no id is left for a group. */
static void test_failure_of_the_thread_is_returned_from_then_on(void **state)
{
	struct case_state *p = *state;

	fixture_reopen_with_ids(p->f, 0);
	p->results.catalog = p->f->catalog;
	add_class(p, 0, 2, 0);
	assert_int_equal(results_commit(&p->results, true), 0);
	assert_true(results_wait(&p->results) < 0);
	add_class(p, 2, 1, 0);
	assert_true(results_commit(&p->results, true) < 0);
	assert_true(results_commit(&p->results, false) < 0);
	assert_int_equal(content_of(p->f, p->files[2].file).prefix, 0);
}

/* ---- threads ------------------------------------------------------------------------- */

struct adder {
	struct case_state *state;
	size_t first;
};

static void *add_and_commit(void *context)
{
	struct adder *adder = context;

	for (size_t i = 0; i < 25; i++) {
		add_class(adder->state, adder->first + i, 1, 0);
		if (i % 10 == 9)
			assert_int_equal(results_commit(&adder->state->results, false), 0);
		else if (i % 10 == 4)
			assert_int_equal(results_commit(&adder->state->results, true), 0);
		assert_int_equal(results_commit_if_due(&adder->state->results), 0);
	}
	return NULL;
}

static void test_results_of_many_threads_are_committed(void **state)
{
	struct case_state *p = *state;
	struct adder adders[4];
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++) {
		adders[i] = (struct adder){p, i * 25};
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_commit, &adders[i]), 0);
	}
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(results_commit(&p->results, false), 0);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(content_of(p->f, p->files[i].file).prefix, PREFIX);
	audit_index(p->f->catalog);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_play, teardown_play)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_classes_of_two_or_more_become_groups),
		CASE(test_files_equal_to_a_group_join_it),
		CASE(test_file_that_changed_meanwhile_is_read_again),
		CASE(test_files_of_a_removed_group_are_read_again),
		CASE(test_error_is_stored_until_the_file_is_read),
		CASE(test_copy_that_becomes_unreadable_leaves_its_group),
		CASE(test_changed_file_gets_its_new_attributes),
		CASE(test_empty_commit_makes_no_generation),
		CASE(test_results_added_during_a_commit_are_in_the_next_one),
		CASE(test_deinit_waits_for_the_thread),
		CASE(test_failure_of_the_thread_is_returned_from_then_on),
		CASE(test_results_of_many_threads_are_committed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
