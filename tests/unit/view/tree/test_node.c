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
	assert_true(node_inode(UINT64_MAX) < UINT64_C(1) << 53);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node_contains_kind_id_and_version),
		cmocka_unit_test(test_versions_of_a_file_have_one_inode_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
