/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backup/manifest.h"
#include "backup/names.h"
#include "capture.h"
#include "unit_test.h"

static const char header[] = "{\"twinfs_manifest\":1,\"generation\":7}\n";

static void add_name(struct bytes *text, const char *path)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};

	make_name(&name, path);
	assert_int_equal(manifest_name_encode(text, &name), 0);
}

static void add_end(struct bytes *text, uint64_t lines)
{
	const struct manifest_end end = {
		.lines = lines,
		.hash = hash128(text->data, text->length),
	};

	assert_int_equal(manifest_end_encode(text, &end), 0);
}

/* A manifest of these names, which can be invalid. The list ends with NULL. */
static void make_manifest(struct bytes *text, const char *const *paths)
{
	uint64_t lines = 0;

	text->length = 0;
	assert_int_equal(bytes_append_text(text, header), 0);
	for (; paths[lines] != NULL; lines++)
		add_name(text, paths[lines]);
	add_end(text, lines);
}

/* The message of the last read. */
static const char *message;

static int read_all(const void *data, size_t length, uint64_t *names)
{
	static struct capture capture;
	int fd = memfd_create("manifest", MFD_CLOEXEC);
	struct manifest_reader reader;
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, length), (ssize_t)length);
	capture_begin(&capture, STDERR_FILENO);
	r = manifest_reader_init(&reader, fd, "M");
	while (r == 0)
		r = manifest_reader_next(&reader);
	message = capture_end(&capture);
	assert_int_equal(message[0] != '\0', r < 0);
	if (names != NULL)
		*names = reader.names;
	manifest_reader_deinit(&reader);
	(void)close(fd);
	return r;
}

static int read_paths(const char *const *paths)
{
	struct bytes text CLEANUP_BYTES = {0};

	make_manifest(&text, paths);
	return read_all(text.data, text.length, NULL);
}

static void test_whole_manifest_is_read_to_its_end(void **state)
{
	static const char *const paths[] = {"a", "a/b", "b", "b/\xff", "c", NULL};
	struct bytes text CLEANUP_BYTES = {0};
	uint64_t names;

	(void)state;
	make_manifest(&text, paths);
	assert_int_equal(read_all(text.data, text.length, &names), MANIFEST_END);
	assert_int_equal(names, 5);
}

static void test_empty_manifest_is_complete(void **state)
{
	static const char *const none[] = {NULL};

	(void)state;
	assert_int_equal(read_paths(none), MANIFEST_END);
}

static void test_duplicate_and_unordered_names_are_refused(void **state)
{
	static const char *const twice[] = {"a", "a", NULL};
	static const char *const apart[] = {"a", "b", "a", NULL};
	static const char *const wrong[] = {"a-", "a/b", NULL};

	(void)state;
	assert_int_equal(read_paths(twice), -EPROTO);
	assert_int_equal(read_paths(apart), -EPROTO);
	assert_int_equal(read_paths(wrong), -EPROTO);
}

static void test_refusal_names_the_line_and_the_path(void **state)
{
	static const char *const paths[] = {"a", "b", "b\n", "a/\x1b", NULL};

	(void)state;
	assert_int_equal(read_paths(paths), -EPROTO);
	assert_non_null(strstr(message, "line 5 of the manifest 'M'"));
	assert_non_null(strstr(message, "'a/\\x1b'"));
}

static void test_truncated_manifest_is_refused(void **state)
{
	static const char *const paths[] = {"a", "b", NULL};
	struct bytes text CLEANUP_BYTES = {0};

	(void)state;
	make_manifest(&text, paths);
	for (size_t length = 0; length < text.length; length++)
		assert_int_equal(read_all(text.data, length, NULL), -EPROTO);
}

static void test_any_changed_byte_is_detected(void **state)
{
	static const char *const paths[] = {"a", "b", NULL};
	struct bytes text CLEANUP_BYTES = {0};

	(void)state;
	make_manifest(&text, paths);
	for (size_t at = 0; at < text.length; at++) {
		for (int bit = 0; bit < 8; bit++) {
			text.data[at] ^= (uint8_t)(1 << bit);
			assert_int_equal(read_all(text.data, text.length, NULL), -EPROTO);
			text.data[at] ^= (uint8_t)(1 << bit);
		}
	}
}

static void test_removed_line_is_detected(void **state)
{
	static const char *const paths[] = {"a", "b", NULL};
	struct bytes text CLEANUP_BYTES = {0};
	uint8_t *first;
	uint8_t *second;

	(void)state;
	make_manifest(&text, paths);
	first = memchr(text.data, '\n', text.length);
	assert_non_null(first);
	second = memchr(first + 1, '\n', text.length - (size_t)(first + 1 - text.data));
	assert_non_null(second);
	memmove(first, second, text.length - (size_t)(second - text.data));
	text.length -= (size_t)(second - first);
	assert_int_equal(read_all(text.data, text.length, NULL), -EPROTO);
}

static void test_bytes_after_the_end_are_refused(void **state)
{
	static const char *const paths[] = {"a", NULL};
	struct bytes text CLEANUP_BYTES = {0};

	(void)state;
	make_manifest(&text, paths);
	assert_int_equal(bytes_append_text(&text, "\n"), 0);
	assert_int_equal(read_all(text.data, text.length, NULL), -EPROTO);
}

static void test_endless_line_takes_limited_memory(void **state)
{
	struct bytes text CLEANUP_BYTES = {0};

	(void)state;
	assert_int_equal(bytes_append_text(&text, header), 0);
	assert_int_equal(bytes_reserve(&text, MANIFEST_LINE_MAX * 3), 0);
	memset(text.data + text.length, ' ', MANIFEST_LINE_MAX * 3);
	text.length += MANIFEST_LINE_MAX * 3;
	assert_int_equal(read_all(text.data, text.length, NULL), -EPROTO);
	assert_non_null(strstr(message, "line 2 of the manifest 'M'"));
}

static void test_lines_longer_than_a_read_are_whole(void **state)
{
	struct bytes text CLEANUP_BYTES = {0}, path CLEANUP_BYTES = {0};
	uint64_t names;

	(void)state;
	assert_int_equal(bytes_append_text(&path, "a"), 0);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(bytes_append_text(&path, "/bb"), 0);
	assert_int_equal(bytes_append_text(&text, header), 0);
	add_name(&text, "a");
	add_name(&text, bytes_text(&path));
	add_name(&text, "b");
	add_end(&text, 3);
	assert_int_equal(read_all(text.data, text.length, &names), MANIFEST_END);
	assert_int_equal(names, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_manifest_is_read_to_its_end),
		cmocka_unit_test(test_empty_manifest_is_complete),
		cmocka_unit_test(test_duplicate_and_unordered_names_are_refused),
		cmocka_unit_test(test_refusal_names_the_line_and_the_path),
		cmocka_unit_test(test_truncated_manifest_is_refused),
		cmocka_unit_test(test_any_changed_byte_is_detected),
		cmocka_unit_test(test_removed_line_is_detected),
		cmocka_unit_test(test_bytes_after_the_end_are_refused),
		cmocka_unit_test(test_endless_line_takes_limited_memory),
		cmocka_unit_test(test_lines_longer_than_a_read_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
