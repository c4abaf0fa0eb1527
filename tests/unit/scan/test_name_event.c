/* SPDX-License-Identifier: MIT */

#include "base/attributes.h"
#include "scan/ingest.h"
#include "unit_test.h"

/* Each single event with its effects. */
static const struct {
	uint32_t event;
	uint32_t effects;
} expected[] = {
	{EVENT_NAME, 0},
	{EVENT_WRITTEN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_CLOSED, 0},
	{EVENT_ATTRIBUTES, EFFECT_NEW_BYTES | EFFECT_CHANGES_FILE | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_IN, EFFECT_HIDES | EFFECT_NEW_BYTES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_MOVED_HERE, EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_CREATED, EFFECT_HIDES | EFFECT_ARRIVES | EFFECT_MAY_BE_LINK},
	{EVENT_REMOVED, EFFECT_CHANGES_FILE},
	{EVENT_REPLACED, EFFECT_MAY_BE_LINK | EFFECT_UNTRUSTS},
	{EVENT_NEW_DIR, EFFECT_UNTRUSTS},
	{EVENT_MOVED_AWAY, 0},
	{EVENT_LISTING, 0},
	{EVENT_TREE, 0},
};

static void test_each_event_has_its_effects(void **state)
{
	uint32_t all = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(expected[i].event & all, 0);
		all |= expected[i].event;
		assert_int_equal(name_event_effects(expected[i].event), expected[i].effects);
	}
	assert_int_equal(all, (EVENT_TREE << 1) - 1); /* no event is left out */
	assert_int_equal(name_event_effects(0), 0);
}

static void test_effects_of_several_events_add_up(void **state)
{
	(void)state;
	assert_int_equal(name_event_effects(EVENT_MOVED_HERE | EVENT_REMOVED),
			 EFFECT_ARRIVES | EFFECT_MAY_BE_LINK | EFFECT_CHANGES_FILE);
}

static void test_write_beside_a_name_change_untrusts_renames(void **state)
{
	(void)state;
	assert_true(name_event_effects(EVENT_NAME | EVENT_WRITTEN) & EFFECT_UNTRUSTS);
	assert_true(name_event_effects(EVENT_NAME | EVENT_ATTRIBUTES) & EFFECT_UNTRUSTS);
	assert_false(name_event_effects(EVENT_NAME | EVENT_CREATED | EVENT_REMOVED) &
		     EFFECT_UNTRUSTS);
	assert_false(name_event_effects(EVENT_WRITTEN | EVENT_ATTRIBUTES) & EFFECT_UNTRUSTS);
}

static void test_bytes_are_kept_by_a_trusted_rename_only(void **state)
{
	(void)state;
	assert_true(name_events_keep_bytes(EVENT_NAME | EVENT_MOVED_HERE, RENAME_TRUSTED));
	assert_true(name_events_keep_bytes(EVENT_NAME | EVENT_CREATED, RENAME_TRUSTED));
	assert_false(name_events_keep_bytes(EVENT_NAME | EVENT_MOVED_HERE, RENAME_UNTRUSTED));
	assert_false(name_events_keep_bytes(EVENT_NAME | EVENT_MOVED_HERE, RENAME_NEEDS_WALK));
	assert_false(name_events_keep_bytes(EVENT_NAME | EVENT_MOVED_IN, RENAME_TRUSTED));
	assert_false(name_events_keep_bytes(EVENT_WRITTEN | EVENT_CLOSED, RENAME_TRUSTED));
	assert_false(name_events_keep_bytes(EVENT_ATTRIBUTES, RENAME_TRUSTED));
}

static void test_created_name_is_no_rename(void **state)
{
	(void)state;
	assert_true(name_events_are_rename(EVENT_NAME | EVENT_MOVED_HERE));
	assert_false(name_events_are_rename(EVENT_NAME | EVENT_MOVED_HERE | EVENT_CREATED));
	assert_false(name_events_are_rename(EVENT_NAME | EVENT_MOVED_IN));
}

static void test_arrived_name_that_is_missing_can_have_been_a_link(void **state)
{
	(void)state;
	assert_true(name_events_may_hide_link(EVENT_CREATED, RENAME_TRUSTED, false, false));
	assert_true(name_events_may_hide_link(EVENT_CREATED, RENAME_TRUSTED, true, false));
	assert_false(name_events_may_hide_link(EVENT_CREATED, RENAME_TRUSTED, false, true));
	assert_false(name_events_may_hide_link(EVENT_MOVED_HERE, RENAME_TRUSTED, false, false));
	assert_true(name_events_may_hide_link(EVENT_MOVED_HERE, RENAME_UNTRUSTED, false, false));
	assert_true(name_events_may_hide_link(EVENT_MOVED_IN, RENAME_NEEDS_WALK, false, false));
}

static void test_touched_name_that_the_index_never_had_can_have_been_a_link(void **state)
{
	static const uint32_t touching[] = {EVENT_WRITTEN, EVENT_ATTRIBUTES, EVENT_REMOVED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(touching); i++) {
		assert_true(name_events_may_hide_link(touching[i], RENAME_TRUSTED, false, false));
		assert_false(name_events_may_hide_link(touching[i], RENAME_TRUSTED, true, false));
		assert_false(name_events_may_hide_link(touching[i], RENAME_TRUSTED, false, true));
	}
	assert_false(name_events_may_hide_link(EVENT_NAME, RENAME_UNTRUSTED, false, false));
}

static void test_replaced_name_may_always_have_been_a_link(void **state)
{
	(void)state;
	assert_true(name_events_may_hide_link(EVENT_REPLACED, RENAME_TRUSTED, true, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_event_has_its_effects),
		cmocka_unit_test(test_effects_of_several_events_add_up),
		cmocka_unit_test(test_write_beside_a_name_change_untrusts_renames),
		cmocka_unit_test(test_bytes_are_kept_by_a_trusted_rename_only),
		cmocka_unit_test(test_created_name_is_no_rename),
		cmocka_unit_test(test_arrived_name_that_is_missing_can_have_been_a_link),
		cmocka_unit_test(test_touched_name_that_the_index_never_had_can_have_been_a_link),
		cmocka_unit_test(test_replaced_name_may_always_have_been_a_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
