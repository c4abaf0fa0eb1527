/* SPDX-License-Identifier: MIT */
#include "index/audit.h"

#define FILES ((size_t)60)
#define GROUPS ((size_t)4)

/* Files that get their contents in one call. */
struct many {
	uint64_t files[FILES];
	uint64_t digests[FILES];
	struct content_change changes[2 * FILES];
	size_t count;
};

static void add_files(struct fixture *f, struct many *m)
{
	struct file_record file;
	char names[FILES][16];

	for (size_t i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		add_file(f, f->roots[0], names[i], file_of(10 + i, 100 + i % GROUPS, 0));
	}
	fixture_commit(f);
	for (size_t i = 0; i < FILES; i++) {
		m->files[i] = id_at(f, f->roots[0], names[i]);
		file = file_at(f, m->files[i]);
		m->digests[i] = file_digest(&file);
	}
}

static void set_entry(struct many *m, size_t which, uint64_t prefix, uint64_t group)
{
	m->changes[m->count++] = (struct content_change){.file = m->files[which],
							 .digest = m->digests[which],
							 .prefix = prefix,
							 .group = group};
}

static int set_body(struct catalog_writer *w, void *context)
{
	struct many *m = context;

	return catalog_set_contents(w, m->changes, m->count);
}

static void set_contents(struct fixture *f, struct many *m)
{
	assert_int_equal(catalog_write(f->catalog, set_body, m), 0);
	audit_index(f->catalog);
	m->count = 0;
}

/* Adds a group for each size with its first file. */
static void add_groups(struct fixture *f, const struct many *m, uint64_t groups[GROUPS])
{
	for (size_t i = 0; i < GROUPS; i++)
		groups[i] = add_group(f, (struct hash128){i, i}, &m->files[i], 1);
}

static void test_many_files_get_their_contents_in_any_order(void **state)
{
	struct fixture *f = *state;
	struct many m = {0};
	uint64_t groups[GROUPS];

	add_files(f, &m);
	add_groups(f, &m, groups);
	for (size_t i = 0; i < FILES; i++) {
		size_t which = i * 7 % FILES; /* 7 and FILES have no factor in common */

		set_entry(&m, which, 77, which % 5 ? groups[which % GROUPS] : 0);
	}
	set_contents(f, &m);
	for (size_t i = 0; i < FILES; i++) {
		assert_int_equal(content_of(f, m.files[i]).prefix, 77);
		assert_int_equal(content_of(f, m.files[i]).group, i % 5 ? groups[i % GROUPS] : 0);
	}
	for (size_t i = 0; i < GROUPS; i++)
		assert_int_equal(group_at(f, groups[i]).inodes, FILES / GROUPS * 4 / 5);
}

static void test_stale_contents_among_many_are_skipped(void **state)
{
	struct fixture *f = *state;
	struct many m = {0};
	uint64_t groups[GROUPS];

	add_files(f, &m);
	add_groups(f, &m, groups);
	m.digests[GROUPS]++; /* as if the file changed after it was read */
	set_entry(&m, GROUPS, 77, groups[0]);
	set_entry(&m, GROUPS + 1, 77, groups[3] + 1000); /* no such group */
	set_entry(&m, 2 * GROUPS, 77, groups[0]);
	set_contents(f, &m);
	assert_int_equal(content_of(f, m.files[GROUPS]).prefix, 0);
	assert_int_equal(content_of(f, m.files[GROUPS + 1]).prefix, 0);
	assert_int_equal(content_of(f, m.files[2 * GROUPS]).group, groups[0]);
	assert_int_equal(group_at(f, groups[0]).inodes, 2);
}

static void test_duplicate_file_is_counted_once(void **state)
{
	struct fixture *f = *state;
	struct many m = {0};
	uint64_t groups[GROUPS];

	add_files(f, &m);
	add_groups(f, &m, groups);
	set_entry(&m, GROUPS, 77, groups[0]);
	set_entry(&m, GROUPS, 77, groups[0]);
	set_contents(f, &m);
	assert_int_equal(group_at(f, groups[0]).inodes, 2);
}

static void test_files_that_change_groups_leave_the_old_ones(void **state)
{
	struct fixture *f = *state;
	struct many m = {0};
	uint64_t equal[3], from, to;

	add_files(f, &m);
	equal[0] = m.files[0];
	equal[1] = m.files[GROUPS];
	equal[2] = m.files[2 * GROUPS];
	from = add_group(f, (struct hash128){1, 1}, equal, 3);
	to = add_group(f, (struct hash128){2, 2}, equal, 1);
	set_entry(&m, GROUPS, 78, to);
	set_entry(&m, 2 * GROUPS, 78, to);
	set_contents(f, &m);
	assert_int_equal(group_at(f, from).id, 0);
	assert_int_equal(group_at(f, to).inodes, 3);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_many_files_get_their_contents_in_any_order),
		CASE(test_stale_contents_among_many_are_skipped),
		CASE(test_duplicate_file_is_counted_once),
		CASE(test_files_that_change_groups_leave_the_old_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
