/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "act/act_log.h"
#include "files.h"

static struct record example(const struct xattrs *xattrs)
{
	return (struct record){.act = "0123abcd",
			       .file = 12,
			       .command = RECORD_MOVE,
			       .state = RECORD_INTERRUPTED,
			       .time = {.tv_sec = 1700000000},
			       .source = "/a",
			       .path = "/a/\xff\n\"",
			       .kept_source = "/b",
			       .kept = "/b/c",
			       .to = "/d/\xff",
			       .size = UINT64_C(1) << 62,
			       .hash = {0x0123456789abcdef, UINT64_MAX},
			       .mode = 07654,
			       .uid = UINT32_MAX - 1,
			       .gid = 5,
			       .mtime = {-7, 999999999},
			       .xattrs = xattrs,
			       .inode = INT64_MAX,
			       .born_ns = -3,
			       .links = 2,
			       .filesystem = UINT64_MAX,
			       .folder_known = true,
			       .folder_mode = 02750,
			       .folder_uid = 1,
			       .folder_gid = 2,
			       .root = {.inode = 12, .born_ns = 13},
			       .mount = {.path = "/a", .root = {.inode = 14, .born_ns = 15}},
			       .kept_inode = 9,
			       .kept_born_ns = 16,
			       .kept_changed_ns = 18,
			       .made_inode = 10,
			       .made_born_ns = 11,
			       .made_filesystem = 17};
}

static void test_decoded_record_is_the_encoded_one(void **state)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	CLEANUP_XATTRS struct xattrs xattrs = {.count = 0};
	CLEANUP_BYTES struct bytes line = {0}, again = {0};
	struct record record = example(&xattrs);
	uint64_t file = 0;

	(void)state;
	assert_int_equal(xattrs_add(&xattrs, "user.a", "\0b", 2), 0);
	assert_int_equal(record_encode(&line, &record), 0);
	assert_null(memchr(line.data, '\n', line.length));
	assert_int_equal(record_decode((const char *)line.data, line.length, &decoded), 0);
	assert_int_equal(record_encode(&again, &decoded.record), 0);
	assert_int_equal(bytes_compare(&line, &again), 0);
	assert_string_equal(decoded.record.path, record.path);
	assert_string_equal(decoded.record.to, record.to);
	assert_null(decoded.record.target);
	assert_int_equal(decoded.record.state, RECORD_INTERRUPTED);
	assert_true(xattrs_equal(decoded.record.xattrs, &xattrs));
	assert_true(hash128_equal(decoded.record.hash, record.hash));
	assert_true(decoded.record.filesystem == record.filesystem);
	assert_true(decoded.record.made_filesystem == record.made_filesystem);
	assert_string_equal(decoded.record.mount.path, record.mount.path);
	assert_true(decoded.record.mount.root.inode == record.mount.root.inode);
	assert_true(decoded.record.mount.root.born_ns == record.mount.root.born_ns);
	assert_true(decoded.record.folder_known);
	assert_int_equal(decoded.record.folder_mode, 02750);
	assert_int_equal(decoded.record.folder_uid, 1);
	assert_int_equal(decoded.record.folder_gid, 2);
	assert_true(decoded.record.root.inode == record.root.inode);
	assert_true(decoded.record.kept_born_ns == record.kept_born_ns);
	assert_true(decoded.record.kept_changed_ns == record.kept_changed_ns);
	assert_true(record_is_of(bytes_text(&line), "0123abcd", &file));
	assert_int_equal(file, 12);
	assert_false(record_is_of(bytes_text(&line), "0123abce", &file));
}

