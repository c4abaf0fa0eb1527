/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "scan/ingest.h"

/* The largest number of orphans that is never too many. */
#define ORPHANS 65536

/* Adds many files to the index, and returns the name of their directory. */
static const char *add_many(struct fixture *f, uint64_t first, uint64_t count)
{
	static char name[24];
	char files[FIXTURE_CHANGES_MAX][24];
	uint64_t dir;

	(void)snprintf(name, sizeof(name), "%d", (int)first);
	dir = new_dir(f, f->roots[0], name);
	for (uint64_t i = 0; i < count; i++) {
		char *file = files[i % FIXTURE_CHANGES_MAX];

		(void)snprintf(file, sizeof(files[0]), "%d", (int)i);
		add_file(f, dir, file, file_of(first + i, 1, 0));
		if (i + 1 == count || f->count == FIXTURE_CHANGES_MAX)
			fixture_commit(f);
	}
	return name;
}

static bool has_many_orphans(const struct fixture *f)
{
	bool many;

	assert_int_equal(ingest_has_many_orphans(f->catalog, &many), 0);
	return many;
}

static void test_orphans_are_many_if_the_index_has_fewer_files(void **state)
{
	struct fixture *f = *state;

	remove_and_commit(f, f->roots[0], add_many(f, 1000, ORPHANS));
	assert_false(has_many_orphans(f));
	remove_and_commit(f, f->roots[0], add_many(f, 100000, 1));
	assert_true(has_many_orphans(f));
	(void)add_many(f, 200000, ORPHANS + 1);
	assert_false(has_many_orphans(f));
	assert_int_equal(ingest_purge(f->catalog), 0);
	assert_false(has_many_orphans(f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_orphans_are_many_if_the_index_has_fewer_files,
						fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
