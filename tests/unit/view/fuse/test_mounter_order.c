/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "unit_test.h"
#include "view/fuse/mounter.h"

#define TEXTS offsetof(struct mounter_order, event.texts)

static const struct watcher_event created = {
	.kind = WATCHER_EVENT_CREATED,
	.directory = true,
	.folder = UINT64_MAX,
	.path = "a/folder",
	.name = "name",
};

static void test_event_order_is_decoded_to_its_event(void **state)
{
	struct mounter_order order;
	long length = mounter_order_for_event(&order, &created);
	struct watcher_event decoded;

	(void)state;
	assert_true(mounter_order_is_valid(&order, (size_t)length));
	decoded = mounter_order_event(&order);
	assert_int_equal(decoded.kind, created.kind);
	assert_true(decoded.directory);
	assert_int_equal(decoded.folder, created.folder);
	assert_string_equal(decoded.path, created.path);
	assert_string_equal(decoded.name, created.name);
}

static void test_order_of_a_move_has_both_names(void **state)
{
	struct watcher_event moved = {
		.kind = WATCHER_EVENT_MOVED,
		.folder = 1,
		.path = "from",
		.name = "old",
		.to_folder = UINT64_MAX,
		.to_path = "",
		.to_name = "new",
	};
	struct mounter_order order;
	size_t length = (size_t)mounter_order_for_event(&order, &moved);

	(void)state;
	for (size_t other = 1; other <= length + 1; other++)
		assert_int_equal(mounter_order_is_valid(&order, other), other == length);
	moved = mounter_order_event(&order);
	assert_int_equal(moved.kind, WATCHER_EVENT_MOVED);
	assert_true(moved.folder == 1 && moved.to_folder == UINT64_MAX);
	assert_string_equal(moved.path, "from");
	assert_string_equal(moved.name, "old");
	assert_string_equal(moved.to_path, "");
	assert_string_equal(moved.to_name, "new");
}

static void test_event_order_of_another_length_is_invalid(void **state)
{
	struct mounter_order order;
	size_t length;

	(void)state;
	memset(&order, 0, sizeof(order));
	length = (size_t)mounter_order_for_event(&order, &created);
	for (size_t other = 0; other <= sizeof(order) + 2; other++)
		assert_int_equal(mounter_order_is_valid(&order, other), other == length);
}

static void test_texts_without_a_nul_are_invalid(void **state)
{
	struct mounter_order order = {.kind = ORDER_RAISE_EVENT};

	(void)state;
	memset(order.event.texts, 'x', sizeof(order.event.texts));
	for (size_t length = TEXTS; length <= sizeof(order); length++)
		assert_false(mounter_order_is_valid(&order, length));
	/* a path whose NUL is the last byte, and no name */
	order.event.texts[sizeof(order.event.texts) - 1] = '\0';
	assert_false(mounter_order_is_valid(&order, TEXTS + sizeof(order.event.texts)));
}

static void test_texts_that_end_after_the_order_are_invalid(void **state)
{
	struct {
		struct mounter_order order;
		char beyond[sizeof(uint64_t)];
	} message = {.order.kind = ORDER_RAISE_EVENT};

	(void)state;
	memset((char *)&message + TEXTS, 'x', sizeof(message.order) - TEXTS);
	message.order.event.texts[0] = '\0';
	assert_false(mounter_order_is_valid(&message.order, sizeof(message.order) + 1));
}

static void test_event_order_of_an_unknown_kind_is_invalid(void **state)
{
	struct mounter_order order;
	size_t length = (size_t)mounter_order_for_event(&order, &created);

	(void)state;
	order.event.kind = WATCHER_EVENT_ENDED + 1;
	assert_false(mounter_order_is_valid(&order, length));
	order.event.kind = WATCHER_EVENT_ENDED;
	assert_true(mounter_order_is_valid(&order, length));
	order.event.directory = 2;
	assert_false(mounter_order_is_valid(&order, length));
}

static void test_longest_event_fits_and_a_longer_one_is_refused(void **state)
{
	struct mounter_order order;
	char path[sizeof(order.event.texts)];
	struct watcher_event event = {.path = path, .name = "x"};
	long length;

	(void)state;
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - sizeof("x")] = '\0';
	assert_int_equal(mounter_order_for_event(&order, &event), -ENAMETOOLONG);
	path[sizeof(path) - sizeof("x") - 1] = '\0';
	length = mounter_order_for_event(&order, &event);
	assert_int_equal(length, TEXTS + sizeof(order.event.texts));
	assert_true(mounter_order_is_valid(&order, (size_t)length));
	assert_string_equal(mounter_order_event(&order).name, "x");
}

static void test_watcher_order_with_a_wrong_length_or_count_is_invalid(void **state)
{
	struct mounter_order order = {.kind = ORDER_FIND_WATCHED,
				      .watchers.count = MOUNTER_THREADS_MAX};

	(void)state;
	for (size_t length = 0; length <= sizeof(order) + 2; length++)
		assert_int_equal(mounter_order_is_valid(&order, length),
				 length == MOUNTER_ORDER_FIND_LENGTH);
	order.watchers.count++;
	assert_false(mounter_order_is_valid(&order, MOUNTER_ORDER_FIND_LENGTH));
}

static void test_order_without_arguments_has_one_byte_and_a_known_kind(void **state)
{
	const char kinds[] = {ORDER_MOUNT, ORDER_CLOSE_ROUTE, ORDER_UNMOUNT};
	struct mounter_order order = {.kind = 'x'};

	(void)state;
	for (size_t length = 0; length <= sizeof(order); length++)
		assert_false(mounter_order_is_valid(&order, length));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		order.kind = kinds[i];
		for (size_t length = 0; length <= sizeof(order) + 2; length++)
			assert_int_equal(mounter_order_is_valid(&order, length), length == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_order_is_decoded_to_its_event),
		cmocka_unit_test(test_event_order_of_another_length_is_invalid),
		cmocka_unit_test(test_order_of_a_move_has_both_names),
		cmocka_unit_test(test_texts_without_a_nul_are_invalid),
		cmocka_unit_test(test_texts_that_end_after_the_order_are_invalid),
		cmocka_unit_test(test_event_order_of_an_unknown_kind_is_invalid),
		cmocka_unit_test(test_longest_event_fits_and_a_longer_one_is_refused),
		cmocka_unit_test(test_watcher_order_with_a_wrong_length_or_count_is_invalid),
		cmocka_unit_test(test_order_without_arguments_has_one_byte_and_a_known_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
