/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>

#include "base/attributes.h"
#include "unit_test.h"
#include "view/follow/fanotify_group.h"

#define FILESYSTEM "filesyst"

struct message {
	char bytes[1024];
	size_t length;
};

static void append(struct message *message, const void *bytes, size_t length)
{
	assert_true(message->length + length <= sizeof(message->bytes));
	memcpy(message->bytes + message->length, bytes, length);
	message->length += length;
}

/* Appends a record. name may be NULL. The kernel pads records to 4 bytes. */
static void append_record(struct message *message, uint8_t type, const char *handle,
			  const char *name)
{
	const struct file_handle head = {.handle_bytes = (unsigned int)strlen(handle),
					 .handle_type = 1};
	size_t length = sizeof(struct fanotify_event_info_header) + strlen(FILESYSTEM) +
			sizeof(head) + strlen(handle) + (name ? strlen(name) + 1 : 0);
	size_t padding = -length % 4;
	const struct fanotify_event_info_header header = {
		.info_type = type,
		.len = (uint16_t)(length + padding),
	};

	append(message, &header, sizeof(header));
	append(message, FILESYSTEM, strlen(FILESYSTEM));
	append(message, &head, sizeof(head));
	append(message, handle, strlen(handle));
	if (name)
		append(message, name, strlen(name) + 1);
	append(message, "\0\0\0", padding);
}

/* Begins an event; end_event() sets its length. Returns its position. */
static size_t begin_event(struct message *message, uint64_t mask)
{
	const struct fanotify_event_metadata metadata = {
		.vers = FANOTIFY_METADATA_VERSION,
		.metadata_len = sizeof(metadata),
		.mask = mask,
		.fd = FAN_NOFD,
	};
	size_t at = message->length;

	append(message, &metadata, sizeof(metadata));
	return at;
}

static void end_event(struct message *message, size_t at)
{
	uint32_t length = (uint32_t)(message->length - at);

	memcpy(message->bytes + at + offsetof(struct fanotify_event_metadata, event_len), &length,
	       sizeof(length));
}

static struct message three_events(void)
{
	struct message message = {.length = 0};
	size_t at = begin_event(&message, FAN_RENAME);

	append_record(&message, FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, "from", "old");
	append_record(&message, FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, "longer", "new name");
	append_record(&message, FAN_EVENT_INFO_TYPE_FID, "file", NULL);
	end_event(&message, at);
	at = begin_event(&message, FAN_Q_OVERFLOW);
	end_event(&message, at);
	at = begin_event(&message, FAN_ATTRIB | FAN_ONDIR);
	append_record(&message, 99, "unknown kinds are skipped", NULL);
	append_record(&message, FAN_EVENT_INFO_TYPE_DFID_NAME, "dir", ".");
	end_event(&message, at);
	return message;
}

static void assert_place(const struct fanotify_place *place, const char *handle, const char *name)
{
	size_t head = strlen(FILESYSTEM) + sizeof(struct file_handle);

	assert_int_equal(place->dir.length, head + strlen(handle));
	assert_memory_equal(place->dir.bytes, FILESYSTEM, strlen(FILESYSTEM));
	assert_memory_equal(place->dir.bytes + head, handle, strlen(handle));
	assert_string_equal(place->name, name);
	assert_int_equal(place->length, strlen(name));
}

static void test_all_parts_of_events_are_decoded(void **state)
{
	struct message message = three_events();
	struct fanotify_event event;
	size_t at = 0;

	(void)state;
	assert_int_equal(fanotify_event_next(message.bytes, message.length, &at, &event), 1);
	assert_int_equal(event.mask, FAN_RENAME);
	assert_place(&event.place, "from", "old");
	assert_place(&event.moved_to, "longer", "new name");
	assert_non_null(event.self.bytes);
	assert_int_equal(fanotify_event_next(message.bytes, message.length, &at, &event), 1);
	assert_int_equal(event.mask, FAN_Q_OVERFLOW);
	assert_null(event.place.dir.bytes);
	assert_null(event.moved_to.dir.bytes);
	assert_null(event.self.bytes);
	assert_int_equal(fanotify_event_next(message.bytes, message.length, &at, &event), 1);
	assert_place(&event.place, "dir", ".");
	assert_int_equal(at, message.length);
	assert_int_equal(fanotify_event_next(message.bytes, message.length, &at, &event), 0);
}

/* Decodes all events of a copy of the bytes that ends where they end, so that a sanitizer notices a
 * read past the end. */
static int decode(const char *bytes, size_t length)
{
	AUTO_FREE char *copy = malloc(length + 1);
	struct fanotify_event event;
	size_t at = 0;
	int r;

	assert_non_null(copy);
	memcpy(copy + 1, bytes, length);
	while ((r = fanotify_event_next(copy + 1, length, &at, &event)) > 0)
		assert_true(at <= length);
	return r;
}

/* Decodes an event with one record, or none if type is 0. */
static int decode_one(uint64_t mask, uint8_t type, const char *name)
{
	struct message message = {.length = 0};
	size_t at = begin_event(&message, mask);

	if (type)
		append_record(&message, type, "handle", name);
	end_event(&message, at);
	return decode(message.bytes, message.length);
}

static void test_events_that_lack_what_changed_are_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_one(FAN_MODIFY, 0, NULL), -EBADMSG);
	assert_int_equal(decode_one(FAN_CREATE, FAN_EVENT_INFO_TYPE_FID, NULL), -EBADMSG);
	assert_int_equal(decode_one(FAN_DELETE, FAN_EVENT_INFO_TYPE_FID, NULL), -EBADMSG);
	assert_int_equal(decode_one(FAN_RENAME, FAN_EVENT_INFO_TYPE_OLD_DFID_NAME, "a"), -EBADMSG);
	assert_int_equal(decode_one(FAN_RENAME, FAN_EVENT_INFO_TYPE_NEW_DFID_NAME, "a"), -EBADMSG);
	assert_int_equal(decode_one(FAN_CREATE, FAN_EVENT_INFO_TYPE_DFID_NAME, "a"), 0);
	assert_int_equal(decode_one(FAN_MODIFY, FAN_EVENT_INFO_TYPE_FID, NULL), 0);
	assert_int_equal(decode_one(FAN_Q_OVERFLOW, 0, NULL), 0);
}

static void test_truncated_events_are_refused(void **state)
{
	struct message message = three_events();
	unsigned int complete = 0;

	(void)state;
	for (size_t length = 0; length <= message.length; length++) {
		int r = decode(message.bytes, length);

		assert_true(r == 0 || r == -EBADMSG);
		complete += r == 0;
	}
	assert_int_equal(complete, 4); /* 0 to 3 events */
}

static void test_no_bytes_are_read_past_the_end(void **state)
{
	struct message message = three_events(), broken;
	static const unsigned char values[] = {0, 1, 3, 20, 127, 128, 255};

	(void)state;
	for (size_t i = 0; i < message.length; i++) {
		for (size_t v = 0; v < ARRAY_SIZE(values); v++) {
			broken = message;
			broken.bytes[i] = (char)values[v];
			(void)decode(broken.bytes, broken.length);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_parts_of_events_are_decoded),
		cmocka_unit_test(test_events_that_lack_what_changed_are_refused),
		cmocka_unit_test(test_truncated_events_are_refused),
		cmocka_unit_test(test_no_bytes_are_read_past_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
