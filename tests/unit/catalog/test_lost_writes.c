/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "catalog/audit.h"
#include "twinfs/format.h"

#define FILES 9000

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

static struct attributes changed_before(uint64_t inode, long seconds)
{
	struct attributes attributes = file_of(inode, 10, 1);

	attributes.ctime = clock_now();
	attributes.ctime.tv_sec -= seconds;
	return attributes;
}

static uint64_t add_one(struct fixture *f, const char *name, uint64_t inode, long seconds)
{
	return new_file(f, f->roots[0], name, changed_before(inode, seconds));
}

static void test_recent_files_are_read_again_after_a_reboot(void **state)
{
	struct fixture *f = *state;
	uint64_t files[3] = {add_one(f, "now", 10, 0), add_one(f, "a while ago", 11, 300),
			     add_one(f, "long ago", 12, 3600)};

	(void)add_group(f, (struct hash128){1, 2}, files, 3);
	fixture_reopen(f);
	for (size_t i = 0; i < 3; i++)
		assert_true(content_of(f, files[i]).prefix != 0);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "01234567-89ab-cdef-0123-456789abcdef");
	fixture_open(f);
	assert_true(content_of(f, files[0]).prefix == 0);
	assert_true(content_of(f, files[1]).prefix == 0);
	assert_true(content_of(f, files[2]).prefix != 0);
	audit_index(f->catalog);
	(void)set_content(f, files[0], 0);
	fixture_reopen(f);
	assert_true(content_of(f, files[0]).prefix != 0); /* the boot identifier was stored */
}

static void add_many(struct fixture *f, uint64_t files[FILES])
{
	static char names[FILES][16];

	for (size_t i = 0; i < FILES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%zu", i);
		add_file(f, f->roots[0], names[i], changed_before(10 + i, (long)(i % 500)));
		if (f->count == FIXTURE_CHANGES_MAX || i + 1 == FILES)
			fixture_commit(f);
	}
	for (size_t i = 0; i < FILES; i++)
		files[i] = id_at(f, f->roots[0], names[i]);
}

static void test_any_number_of_recent_files_is_read_again(void **state)
{
	static uint64_t files[FILES];
	struct fixture *f = *state;

	add_many(f, files);
	(void)add_group(f, (struct hash128){1, 2}, files, FILES);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "");
	fixture_open(f);
	for (size_t i = 0; i < FILES; i++)
		assert_true(content_of(f, files[i]).prefix == 0);
	assert_int_equal(totals_of(f).groups, 0);
	audit_index(f->catalog);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_recent_files_are_read_again_after_a_reboot),
		CASE(test_any_number_of_recent_files_is_read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
