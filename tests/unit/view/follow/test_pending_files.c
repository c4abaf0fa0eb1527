/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "view/follow/pending_files.h"

/* An index of files, and the pending files that were found in it. The name of each file describes
 * its state. */
struct case_state {
	struct fixture *f;
	struct pending_files pending;
};

static void add(struct case_state *p, const char *name, uint64_t size)
{
	static uint64_t inode = 1000;

	add_file(p->f, p->f->roots[0], name, file_of(inode++, size, 0));
}

static uint64_t id_of(const struct case_state *p, const char *name)
{
	return id_at(p->f, p->f->roots[0], name);
}

/* Adds three files of 10 bytes: "waits" is pending, "failed" had an error that is retried, and
 * "refused" had one that is not. Adds "alone", which failed and is the only file of 20 bytes. Adds
 * two files of 30 bytes, of which "read" was compared. */
static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	fixture_setup((void **)&p->f);
	add(p, "waits", 10);
	add(p, "failed", 10);
	add(p, "refused", 10);
	add(p, "alone", 20);
	add(p, "other", 30);
	add(p, "read", 30);
	fixture_commit(p->f);
	set_error(p->f, ERROR_FILE, id_of(p, "failed"), EIO);
	set_error(p->f, ERROR_FILE, id_of(p, "refused"), EACCES);
	set_error(p->f, ERROR_FILE, id_of(p, "alone"), ENOMEM);
	assert_int_equal(set_content(p->f, id_of(p, "read"), 0), 0);
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	pending_files_free(&p->pending);
	fixture_teardown((void **)&p->f);
	free(p);
	return 0;
}

static void find(struct case_state *p, const uint64_t *sizes, size_t count)
{
	pending_files_free(&p->pending);
	assert_int_equal(pending_files_find(&p->pending, p->f->catalog, sizes, count), 0);
}

static void assert_is(const struct bytes *list, uint64_t file)
{
	assert_int_equal(list->length, sizeof(file));
	assert_memory_equal(list->data, &file, sizeof(file));
}

/* ---- cases --------------------------------------------------------------------------- */

static void test_file_with_a_permanent_error_is_not_pending(void **state)
{
	static const uint64_t sizes[] = {10};
	struct case_state *p = *state;

	find(p, sizes, 1);
	assert_is(&p->pending.waiting, id_of(p, "waits"));
	assert_is(&p->pending.failed, id_of(p, "failed"));
	assert_int_equal(p->pending.alone.length, 0);
}

static void test_file_of_the_size_of_a_read_file_is_pending(void **state)
{
	static const uint64_t sizes[] = {30, 40};
	struct case_state *p = *state;

	find(p, sizes, 2);
	assert_is(&p->pending.waiting, id_of(p, "other"));
	assert_int_equal(p->pending.failed.length + p->pending.alone.length, 0);
}

static void test_error_of_a_file_that_is_alone_of_its_size_is_removed(void **state)
{
	static const uint64_t sizes[] = {10, 20};
	struct case_state *p = *state;

	find(p, sizes, 2);
	assert_is(&p->pending.waiting, id_of(p, "waits"));
	assert_is(&p->pending.failed, id_of(p, "failed"));
	assert_is(&p->pending.alone, id_of(p, "alone"));
	assert_int_equal(pending_files_forgive(&p->pending, p->f->catalog), 0);
	assert_int_equal(totals_of(p->f).errors, 2);
	find(p, sizes, 2);
	assert_int_equal(p->pending.alone.length, 0);
}

static void test_failed_files_are_found_whatever_the_error(void **state)
{
	struct due_files files = {0};
	struct case_state *p = *state;

	assert_int_equal(pending_files_find_failed(p->f->catalog, &files), 0);
	assert_int_equal(files.count, 3);
	free(files.list);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_file_with_a_permanent_error_is_not_pending),
		CASE(test_file_of_the_size_of_a_read_file_is_pending),
		CASE(test_error_of_a_file_that_is_alone_of_its_size_is_removed),
		CASE(test_failed_files_are_found_whatever_the_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
