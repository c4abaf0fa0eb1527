/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "index/audit.h"
#include "index/hashes.h"
#include "index/integrity.h"
#include "index/store/store.h"
#include "index/writer.h"

struct stored {
	uint64_t file;
	struct digest_record digest;
};

static int put_body(struct catalog_writer *w, void *context)
{
	const struct stored *stored = context;

	return catalog_put_digest(w, stored->file, &stored->digest);
}

/* Stores a digest of the file in its present state, which begins with this byte. */
static void put(struct fixture *f, uint64_t file, uint8_t first)
{
	struct file_record record = file_at(f, file);
	struct stored stored = {.file = file, .digest = {.state = file_digest(&record)}};

	stored.digest.bytes[0] = first;
	stored.digest.bytes[SHA256_BYTES - 1] = 7;
	assert_int_equal(catalog_write(f->catalog, put_body, &stored), 0);
	audit_index(f->catalog);
}

/* Returns the first byte of the current digest, or 0 if there is none. */
static uint8_t find(struct fixture *f, uint64_t file)
{
	struct file_record record = file_at(f, file);
	CLEANUP_READER struct catalog_reader *reader = fixture_read(f);
	uint8_t bytes[SHA256_BYTES] = {0};
	int r = catalog_find_digest(reader, &record, bytes);

	assert_int_equal(check_catalog(reader), 0);
	assert_true(r == 0 || r == -ENOENT);
	assert_int_equal(bytes[SHA256_BYTES - 1], r == 0 ? 7 : 0);
	return bytes[0];
}

static uint64_t count_digests(struct fixture *f)
{
	CLEANUP_READER struct catalog_reader *reader = fixture_read(f);
	MDB_stat stat;

	assert_int_equal(mdb_stat(reader->txn, reader->store->tables[TABLE_DIGEST], &stat), 0);
	return stat.ms_entries;
}

static uint64_t add_one(struct fixture *f, const char *name, uint64_t inode)
{
	return new_file(f, f->roots[0], name, file_of(inode, 100, 1));
}

static void test_digest_of_a_file_is_found_in_its_state_only(void **state)
{
	struct fixture *f = *state;
	uint64_t file = add_one(f, "a", 10), other = add_one(f, "b", 11);

	assert_int_equal(find(f, file), 0);
	put(f, file, 1);
	put(f, other, 2);
	assert_int_equal(find(f, file), 1);
	assert_int_equal(find(f, other), 2);
	update_file(f, file, file_of(10, 100, 2));
	fixture_commit(f);
	assert_int_equal(find(f, file), 0);
	assert_int_equal(find(f, other), 2);
	put(f, file, 3);
	assert_int_equal(find(f, file), 3);
	assert_int_equal(count_digests(f), 2);
}

static void test_digest_of_another_state_is_not_stored(void **state)
{
	struct fixture *f = *state;
	struct stored stored = {.file = add_one(f, "a", 10), .digest = {.state = 99}};

	assert_int_equal(catalog_write(f->catalog, put_body, &stored), 0);
	stored.file = 987654;
	assert_int_equal(catalog_write(f->catalog, put_body, &stored), 0);
	assert_int_equal(count_digests(f), 0);
}

static void test_digest_of_a_group_is_that_of_its_members(void **state)
{
	struct fixture *f = *state;
	uint64_t files[] = {add_one(f, "a", 10), add_one(f, "b", 11), add_one(f, "c", 12)};
	uint64_t group = add_group(f, (struct hash128){1, 2}, files, 2);

	put(f, files[0], 1);
	assert_int_equal(find(f, files[0]), 1);
	assert_int_equal(find(f, files[1]), 1);
	assert_int_equal(find(f, files[2]), 0);
	(void)set_content(f, files[2], group);
	assert_int_equal(find(f, files[2]), 1);
	/* the file that was read changes; its former group has the bytes that were read */
	update_file(f, files[0], file_of(10, 100, 2));
	fixture_commit(f);
	assert_int_equal(find(f, files[0]), 0);
	assert_int_equal(find(f, files[1]), 1);
	put(f, files[0], 2);
	assert_int_equal(find(f, files[0]), 2);
	assert_int_equal(find(f, files[1]), 1);
}

