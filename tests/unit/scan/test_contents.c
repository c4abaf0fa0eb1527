/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>

#include "index/audit.h"
#include "scan/tree.h"

/* A tree with a follower. */
struct case_state {
	struct tree *t;
	struct ingest_hooks hooks;
	_Atomic uint64_t reported; /* the file that was last reported to the follower */
	/* the follower reports that a file of this size returned during the comparison */
	uint64_t returned_size;
};

static void recheck_file(void *context, uint64_t file)
{
	struct case_state *p = context;

	atomic_store(&p->reported, file);
}

static bool has_new_rival(void *context, uint64_t size)
{
	const struct case_state *p = context;

	return size == p->returned_size;
}

static uint64_t id_of(const struct case_state *p, const char *path)
{
	return id_of_path(p->t, path);
}

static void name_all(struct case_state *p)
{
	struct ingest ingest = {.catalog = p->t->index.catalog,
				.sources = &p->t->sources,
				.settings = &p->t->settings};

	assert_int_equal(ingest_names(&ingest), 0);
}

/* Scans the names of two equal files each of 100, 200 and 300 bytes. */
static int case_setup(void **state)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	tree_setup((void **)&p->t);
	p->hooks = (struct ingest_hooks){.recheck_file = recheck_file,
					 .has_new_rival = has_new_rival,
					 .context = p};
	write_text(p->t, "scanned before", "");
	name_all(p); /* the first scan reads files during the walk, later scans do not */
	for (char name[] = "a"; *name <= 'f'; ++*name)
		write_content(p->t, name, 100 * (size_t)((*name - 'a') / 2 + 1), 0);
	name_all(p);
	*state = p;
	return 0;
}

static int case_teardown(void **state)
{
	struct case_state *p = *state;

	tree_teardown((void **)&p->t);
	free(p);
	return 0;
}

static void compare(struct case_state *p, const struct ingest_sizes *sizes)
{
	struct ingest ingest = {.catalog = p->t->index.catalog,
				.sources = &p->t->sources,
				.settings = &p->t->settings,
				.hooks = &p->hooks};

	assert_int_equal(ingest_compare(&ingest, sizes), 0);
	audit_index(p->t->index.catalog);
}

static const uint64_t size = 100;
static const struct ingest_sizes one_size = {.list = &size, .count = 1};

/* ---- cases --------------------------------------------------------------------------- */

static void test_only_files_of_the_sizes_given_are_compared(void **state)
{
	static const uint64_t some[] = {50, 100, 300}, other[] = {200};
	struct case_state *p = *state;

	compare(p, &(struct ingest_sizes){.list = some, .count = 3});
	assert_true(are_grouped(p->t, "a", "b"));
	assert_int_equal(group_of_path(p->t, "c"), 0);
	assert_true(are_grouped(p->t, "e", "f"));
	compare(p, &(struct ingest_sizes){.list = other, .count = 1});
	assert_true(are_grouped(p->t, "c", "d"));
}

static void test_without_sizes_nothing_is_compared(void **state)
{
	struct case_state *p = *state;

	compare(p, &(struct ingest_sizes){0});
	assert_int_equal(totals_of(&p->t->index).groups, 0);
}

static bool is_this_file(void *context, uint64_t file)
{
	return file == *(const uint64_t *)context;
}

static void test_waiting_file_is_not_compared(void **state)
{
	struct case_state *p = *state;
	uint64_t waiting = id_of(p, "b");

	compare(p, &(struct ingest_sizes){.list = &size,
					  .count = 1,
					  .waits = is_this_file,
					  .context = &waiting});
	assert_int_equal(content_of(&p->t->index, waiting).prefix, 0);
	assert_int_equal(totals_of(&p->t->index).groups, 0);
	compare(p, &one_size);
	assert_true(are_grouped(p->t, "a", "b"));
}

static void test_file_that_differs_from_the_index_is_reported(void **state)
{
	struct case_state *p = *state;

	write_content(p->t, "b", 70, 0);
	compare(p, &one_size);
	assert_int_equal(p->reported, id_of(p, "b"));
	assert_int_equal(file_at(&p->t->index, id_of(p, "b")).attributes.size, 100);
	assert_int_equal(totals_of(&p->t->index).groups, 0);
}

/* A file returned during the comparison, so the compared files were not compared with it. */
static void test_size_of_a_returned_file_is_compared_later(void **state)
{
	struct case_state *p = *state;

	p->returned_size = size;
	compare(p, &one_size);
	assert_int_equal(content_of(&p->t->index, id_of(p, "a")).prefix, 0);
	assert_int_equal(totals_of(&p->t->index).groups, 0);
	p->returned_size = 0;
	compare(p, &one_size);
	assert_true(are_grouped(p->t, "a", "b"));
	/* a file that equals a group joins the group in any case */
	p->returned_size = size;
	write_content(p->t, "g", size, 0);
	name_all(p);
	compare(p, &one_size);
	assert_true(are_grouped(p->t, "a", "g"));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, case_setup, case_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_files_of_the_sizes_given_are_compared),
		CASE(test_without_sizes_nothing_is_compared),
		CASE(test_waiting_file_is_not_compared),
		CASE(test_file_that_differs_from_the_index_is_reported),
		CASE(test_size_of_a_returned_file_is_compared_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
