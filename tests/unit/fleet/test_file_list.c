/* SPDX-License-Identifier: MIT */
#include "capture.h"
#include "fleet/file_list.h"
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
static int read_text(const struct folder *folder, const char *text, struct file_list *wanted,
		     const char **message)
{
	static struct capture capture;
	char path[80];
	int r;

	(void)unlinkat(folder->fd, "wanted", 0);
	make_file(folder->fd, "wanted", text, strlen(text));
	(void)snprintf(path, sizeof(path), "%s/wanted", folder->path);
	capture_begin(&capture, STDERR_FILENO);
	r = file_list_read(wanted, FILE_LIST_WANTED, path);
	*message = capture_end(&capture);
	return r;
}

static void test_list_is_read_and_sorted_by_id(void **state)
{
	const char *text = HEADER(2, 14) ROW(9, "a/b") ROW(3, "c");
	const char *message;
	struct file_list wanted;

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
	file_list_free(&wanted);
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
	struct file_list wanted;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_text(*state, cases[i].text, &wanted, &message), -EPROTO);
		assert_non_null(strstr(message, cases[i].message));
		file_list_free(&wanted);
	}
}

#define PLAN "0123456789abcdef0123456789abcdef"
#define DIGEST "abababababababababababababababababababababababababababababababab"
#define OTHER "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
#define PLANNED(format, replicas, more, rows)                                                     \
	"{\"format\":\"" format "\",\"schema\":1,\"host\":\"alpha\",\"plan\":\"" PLAN             \
	"\",\"index\":\"00000000000000ff\",\"created\":\"2026-11-27T02:20:00Z\","                 \
	"\"keep_replicas\":" #replicas ",\"sources\":[{\"path\":\"/s\"}]" more ",\"rows\":" #rows \
	",\"bytes\":" #rows "}\n"
#define CONTENT(id, path, digest, more)                                                 \
	"{\"id\":" #id ",\"source\":0,\"path\":\"" path "\",\"size\":1,\"mtime_ns\":5," \
	"\"ctime_ns\":4,\"dev\":null,\"ino\":9,\"sha256\":\"" digest "\"" more "}\n"
#define KEEPER(host) "{\"host\":\"" host "\",\"list\":\"" OTHER "\"}"
#define KEEPERS(hosts) ",\"keepers\":[" hosts "]"
#define NUMBERS(numbers) ",\"keepers\":[" numbers "]"

/* Reads a list of a kind with this text, as read_text(). */
static int read_kind(const struct folder *folder, enum file_list_kind kind, const char *text,
		     struct file_list *list, const char **message)
{
	static struct capture capture;
	char path[80];
	int r;

	(void)unlinkat(folder->fd, "list", 0);
	make_file(folder->fd, "list", text, strlen(text));
	(void)snprintf(path, sizeof(path), "%s/list", folder->path);
	capture_begin(&capture, STDERR_FILENO);
	r = file_list_read(list, kind, path);
	*message = capture_end(&capture);
	return r;
}

static void test_keep_list_stays_in_its_order(void **state)
{
	const char *text = PLANNED("twinfs-keep", 3, "", 2) CONTENT(9, "a/b", OTHER, "")
		CONTENT(3, "c", DIGEST, "");
	const char *message;
	struct file_list list;
	char digits[SHA256_DIGITS + 1];

	assert_int_equal(read_kind(*state, FILE_LIST_KEEP, text, &list, &message), 0);
	assert_string_equal(message, "");
	assert_string_equal(list.plan, PLAN);
	assert_int_equal(list.keep_replicas, 3);
	assert_int_equal(list.count, 2);
	assert_int_equal(list.rows[0].id, 9);
	sha256_format(list.rows[1].sha256, digits);
	assert_string_equal(digits, DIGEST);
	file_list_free(&list);
}

static void test_remove_list_has_the_keepers_of_each_name(void **state)
{
	const char *text =
		PLANNED("twinfs-remove", 1, KEEPERS(KEEPER("beta") "," KEEPER("gamma")), 2)
			CONTENT(9, "b", DIGEST, NUMBERS("0,1"))
				CONTENT(9, "a", DIGEST, NUMBERS("1"));
	const char *message;
	struct file_list list;

	assert_int_equal(read_kind(*state, FILE_LIST_REMOVE, text, &list, &message), 0);
	assert_string_equal(message, "");
	assert_int_equal(list.keeper_count, 2);
	assert_string_equal(list.keepers[1].host, "gamma");
	assert_string_equal(list.rows[0].path, "a");
	assert_int_equal(list.rows[0].keeper_count, 1);
	assert_int_equal(list.rows[0].keepers[0], 1);
	assert_int_equal(list.rows[1].keeper_count, 2);
	file_list_free(&list);
}