static void test_decoded_type_is_the_encoded_one(void **state)
{
	static const uint32_t types[] = {S_IFREG,  S_IFDIR, S_IFLNK, S_IFIFO,
					 S_IFSOCK, S_IFBLK, S_IFCHR};
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	const struct xattrs none = {.count = 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		CLEANUP_BYTES struct bytes line = {0};
		struct record record = example(&none);

		record.type = types[i];
		record.device = 0x12345;
		assert_int_equal(record_encode(&line, &record), 0);
		assert_int_equal(record_decode((const char *)line.data, line.length, &decoded), 0);
		assert_int_equal(decoded.record.type, types[i]);
		assert_int_equal(decoded.record.device, 0x12345);
	}
}

static int decode_type(const char *type)
{
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};
	CLEANUP_BYTES struct bytes line = {0};

	assert_int_equal(bytes_format(&line,
				      "{\"act\":\"0123abcd\",\"file\":1,"
				      "\"time\":\"2026-11-26T14:30:05Z\",\"command\":\"remove\","
				      "\"path\":\"/a/b\",\"source\":\"/a\",\"mode\":\"0644\","
				      "\"hash\":\"00000000000000000000000000000000\","
				      "\"type\":\"%s\"}",
				      type),
			 0);
	return record_decode((const char *)line.data, line.length, &decoded);
}

/* A record of a later version must not be taken for that of a regular file. */
static void test_record_of_an_unknown_type_is_refused(void **state)
{
	(void)state;
	assert_int_equal(decode_type("symlink"), 0);
	assert_int_equal(decode_type("door"), -EPROTO);
}

static void test_line_that_is_no_record_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"{}",
		"[]",
		"{\"act\":\"0123abcd\",\"file\":1}",
		"{\"act\":\"0123abcd\",\"file\":1,\"time\":\"now\",\"command\":\"undo\","
		"\"path\":\"/a/b\",\"source\":\"/a\"}",
		"{\"act\":\"0123abcd\",\"file\":1,\"time\":\"2026-11-26T14:30:05Z\",\"command\":"
		"\"burn\",\"path\":\"/a/b\",\"source\":\"/a\"}",
		"{\"act\":\"0123abcd\",\"file\":1,\"time\":\"2026-11-26T14:30:05Z\",\"command\":"
		"\"remove\",\"path\":\"/a/b\",\"source\":\"/a\"}",
		"{\"act\":\"0123abcd\",\"file\":1,\"time\":\"2026-11-26T14:30:05Z\",\"command\":"
		"\"undo\",\"path\":\"/a/b\\u0000c\",\"source\":\"/a\"}",
	};
	CLEANUP_DECODED_RECORD struct decoded_record decoded = {.record = {.act = NULL}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_int_equal(record_decode(lines[i], strlen(lines[i]), &decoded), -EPROTO);
}

static void test_incomplete_last_line_is_cut_off(void **state)
{
	struct folder *folder = *state;
	struct act_log *log;

	put_file(folder, "acts.log",
		 "{\"act\":\"0123abcd\",\"file\":7,\"x\":1}\n{\"act\":\"0123abcd\"");
	assert_int_equal(act_log_open(&log, folder->fd), 0);
	assert_int_equal(act_log_contains(log, "0123abcd", 7), 1);
	assert_int_equal(act_log_contains(log, "0123abcd", 8), 0);
	assert_int_equal(act_log_contains(log, "00000000", 7), 0);
	assert_int_equal(act_log_append(log, "line"), 0);
	assert_int_equal(act_log_sync(log), 0);
	act_log_close(log);
	assert_true(holds(folder, "acts.log", "{\"act\":\"0123abcd\",\"file\":7,\"x\":1}\nline\n"));
	put_file(folder, "acts.log", "incomplete");
	assert_int_equal(act_log_open(&log, folder->fd), 0);
	act_log_close(log);
	assert_true(holds(folder, "acts.log", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_decoded_record_is_the_encoded_one),
		CASE(test_decoded_type_is_the_encoded_one),
		CASE(test_record_of_an_unknown_type_is_refused),
		CASE(test_line_that_is_no_record_is_refused),
		CASE(test_incomplete_last_line_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
