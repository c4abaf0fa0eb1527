/* SPDX-License-Identifier: MIT */
#include "index/fixture.h"
#include "index/scan_settings.h"

struct pair {
	struct source_identity a, b;
	bool same;
};

static void test_only_parts_known_of_both_identities_are_compared(void **state)
{
	static const struct pair pairs[] = {
		{{1, 2, 3}, {1, 2, 3}, true},  {{1, 2, 3}, {9, 2, 3}, false},
		{{1, 2, 3}, {1, 9, 3}, false}, {{1, 2, 3}, {1, 2, 9}, false},
		{{1, 0, 3}, {1, 2, 3}, true}, /* as if a later kernel reports a UUID */
		{{1, 0, 3}, {1, 2, 9}, false}, {{1, 2, 0}, {1, 2, 3}, true},
		{{1, 2, 0}, {1, 0, 3}, true},  {{1, 0, 0}, {1, 0, 0}, true}, /* NFS, FUSE, FAT */
		{{1, 0, 0}, {2, 0, 0}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		assert_int_equal(source_identity_matches(&pairs[i].a, &pairs[i].b), pairs[i].same);
		assert_int_equal(source_identity_matches(&pairs[i].b, &pairs[i].a), pairs[i].same);
	}
}

static int put_body(struct catalog_writer *w, void *context)
{
	return source_identity_put(w, 1, context);
}

static void test_identity_is_stored_and_the_index_consistent(void **state)
{
	const struct fixture *f = *state;
	struct source_identity identity = {UINT32_MAX, UINT64_MAX, 7}, found;
	struct catalog_reader *reader;
	uint64_t records = 0;

	assert_int_equal(catalog_write(f->catalog, put_body, &identity), 0);
	reader = fixture_read(f);
	assert_int_equal(source_identity_get(reader, 1, &found, &records), 0);
	assert_true(found.type == identity.type && found.uuid == identity.uuid &&
		    found.fsid == identity.fsid);
	assert_int_equal(records, 1);
	assert_int_equal(source_identity_get(reader, 0, &found, &records), 0);
	assert_int_equal(found.type, 0);
	assert_int_equal(records, 1);
	catalog_read_end(reader);
	assert_int_equal(catalog_check(f->folder), CATALOG_OPENED);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_only_parts_known_of_both_identities_are_compared),
		CASE(test_identity_is_stored_and_the_index_consistent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