static void test_digests_are_deleted_with_file_and_group(void **state)
{
	struct fixture *f = *state;
	uint64_t files[] = {add_one(f, "a", 10), add_one(f, "b", 11)};

	(void)add_group(f, (struct hash128){1, 2}, files, 2);
	put(f, files[0], 1);
	put(f, files[1], 1);
	assert_int_equal(count_digests(f), 3);
	remove_and_commit(f, f->roots[0], "a");
	remove_and_commit(f, f->roots[0], "b");
	while (purge_orphans(f, 100))
		continue;
	assert_int_equal(count_digests(f), 0);
	assert_consistent(f);
}

/* The hash and ordinal of a group without members go to a new group, which can have other bytes. */
static void test_group_that_takes_the_name_of_another_has_no_digest(void **state)
{
	struct fixture *f = *state;
	uint64_t before[] = {add_one(f, "a", 10), add_one(f, "b", 11)};
	uint64_t after[2];

	(void)add_group(f, (struct hash128){1, 2}, before, 2);
	put(f, before[0], 1);
	remove_and_commit(f, f->roots[0], "a");
	remove_and_commit(f, f->roots[0], "b");
	after[0] = add_one(f, "c", 12);
	after[1] = add_one(f, "d", 13);
	(void)add_group(f, (struct hash128){1, 2}, after, 2);
	assert_int_equal(find(f, after[0]), 0);
	assert_int_equal(count_digests(f), 1); /* of the file that can get a name again */
}

/* The bytes of a file that was never compared can be lost in a power cut, too. */
static void test_digest_of_a_recent_file_is_not_current_after_a_reboot(void **state)
{
	struct fixture *f = *state;
	struct attributes recent = file_of(11, 100, 1);
	uint64_t old = add_one(f, "old", 10), new;

	recent.ctime = clock_now();
	new = new_file(f, f->roots[0], "new", recent);
	put(f, old, 1);
	put(f, new, 2);
	fixture_reopen(f);
	assert_int_equal(find(f, new), 2);
	catalog_close(f->catalog);
	fixture_write_text(f, TWINFS_INDEX_BOOT, "01234567-89ab-cdef-0123-456789abcdef");
	fixture_open(f);
	assert_int_equal(find(f, old), 1);
	assert_int_equal(find(f, new), 0);
}

static void test_damaged_digests_are_refused(void **state)
{
	struct digest_record digest = {.state = UINT64_MAX, .bytes = {1, 2, 3}}, decoded;
	struct value value = encode_digest(&digest);

	(void)state;
	assert_true(decode_digest((struct span){value.data, value.length}, &decoded));
	assert_memory_equal(&decoded, &digest, sizeof(digest));
	assert_false(decode_digest((struct span){value.data, value.length - 1}, &decoded));
	assert_false(decode_digest((struct span){value.data, 3}, &decoded));
	value_put_fixed(&value, 1);
	assert_false(decode_digest((struct span){value.data, value.length}, &decoded));
}

/* Stores a digest under an id that no file and no group has. */
static int stray_body(struct catalog_writer *w, void *context)
{
	const struct stored *stored = context;

	return store_put(&w->store, TABLE_DIGEST, key_number(stored->file),
			 encode_digest(&stored->digest));
}

static void expect_damage(struct fixture *f, struct stored stored)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;

	assert_int_equal(catalog_write(f->catalog, stray_body, &stored), 0);
	reader = fixture_read(f);
	assert_int_equal(check_catalog(reader), -EUCLEAN);
}

static void test_check_finds_a_digest_of_nothing(void **state)
{
	expect_damage(*state, (struct stored){.file = 987654});
}

static void test_check_finds_a_group_with_the_digest_of_a_file(void **state)
{
	struct fixture *f = *state;
	uint64_t files[] = {add_one(f, "a", 10), add_one(f, "b", 11)};
	uint64_t group = add_group(f, (struct hash128){1, 2}, files, 2);

	expect_damage(f, (struct stored){.file = group, .digest = {.state = 5}});
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_digest_of_a_file_is_found_in_its_state_only),
		CASE(test_digest_of_another_state_is_not_stored),
		CASE(test_digest_of_a_group_is_that_of_its_members),
		CASE(test_digests_are_deleted_with_file_and_group),
		CASE(test_group_that_takes_the_name_of_another_has_no_digest),
		CASE(test_digest_of_a_recent_file_is_not_current_after_a_reboot),
		cmocka_unit_test(test_damaged_digests_are_refused),
		CASE(test_check_finds_a_digest_of_nothing),
		CASE(test_check_finds_a_group_with_the_digest_of_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