#define KEEP_HEAD(rows) PLANNED("twinfs-keep", 1, "", rows)
#define REMOVE_HEAD(replicas, rows) \
	PLANNED("twinfs-remove", replicas, KEEPERS(KEEPER("beta") "," KEEPER("gamma")), rows)

static void test_faults_of_plans_are_named_with_their_line(void **state)
{
	static const struct {
		enum file_list_kind kind;
		const char *text, *message;
	} cases[] = {
		{FILE_LIST_KEEP,
		 KEEP_HEAD(2) CONTENT(1, "a", DIGEST, "") CONTENT(2, "b", DIGEST, ""),
		 "line 3: an earlier line has the same content"},
		{FILE_LIST_KEEP,
		 KEEP_HEAD(2) CONTENT(1, "a", DIGEST, "") CONTENT(1, "b", OTHER, ""),
		 "line 3: an earlier line has the same id"},
		{FILE_LIST_KEEP, KEEP_HEAD(1) CONTENT(1, "a", "ab", ""),
		 "line 2: it has no valid sha256"},
		{FILE_LIST_KEEP, PLANNED("twinfs-keep", 0, "", 0),
		 "line 1: it has no valid number keep_replicas"},
		{FILE_LIST_KEEP, REMOVE_HEAD(1, 0), "which 'twinfs remove --plan' reads"},
		{FILE_LIST_REMOVE, KEEP_HEAD(0), "which 'twinfs attest' reads"},
		{FILE_LIST_REMOVE, PLANNED("twinfs-remove", 1, "", 0),
		 "line 1: it has no valid keepers"},
		{FILE_LIST_REMOVE, PLANNED("twinfs-remove", 1, KEEPERS(KEEPER("alpha")), 0),
		 "line 1: the host of the list is one of its keepers"},
		{FILE_LIST_REMOVE,
		 PLANNED("twinfs-remove", 1, KEEPERS(KEEPER("beta") "," KEEPER("beta")), 0),
		 "line 1: it has two keepers of one name"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(2, 1) CONTENT(1, "a", DIGEST, NUMBERS("0")),
		 "line 2: it has not as many keepers as keep_replicas says"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(1, 1) CONTENT(1, "a", DIGEST, ""),
		 "line 2: it has not as many keepers as keep_replicas says"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(1, 1) CONTENT(1, "a", DIGEST, NUMBERS("2")),
		 "line 2: it has a keeper that line 1 lacks"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(1, 1) CONTENT(1, "a", DIGEST, NUMBERS("-1")),
		 "line 2: it has a keeper that line 1 lacks"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(1, 1) CONTENT(1, "a", DIGEST, NUMBERS("1,0")),
		 "line 2: the numbers of its keepers do not ascend"},
		{FILE_LIST_REMOVE, REMOVE_HEAD(1, 1) CONTENT(1, "a", DIGEST, NUMBERS("0,0")),
		 "line 2: the numbers of its keepers do not ascend"},
		{FILE_LIST_REMOVE,
		 REMOVE_HEAD(1, 2) CONTENT(1, "a", DIGEST, NUMBERS("0"))
			 CONTENT(1, "a", DIGEST, NUMBERS("0")),
		 "line 3: an earlier line has the same name"},
		{FILE_LIST_REMOVE,
		 REMOVE_HEAD(1, 2) CONTENT(1, "a", DIGEST, NUMBERS("0"))
			 CONTENT(1, "b", OTHER, NUMBERS("0")),
		 "line 3: an earlier line has the same id, but another content"},
	};
	const char *message;
	struct file_list list;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(read_kind(*state, cases[i].kind, cases[i].text, &list, &message),
				 -EPROTO);
		assert_non_null(strstr(message, cases[i].message));
		file_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_list_is_read_and_sorted_by_id),
		TEST_IN_FOLDER(test_faults_are_named_with_their_line),
		TEST_IN_FOLDER(test_keep_list_stays_in_its_order),
		TEST_IN_FOLDER(test_remove_list_has_the_keepers_of_each_name),
		TEST_IN_FOLDER(test_faults_of_plans_are_named_with_their_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
