/* SPDX-License-Identifier: MIT */

#include "unit_test.h"
#include "view/tree/node.h"

static void test_node_contains_kind_id_and_version(void **state)
{
	const uint64_t id = (UINT64_C(1) << NODE_ID_BITS) - 1;
	uint64_t node = node_make_file(id, 0x5abc);

	(void)state;
	assert_int_equal(node_kind(node), NODE_FILE);
	assert_int_equal(node_id(node), id);
	assert_int_equal(node_version(node), 0xabc);
	node = node_make(NODE_GROUP, 7);
	assert_int_equal(node_kind(node), NODE_GROUP);
	assert_int_equal(node_id(node), 7);
	assert_int_equal(node_version(node), 0);
}

static void test_versions_of_a_file_have_one_inode_number(void **state)
{
	uint64_t inode = node_inode(node_make_file(7, 1));

	(void)state;
	assert_int_not_equal(node_make_file(7, 1), node_make_file(7, 2));
	assert_int_equal(inode, node_inode(node_make_file(7, 4095)));
	assert_int_equal(inode, node_make(NODE_FILE, 7));
}

static void test_programs_see_small_numbers_of_small_ids(void **state)
{
	const uint64_t files = (UINT64_C(1) << 31) - 1, others = (UINT64_C(1) << 27) - 1;

	(void)state;
	assert_int_equal(node_seen_inode(node_make_file(files, 0xfff)), UINT32_MAX);
	for (uint64_t kind = 0; kind <= NODE_FOLDER; kind++) {
		assert_true(node_seen_inode(node_make(kind, UINT64_MAX >> (64 - NODE_ID_BITS))) <
			    UINT64_C(1) << 53);
		assert_true(node_seen_inode(node_make(kind, others)) <= UINT32_MAX);
		assert_int_equal(node_from_seen_inode(node_seen_inode(node_make(kind, others))),
				 node_make(kind, others));
		for (uint64_t other = 0; other < kind; other++)
			assert_int_not_equal(node_seen_inode(node_make(kind, 7)),
					     node_seen_inode(node_make(other, 7)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node_contains_kind_id_and_version),
		cmocka_unit_test(test_versions_of_a_file_have_one_inode_number),
		cmocka_unit_test(test_programs_see_small_numbers_of_small_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
