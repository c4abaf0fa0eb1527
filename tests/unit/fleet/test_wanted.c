/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "fleet/wanted.h"
#include "folder.h"

#define HEADER(rows, bytes)                                                                    \
	"{\"format\":\"twinfs-wanted\",\"schema\":1,\"host\":\"alpha\",\"index\":"             \
	"\"00000000000000ff\",\"created\":\"2026-11-27T02:20:00Z\",\"sources\":"               \
	"[{\"path\":\"/s\"},{\"path\":\"/\\\\xff\",\"path_base64\":\"L/8=\"}],\"rows\":" #rows \
	",\"bytes\":" #bytes "}\n"
#define ROW(id, path)                                                    \
	"{\"id\":" #id ",\"source\":1,\"path\":\"" path "\",\"size\":7," \
	"\"mtime_ns\":-5,\"ctime_ns\":-4,\"dev\":null,\"ino\":9}\n"

/* Reads a list with this text. Returns the result; *message is what was logged. */
static int read_text(const struct folder *folder, const char *text, struct wanted *wanted,
		     const char **message)
{
	static struct capture capture;
	char path[80];
	int r;

	(void)unlinkat(folder->fd, "wanted", 0);
	make_file(folder->fd, "wanted", text, strlen(text));
	(void)snprintf(path, sizeof(path), "%s/wanted", folder->path);
	capture_begin(&capture, STDERR_FILENO);
	r = wanted_read(wanted, path);
	*message = capture_end(&capture);
	return r;
}

static void test_list_is_read_and_sorted_by_id(void **state)
{
	const char *text = HEADER(2, 14) ROW(9, "a/b") ROW(3, "c");
	const char *message;
	struct wanted wanted;

	assert_int_equal(read_text(*state, text, &wanted, &message), 0);
	assert_string_equal(message, "");
	assert_string_equal(wanted.host, "alpha");
	assert_int_equal(wanted.index, 0xff);
	assert_int_equal(wanted.sources.count, 2);
	assert_string_equal(wanted.sources.items[1], "/\xff");
	assert_int_equal(wanted.count, 2);
	assert_int_equal(wanted.rows[0].id, 3);
	assert_string_equal(wanted.rows[0].path, "c");
	assert_int_equal(wanted.rows[1].line, 2);
	assert_int_equal(wanted.rows[1].size, 7);
	assert_int_equal(wanted.rows[1].source, 1);
	wanted_free(&wanted);
	assert_string_equal(wanted.host, "alpha");
}

static void test_faults_are_named_with_their_line(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{HEADER(1, 7) ROW(0, "a"), "line 2: it has no valid id"},
		{HEADER(2, 14) ROW(1, "a") ROW(1, "b"), "line 3: an earlier line has the same id"},
		{HEADER(1, 7) ROW(1, "../a"), "line 2: the path is not one below a source"},
		{HEADER(2, 14) ROW(1, "a"), "line 2: there are fewer rows than line 1 says"},
		{HEADER(1, 7) ROW(1, "a") ROW(2, "b"),
		 "line 3: there are more rows than line 1 says"},
		{HEADER(1, 7) ROW(1, "a") "{", "line 3: it has no end"},
		{HEADER(1, 8) ROW(1, "a"), "line 1: the files have not as many bytes"},
		{HEADER(-1, 0), "line 1: it has no number of rows"},
		{"", "line 1: the file is empty"},
	};
	const char *message;
	struct wanted wanted;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(*state, cases[i].text, &wanted, &message), -EPROTO);
		assert_non_null(strstr(message, cases[i].message));
		wanted_free(&wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_list_is_read_and_sorted_by_id),
		TEST_IN_FOLDER(test_faults_are_named_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
