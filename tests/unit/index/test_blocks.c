/* SPDX-License-Identifier: MIT */
#include "index/audit.h"
#include "index/hashes.h"
#include "index/integrity.h"

/* A file of four parts, of which the third one is a hole. */
struct stored {
	uint64_t file;
	bool without_state;
};

static const struct blocks_state state_of_file = {.digest = 123, .block_bits = 17};

static int store_body(struct catalog_writer *w, void *context)
{
	const struct stored *stored = context;
	struct blocks_part part = {.count = BLOCKS_PART};
	int r = catalog_forget_blocks(w, stored->file);

	for (uint64_t i = 0; r == 0 && i < 4; i++) {
		part.first = i * BLOCKS_PART;
		for (uint32_t j = 0; j < BLOCKS_PART; j++)
			part.hashes[j] = UINT64_MAX - i * 1000 - j;
		part.count = i == 3 ? 7 : BLOCKS_PART;
		if (i != 2)
			r = catalog_put_blocks_part(w, stored->file, &part);
	}
	if (r == 0 && !stored->without_state)
		r = catalog_put_blocks_state(w, stored->file, &state_of_file);
	return r;
}

static int store_alone_body(struct catalog_writer *w, void *context)
{
	const uint64_t *file = context;
	struct blocks_part part = {.count = 1, .hashes = {5}};

	return catalog_put_blocks_part(w, *file, &part);
}

static int forget_body(struct catalog_writer *w, void *context)
{
	const uint64_t *file = context;

	return catalog_forget_blocks(w, *file);
}

/* Returns the number of hashes of a file in the index. */
static uint32_t count_hashes(struct fixture *f, uint64_t file)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct blocks_part part;
	uint32_t count = 0;
	int r;

	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	assert_int_equal(catalog_scan_blocks(reader, file, &scan), 0);
	while ((r = catalog_next_blocks(scan, &part)) == 0) {
		for (uint32_t i = 0; i < part.count; i++)
			assert_true(part.hashes[i] ==
				    UINT64_MAX - part.first / BLOCKS_PART * 1000 - i);
		count += part.count;
	}
	assert_int_equal(r, -ENOENT);
	return count;
}

static int get_state(struct fixture *f, uint64_t file, struct blocks_state *found)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;

	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	return catalog_get_blocks_state(reader, file, found);
}

static void check_index(struct fixture *f)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;

	assert_int_equal(catalog_read_begin(f->catalog, &reader), 0);
	assert_int_equal(check_catalog(reader), 0);
}

static int purge_body(struct catalog_writer *w, void *context)
{
	bool left;

	(void)context;
	return catalog_purge_orphans(w, 100, &left);
}

static void test_hashes_of_a_file_are_found_until_it_is_forgotten(void **state)
{
	struct fixture *f = *state;
	uint64_t file = new_file(f, f->roots[0], "image", file_of(10, 100, 0));
	uint64_t other = new_file(f, f->roots[0], "other", file_of(11, 100, 0));
	struct stored stored = {.file = file}, second = {.file = other};
	struct blocks_state found;

	assert_int_equal(get_state(f, file, &found), -ENOENT);
	assert_int_equal(catalog_write(f->catalog, store_body, &stored), 0);
	assert_int_equal(catalog_write(f->catalog, store_body, &second), 0);
	assert_int_equal(get_state(f, file, &found), 0);
	assert_int_equal(found.digest, 123);
	assert_int_equal(found.block_bits, 17);
	assert_int_equal(count_hashes(f, file), 2 * BLOCKS_PART + 7);
	check_index(f);
	audit_index(f->catalog);
	assert_int_equal(catalog_write(f->catalog, forget_body, &file), 0);
	assert_int_equal(get_state(f, file, &found), -ENOENT);
	assert_int_equal(count_hashes(f, file), 0);
	assert_int_equal(count_hashes(f, other), 2 * BLOCKS_PART + 7);
}

static void test_hashes_of_a_purged_file_are_gone(void **state)
{
	struct fixture *f = *state;
	uint64_t file = new_file(f, f->roots[0], "image", file_of(10, 100, 0));
	struct stored stored = {.file = file};
	struct blocks_state found;

	assert_int_equal(catalog_write(f->catalog, store_body, &stored), 0);
	remove_and_commit(f, f->roots[0], "image");
	assert_int_equal(count_hashes(f, file), 2 * BLOCKS_PART + 7);
	assert_int_equal(catalog_write(f->catalog, purge_body, NULL), 0);
	assert_int_equal(get_state(f, file, &found), -ENOENT);
	assert_int_equal(count_hashes(f, file), 0);
	check_index(f);
}

static void test_file_that_was_not_read_to_its_end_has_no_state(void **state)
{
	struct fixture *f = *state;
	uint64_t file = new_file(f, f->roots[0], "image", file_of(10, 100, 0));
	struct stored stored = {.file = file, .without_state = true};
	struct blocks_state found;

	assert_int_equal(catalog_write(f->catalog, store_body, &stored), 0);
	assert_int_equal(get_state(f, file, &found), -ENOENT);
	check_index(f);
}

static void test_hashes_of_an_unknown_file_are_not_stored(void **state)
{
	struct fixture *f = *state;
	uint64_t file = 987654;

	assert_int_equal(catalog_write(f->catalog, store_alone_body, &file), 0);
	assert_int_equal(count_hashes(f, file), 0);
	check_index(f);
}

static void test_damaged_records_are_refused(void **state)
{
	struct blocks_state bad = {.digest = 1, .block_bits = BLOCKS_BITS_MAX + 1}, found;
	struct blocks_part part = {.count = BLOCKS_PART}, decoded;
	struct value value = encode_blocks_state(&bad);

	(void)state;
	assert_false(decode_blocks_state((struct span){value.data, value.length}, &found));
	value = encode_blocks_part(&part);
	assert_true(decode_blocks_part((struct span){value.data, value.length}, &decoded));
	assert_int_equal(decoded.count, BLOCKS_PART);
	assert_false(decode_blocks_part((struct span){value.data, value.length - 1}, &decoded));
	assert_false(decode_blocks_part((struct span){value.data, 0}, &decoded));
	value_put_fixed(&value, 1);
	assert_false(decode_blocks_part((struct span){value.data, value.length}, &decoded));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_hashes_of_a_file_are_found_until_it_is_forgotten),
		CASE(test_hashes_of_a_purged_file_are_gone),
		CASE(test_file_that_was_not_read_to_its_end_has_no_state),
		CASE(test_hashes_of_an_unknown_file_are_not_stored),
		cmocka_unit_test(test_damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
