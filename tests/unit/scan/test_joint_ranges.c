/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "scan/mapping.h"
#include "unit_test.h"

#define SPACES UINT64_C(2)
#define DISK_BYTES UINT64_C(64)
#define MEMBERS 6
#define RANGES_MAX 12
#define ROUNDS 20000

struct found {
	struct joint_member members[MEMBERS];
	struct joint_result result;
};

static struct found find(const struct shared_range *ranges, size_t count, uint32_t kept)
{
	struct found found;

	const struct joint_group group = {ranges, count, MEMBERS, kept};

	assert_int_equal(joint_ranges_find(&group, found.members, &found.result), 0);
	return found;
}

static void test_no_range_is_shared_with_nothing(void **state)
{
	struct found found = find(NULL, 0, 0);

	(void)state;
	assert_int_equal(found.result.without_kept, 0);
	assert_false(found.result.outside);
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_true(found.members[i].leader == i && !found.members[i].shares);
}

static void test_range_that_only_one_member_has_is_held_outside(void **state)
{
	const struct shared_range ranges[] = {{1, 0, 10, 2}};
	struct found found = find(ranges, 1, 0);

	(void)state;
	assert_true(found.result.outside);
	assert_int_equal(found.result.without_kept, 0);
	assert_false(found.members[2].shares);
}

static void test_range_of_the_kept_member_is_not_freed(void **state)
{
	const struct shared_range ranges[] = {{1, 0, 10, 0},
					      {1, 0, 10, 1},
					      {1, 10, 5, 1},
					      {1, 10, 5, 2}};
	struct found found = find(ranges, 4, 0);

	(void)state;
	assert_false(found.result.outside);
	assert_int_equal(found.result.without_kept, 5);
	assert_int_equal(found.members[2].leader, 0);
	assert_int_equal(found.members[0].joint, 15);
}

static void test_adjacent_ranges_and_other_spaces_do_not_overlap(void **state)
{
	const struct shared_range ranges[] = {{1, 0, 10, 1}, {1, 10, 10, 2}, {2, 0, 10, 3}};
	struct found found = find(ranges, 3, 0);

	(void)state;
	assert_true(found.result.outside);
	assert_int_equal(found.members[2].leader, 2);
	assert_int_equal(found.members[3].leader, 3);
}

static void test_range_that_one_member_has_twice_counts_once(void **state)
{
	const struct shared_range ranges[] = {{1, 0, 10, 3}, {1, 0, 10, 3}};
	struct found found = find(ranges, 2, 0);

	(void)state;
	assert_false(found.result.outside);
	assert_int_equal(found.result.without_kept, 10);
	assert_true(found.members[3].shares && found.members[3].leader == 3);
}

/* ---- against a count of each byte ---------------------------------------------------- */

/* Joins the members that share a byte, until nothing changes. */
static void lead(uint32_t leaders[MEMBERS], const bool holds[MEMBERS])
{
	uint32_t lowest = MEMBERS;

	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (holds[i] && leaders[i] < lowest)
			lowest = leaders[i];
	}
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (holds[i])
			leaders[i] = lowest;
	}
}

/* The ranges that have a byte, and their members. */
struct byte_holders {
	size_t ranges;
	bool holds[MEMBERS];
};

/* at: the number of the byte on all disks */
static struct byte_holders holders_of(const struct shared_range *ranges, size_t count, uint64_t at)
{
	struct byte_holders holders = {0};
	uint64_t byte = at % DISK_BYTES;

	for (size_t i = 0; i < count; i++) {
		if (ranges[i].space != at / DISK_BYTES || byte < ranges[i].start ||
		    byte >= ranges[i].start + ranges[i].length)
			continue;
		holders.holds[ranges[i].member] = true;
		holders.ranges++;
	}
	return holders;
}

static void check_leaders(const struct shared_range *ranges, size_t count,
			  const struct found *found)
{
	uint32_t leaders[MEMBERS];

	for (uint32_t i = 0; i < MEMBERS; i++)
		leaders[i] = i;
	for (int pass = 0; pass < MEMBERS; pass++) {
		for (uint64_t at = 0; at < SPACES * DISK_BYTES; at++) {
			struct byte_holders holders = holders_of(ranges, count, at);

			lead(leaders, holders.holds);
		}
	}
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint32_t sharers = 0;

		assert_int_equal(found->members[i].leader, leaders[i]);
		for (uint32_t j = 0; j < MEMBERS; j++)
			sharers += leaders[j] == i;
		assert_true(leaders[i] != i || found->members[i].sharers == sharers);
	}
}

static void check_bytes(const struct shared_range *ranges, size_t count, uint32_t kept,
			const struct found *found)
{
	uint64_t joint[MEMBERS] = {0}, without_kept = 0;
	bool outside = false;

	for (uint64_t at = 0; at < SPACES * DISK_BYTES; at++) {
		struct byte_holders holders = holders_of(ranges, count, at);

		outside |= holders.ranges == 1;
		for (uint32_t i = 0; holders.ranges > 1 && i < MEMBERS; i++) {
			if (!holders.holds[i])
				continue;
			joint[found->members[i].leader]++;
			without_kept += !holders.holds[kept];
			break;
		}
	}
	assert_int_equal(found->result.outside, outside);
	assert_int_equal(found->result.without_kept, without_kept);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		if (found->members[i].leader == i)
			assert_int_equal(found->members[i].joint, joint[i]);
	}
}

static void test_random_ranges_are_counted_as_their_bytes(void **state)
{
	struct shared_range ranges[RANGES_MAX];

	(void)state;
	srandom(1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t count = (size_t)random() % (RANGES_MAX + 1);
		uint32_t kept = (uint32_t)random() % MEMBERS;
		struct found found;

		for (size_t i = 0; i < count; i++) {
			uint64_t start = (uint64_t)random() % (DISK_BYTES - 1);

			ranges[i] =
				(struct shared_range){(uint64_t)random() % SPACES, start,
						      1 + (uint64_t)random() % (DISK_BYTES - start),
						      (uint32_t)random() % MEMBERS};
		}
		found = find(ranges, count, kept);
		check_leaders(ranges, count, &found);
		check_bytes(ranges, count, kept, &found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_range_is_shared_with_nothing),
		cmocka_unit_test(test_range_that_only_one_member_has_is_held_outside),
		cmocka_unit_test(test_range_of_the_kept_member_is_not_freed),
		cmocka_unit_test(test_adjacent_ranges_and_other_spaces_do_not_overlap),
		cmocka_unit_test(test_range_that_one_member_has_twice_counts_once),
		cmocka_unit_test(test_random_ranges_are_counted_as_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
