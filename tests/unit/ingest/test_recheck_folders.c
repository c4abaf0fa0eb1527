/* SPDX-License-Identifier: MIT */

/* Which directories are equal while names are rechecked. */

#include "ingest/recorded_hooks.h"

/* Scans the source, and compares its files. Then the folder groups are known. */
static void know(struct case_state *p)
{
	follow(p);
	compare(p);
	assert_true(totals_of(&p->t->index).folders_known);
}

static uint64_t group_of(const struct case_state *p, const char *path)
{
	struct catalog_reader *reader = fixture_read(&p->t->index);
	uint64_t group;

	assert_int_equal(catalog_find_folder_group(reader, id_of(p, path), &group), 0);
	catalog_read_end(reader);
	return group;
}

static bool are_equal(const struct case_state *p, const char *a, const char *b)
{
	uint64_t group = group_of(p, a);

	return group && group == group_of(p, b);
}

/* ---- new directories ----------------------------------------------------------------- */

/* Replaces the directory "new" after it was found, so it is not listed. */
static uint64_t identify_and_replace(void *context, uint32_t source, int fd, uint64_t new_dir)
{
	const struct case_state *p = context;
	uint64_t id = identify(context, source, fd, new_dir);

	move(p, "new", "aside");
	make_dir(p->t, "new");
	write_text(p->t, "new/file", "1");
	return id;
}

static void test_directory_that_is_not_listed_yet_equals_nothing(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "empty");
	make_dir(p->t, "other");
	know(p);
	assert_true(are_equal(p, "empty", "other"));
	make_dir(p->t, "new");
	p->hooks.identify = identify_and_replace;
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_int_equal(count_calls(p, CALL_RETRY), 1);
	assert_int_equal(group_of(p, "new"), 0);
}

static void test_new_directory_equals_another_when_it_is_listed(void **state)
{
	struct case_state *p = *state;

	make_dir(p->t, "empty");
	know(p);
	make_dir(p->t, "new");
	recheck_name(p, root_of(p), "new", EVENT_CREATED);
	assert_true(are_equal(p, "empty", "new"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_directory_that_is_not_listed_yet_equals_nothing),
		CASE(test_new_directory_equals_another_when_it_is_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
