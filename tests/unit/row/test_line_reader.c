/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sys/mman.h>

#ifdef ZSTD_KNOWN
#include <zstd.h>
#endif

#include "base/bytes.h"
#include "base/descriptor.h"
#include "row/line_reader.h"
#include "unit_test.h"

#define MAX ((size_t)256 << 10)

/* Returns a descriptor of a file with these bytes. */
static int file_of(const void *data, size_t length)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, data, length), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* Reads all lines, which must be those given. Returns the outcome after the last one. */
static int read_lines(int fd, unsigned int flags, const char *const *lines)
{
	struct line_reader reader;
	const char *text;
	size_t length;
	int r;

	assert_int_equal(line_reader_init(&reader, fd, MAX, flags), 0);
	while ((r = line_reader_next(&reader, &text, &length)) == 0) {
		const char *expected = *lines ? *lines++ : "a line too many";

		assert_int_equal(length, strlen(expected));
		assert_memory_equal(text, expected, length);
	}
	assert_null(*lines);
	line_reader_deinit(&reader);
	(void)close(fd);
	return r;
}

static void test_lines_of_a_file_are_read(void **state)
{
	const char *const lines[] = {"one", "", "three", NULL};

	(void)state;
	assert_int_equal(read_lines(file_of("one\n\nthree\n", 11), 0, lines), LINE_END);
	assert_int_equal(read_lines(file_of("one\n\nthree\nfo", 13), 0, lines), LINE_TORN);
	assert_int_equal(read_lines(file_of("", 0), 0, lines + 3), LINE_END);
	assert_int_equal(read_lines(file_of("one\n\nthree", 10), LINES_OPEN_END, lines), LINE_END);
	assert_int_equal(read_lines(file_of("one\n\nthree\n", 11), LINES_OPEN_END, lines),
			 LINE_END);
}

static void test_file_is_read_from_its_start(void **state)
{
	const char *const lines[] = {"one", "two", NULL};
	int fd = file_of("one\ntwo\n", 8);

	(void)state;
	assert_int_equal(lseek(fd, 0, SEEK_END), 8);
	assert_int_equal(read_lines(dup(fd), LINES_FROM_START, lines), LINE_END);
	assert_int_equal(read_lines(dup(fd), LINES_FROM_START, lines), LINE_END);
	assert_int_equal(read_lines(fd, 0, lines + 2), LINE_END);
}

/* Returns the outcome of reading a line of this length, with its end. */
static int read_long(size_t length)
{
	struct line_reader reader;
	char *line = malloc(length);
	const char *text;
	size_t got = 0;
	int fd, r;

	assert_non_null(line);
	memset(line, 'x', length);
	line[length - 1] = '\n';
	fd = file_of(line, length);
	assert_int_equal(line_reader_init(&reader, fd, MAX, 0), 0);
	r = line_reader_next(&reader, &text, &got);
	assert_true(r != 0 || got == length - 1);
	line_reader_deinit(&reader);
	(void)close(fd);
	free(line);
	return r;
}

static void test_line_that_is_too_long_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_long(MAX), 0);
	assert_int_equal(read_long(MAX + 1), LINE_TOO_LONG);
	assert_int_equal(read_long(20 * MAX), LINE_TOO_LONG);
}

#ifdef ZSTD_KNOWN

#define COUNT 100000

/* Appends a frame with the lines "0" to "99999". */
static void add_frame(struct bytes *file)
{
	struct bytes text = {0};
	size_t got;

	for (int i = 0; i < COUNT; i++)
		assert_int_equal(bytes_format(&text, "%d\n", i), 0);
	assert_int_equal(bytes_reserve(file, ZSTD_compressBound(text.length)), 0);
	got = ZSTD_compress(file->data + file->length, ZSTD_compressBound(text.length), text.data,
			    text.length, 3);
	assert_false(ZSTD_isError(got));
	file->length += got;
	bytes_free(&text);
}

/* Reads such lines. Returns the outcome after the last one, and sets *count. */
static int read_numbers(const void *data, size_t length, int *count)
{
	struct line_reader reader;
	char expected[16];
	const char *text;
	size_t got;
	int fd = file_of(data, length), r;

	assert_int_equal(line_reader_init(&reader, fd, MAX, LINES_COMPRESSED), 0);
	for (*count = 0; (r = line_reader_next(&reader, &text, &got)) == 0; ++*count) {
		(void)snprintf(expected, sizeof(expected), "%d", *count % COUNT);
		assert_int_equal(got, strlen(expected));
		assert_memory_equal(text, expected, got);
	}
	line_reader_deinit(&reader);
	(void)close(fd);
	return r;
}

static void test_compressed_lines_are_read(void **state)
{
	struct bytes file = {0};
	int count;

	(void)state;
	add_frame(&file);
	assert_int_equal(read_numbers(file.data, file.length, &count), LINE_END);
	assert_int_equal(count, COUNT);
	assert_int_equal(read_numbers(file.data, file.length - 1, &count), LINE_TORN);
	assert_int_equal(read_numbers(file.data, file.length / 2, &count), LINE_TORN);
	assert_int_equal(read_numbers(file.data, 0, &count), LINE_END);
	add_frame(&file);
	assert_int_equal(read_numbers(file.data, file.length, &count), LINE_END);
	assert_int_equal(count, 2 * COUNT);
	assert_int_equal(read_numbers("no frame\n", 9, &count), LINE_NOT_COMPRESSED);
	bytes_free(&file);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_a_file_are_read),
		cmocka_unit_test(test_file_is_read_from_its_start),
		cmocka_unit_test(test_line_that_is_too_long_is_refused),
#ifdef ZSTD_KNOWN
		cmocka_unit_test(test_compressed_lines_are_read),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
