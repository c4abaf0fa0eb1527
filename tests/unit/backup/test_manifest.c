/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backup/manifest.h"
#include "backup/names.h"
#include "base/path.h"
#include "unit_test.h"

#define ROUNDS 20000

static int decode_as(enum manifest_format format, const char *line, size_t length,
		     struct manifest_name *name)
{
	struct manifest_end end;
	const char *why = NULL;
	int r = manifest_line_decode(line, length, format, (struct manifest_line){name, &end},
				     &why);

	assert_true(r != -EPROTO || why != NULL);
	return r;
}

static int decode(const char *line, struct manifest_name *name)
{
	return decode_as(MANIFEST_REDUNDANT, line, strlen(line), name);
}

static void check_round_trip_as(enum manifest_format format, const struct manifest_name *name)
{
	struct manifest_name read CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};

	assert_int_equal(manifest_name_encode(&line, name), 0);
	assert_int_equal(line.data[line.length - 1], '\n');
	assert_null(memchr(line.data, '\n', line.length - 1));
	line.length--;
	assert_int_equal(decode_as(format, bytes_text(&line), line.length, &read), 0);
	assert_true(names_equal(name, &read));
}

static void check_round_trip(const struct manifest_name *name)
{
	check_round_trip_as(MANIFEST_REDUNDANT, name);
	check_round_trip_as(MANIFEST_ALL, name);
}

static void test_names_of_uniques_are_read_back_from_a_manifest_of_all_names(void **state)
{
	static const uint32_t types[] = {S_IFDIR, S_IFLNK, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK};
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};

	(void)state;
	make_name(&name, "a/b");
	name.content.length = 0;
	name.read.file = UINT64_MAX;
	name.read.digest = 7;
	check_round_trip_as(MANIFEST_ALL, &name);
	name.hashed = false;
	name.hash = (struct hash128){0};
	name.read.file = name.read.digest = 0;
	check_round_trip_as(MANIFEST_ALL, &name);
	name.size = 0;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		name.type = types[i];
		name.unread = S_ISDIR(types[i]);
		name.device = S_ISCHR(types[i]) || S_ISBLK(types[i]) ? makedev(8, 300) : 0;
		set_bytes(&name.target, "../\xff", S_ISLNK(types[i]) ? 4 : 0);
		check_round_trip_as(MANIFEST_ALL, &name);
	}
}

static void check_only_in_all(const char *members, bool valid)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};

	assert_int_equal(bytes_format(&line,
				      "{\"path\":\"a\",\"mode\":\"0644\",\"uid\":0,\"gid\":0,"
				      "\"mtime\":1,\"mtime_ns\":2,%s}",
				      members),
			 0);
	assert_int_equal(decode_as(MANIFEST_REDUNDANT, bytes_text(&line), line.length, &name),
			 -EPROTO);
	assert_int_equal(decode_as(MANIFEST_ALL, bytes_text(&line), line.length, &name),
			 valid ? 0 : -EPROTO);
}

static void test_invalid_member_of_a_manifest_of_all_names_is_refused(void **state)
{
	static const char hashed[] = "\"size\":3,\"hash\":\"06b05ab6733a618578af5f94892f3950\"";
	static const char *const reads[] = {"\"\"",      "\"1\"",   "\"0-1\"",
					    "\"1-2-3\"", "\"g-1\"", "7"};
	struct bytes members CLEANUP_BYTES = {0};

	(void)state;
	check_only_in_all(hashed, true);
	check_only_in_all("\"size\":3", true);
	check_only_in_all("\"size\":-3", false);
	check_only_in_all("\"size\":3,\"hash\":\"06\"", false);
	check_only_in_all("\"size\":3,\"content\":\"b\"", false);
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		members.length = 0;
		assert_int_equal(bytes_format(&members, "%s,\"read\":%s", hashed, reads[i]), 0);
		check_only_in_all(bytes_text(&members), false);
	}
	check_only_in_all("\"type\":\"directory\"", true);
	check_only_in_all("\"type\":\"regular\"", false);
	check_only_in_all("\"type\":7", false);
	check_only_in_all("\"type\":\"symlink\"", false);
	check_only_in_all("\"type\":\"symlink\",\"target\":\"\"", false);
	check_only_in_all("\"type\":\"symlink\",\"target\":\"/any/../where\"", true);
	check_only_in_all("\"type\":\"block device\"", false);
	check_only_in_all("\"type\":\"block device\",\"device\":\"8\"", false);
	check_only_in_all("\"type\":\"block device\",\"device\":\"8:1:1\"", false);
	check_only_in_all("\"type\":\"block device\",\"device\":\"8:1\"", true);
}

static void test_name_with_all_members_is_read_back(void **state)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};

	(void)state;
	make_name(&name, "a/b");
	check_round_trip(&name);
}

static void test_any_bytes_are_a_path(void **state)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};

	(void)state;
	manifest_name_clear(&name);
	name.hashed = true;
	set_text(&name.content, "\xff\n\"\\");
	for (int byte = 1; byte < 256; byte++) {
		const char path[] = {'x', (char)byte, 'y'};

		set_bytes(&name.path, path, sizeof(path));
		check_round_trip(&name);
	}
}

static void check_fault(const char *path, size_t length, bool faulty)
{
	assert_int_equal(path_fault(path, length) != NULL, faulty);
}

static void test_path_that_leads_elsewhere_is_refused(void **state)
{
	static const char *const wrong[] = {"",    "/",   "/a",   "a/",   "a//b",   ".",     "..",
					    "./a", "a/.", "../a", "a/..", "a/../b", "a/./b", "//"};
	static const char *const right[] = {"a", "a/b", "...", "..a", "a..", ".a/b.", "a/...", " "};
	char component[257];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		check_fault(wrong[i], strlen(wrong[i]), true);
	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		check_fault(right[i], strlen(right[i]), false);
	check_fault("a\0b", 3, true);
	check_fault("\0", 1, true);
	memset(component, 'c', sizeof(component));
	check_fault(component, 255, false);
	check_fault(component, 256, true);
}

static void check_order(const char *before, const char *after)
{
	struct bytes a CLEANUP_BYTES = {0}, b CLEANUP_BYTES = {0};

	set_text(&a, before);
	set_text(&b, after);
	assert_true(path_order(&a, &b) < 0);
	assert_true(path_order(&b, &a) > 0);
	assert_int_equal(path_order(&a, &a), 0);
}

static void test_directory_is_followed_by_its_names(void **state)
{
	(void)state;
	check_order("a", "b");
	check_order("a", "a/b");
	check_order("a/b", "a\x01");
	check_order("a/b", "a-");
	check_order("a/b/c", "a/b-");
	check_order("a/z", "b");
	check_order("a", "\xff");
	check_order("a/\xff", "a\x01");
}

/* A line that is valid except for the replacement of one member. */
static int decode_with(const char *member, const char *value)
{
	static const char *const members[][2] = {
		{"path", "\"a\""},
		{"content", "\"b\""},
		{"hash", "\"06b05ab6733a618578af5f94892f3950\""},
		{"size", "3"},
		{"mode", "\"0644\""},
		{"uid", "0"},
		{"gid", "0"},
		{"mtime", "1"},
		{"mtime_ns", "2"},
	};
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};
	const char *separator = "{";

	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		const char *used = strcmp(members[i][0], member) == 0 ? value : members[i][1];

		if (used == NULL)
			continue;
		assert_int_equal(bytes_format(&line, "%s\"%s\":%s", separator, members[i][0], used),
				 0);
		separator = ",";
	}
	if (strcmp(member, "inode") == 0 || strcmp(member, "xattrs") == 0)
		assert_int_equal(bytes_format(&line, ",\"%s\":%s", member, value), 0);
	assert_int_equal(bytes_append_text(&line, "}"), 0);
	return decode(bytes_text(&line), &name);
}

static void test_missing_or_invalid_member_is_refused(void **state)
{
	static const char *const wrong[][2] = {
		{"path", NULL},
		{"path", "1"},
		{"path", "\"../a\""},
		{"path", "\"a\\u0000b\""},
		{"path", "\"x\",\"path_base64\":\"AA==\""},
		{"path", "\"x\",\"path_base64\":\"Li4v\""},
		{"path", "\"x\",\"path\":\"y\""},
		{"content", NULL},
		{"content", "\"/etc/passwd\""},
		{"hash", NULL},
		{"hash", "\"06b05ab6733a618578af5f94892f395\""},
		{"hash", "\"06b05ab6733a618578af5f94892f395X\""},
		{"hash", "7"},
		{"size", NULL},
		{"size", "-1"},
		{"size", "1.5"},
		{"size", "99999999999999999999"},
		{"mode", NULL},
		{"mode", "420"},
		{"mode", "\"\""},
		{"mode", "\"-1\""},
		{"mode", "\"10000\""},
		{"mode", "\"0644x\""},
		{"mode", "\"8\""},
		{"uid", NULL},
		{"uid", "-1"},
		{"uid", "4294967295"},
		{"gid", "4294967296"},
		{"mtime", "\"1\""},
		{"mtime_ns", "1000000000"},
		{"mtime_ns", "-1"},
		{"inode", "7"},
		{"inode", "7,\"links\":1"},
		{"inode", "-7,\"links\":2"},
		{"xattrs", "{}"},
		{"xattrs", "[7]"},
		{"xattrs", "[{\"name\":\"user.a\"}]"},
		{"xattrs", "[{\"value_base64\":\"\"}]"},
		{"xattrs", "[{\"name\":\"user.a\",\"value_base64\":\"?\"}]"},
		{"xattrs", "[{\"name\":\"\",\"value_base64\":\"\"}]"},
		{"xattrs", "[{\"name\":\"x\",\"name_base64\":\"AA==\",\"value_base64\":\"\"}]"},
		{"xattrs", "[{\"name\":\"user.a\",\"value_base64\":\"\"},"
			   "{\"name\":\"user.a\",\"value_base64\":\"\"}]"},
	};

	(void)state;
	assert_int_equal(decode_with("", ""), 0);
	assert_int_equal(decode_with("inode", "7,\"links\":2"), 0);
	assert_int_equal(decode_with("mode", "\"7777\""), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(decode_with(wrong[i][0], wrong[i][1]), -EPROTO);
}

static void test_line_that_is_no_object_is_refused(void **state)
{
	static const char *const wrong[] = {"",     "{",    "[]",
					    "null", "7",    "\"a\"",
					    "{}",   "{}{}", "{\"path\":\"a\"} x",
					    "\xff"};
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(decode(wrong[i], &name), -EPROTO);
}

static void test_deep_nesting_is_refused(void **state)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};

	(void)state;
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(bytes_append(&line, "[", 1), 0);
	assert_int_equal(decode(bytes_text(&line), &name), -EPROTO);
}

/* ---- short memory -------------------------------------------------------------------- */

/* Length of each of two paths in a valid line. Steps in which the memory grows. */
#define LONG_PATH_BYTES ((size_t)3 << 20)
#define MEMORY_STEP ((rlim_t)1 << 20)
#define MEMORY_STEPS 40

static void append_long_path(struct bytes *line, const char *key)
{
	assert_int_equal(bytes_format(line, "\"%s\":\"a", key), 0);
	for (size_t i = 0; i < LONG_PATH_BYTES / 2; i++)
		assert_int_equal(bytes_append_text(line, "/a"), 0);
	assert_int_equal(bytes_append_text(line, "\","), 0);
}

/* Decodes with this much free address space. Ends the process: with the errno, or with EXIT_FAILURE
 * by json_read(). */
static void decode_in_child(const struct bytes *line, rlim_t room)
{
	struct manifest_name name = {0};
	struct manifest_end end;
	unsigned long pages = 0;
	struct rlimit limit;
	const char *why;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file || fscanf(file, "%lu", &pages) != 1 || getrlimit(RLIMIT_AS, &limit) < 0)
		_exit(125);
	(void)fclose(file);
	(void)close(STDERR_FILENO);
	limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + room;
	if (setrlimit(RLIMIT_AS, &limit) < 0)
		_exit(125);
	_exit(-manifest_line_decode((const char *)line->data, line->length, MANIFEST_REDUNDANT,
				    (struct manifest_line){&name, &end}, &why));
}

static int decode_with_memory(const struct bytes *line, rlim_t room)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		decode_in_child(line, room);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_short_memory_is_no_fault_of_the_line(void **state)
{
	struct bytes line CLEANUP_BYTES = {0};
	size_t short_of_memory = 0;
	int r = -1;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	(void)lacks(true, "address space beside that of a sanitizer");
	return;
#endif
	assert_int_equal(bytes_append_text(&line, "{"), 0);
	append_long_path(&line, "path");
	append_long_path(&line, "content");
	assert_int_equal(bytes_append_text(&line, "\"hash\":\"0123456789abcdef0123456789abcdef\","
						  "\"size\":1,\"mode\":\"0644\",\"uid\":0,"
						  "\"gid\":0,\"mtime\":0,\"mtime_ns\":0}"),
			 0);
	for (int i = 0; i < MEMORY_STEPS && r != 0; i++) {
		r = decode_with_memory(&line, i * MEMORY_STEP);
		assert_true(r == 0 || r == ENOMEM || r == EXIT_FAILURE);
		short_of_memory += r == ENOMEM;
	}
	assert_int_equal(r, 0);
	assert_true(short_of_memory > 0);
}

static void test_header_of_another_format_is_refused(void **state)
{
	static const char other[] = "{\"twinfs_manifest\":3}";
	struct manifest_name root CLEANUP_MANIFEST_NAME = {0};
	enum manifest_format format;
	const char *why = NULL;

	(void)state;
	for (int number = MANIFEST_REDUNDANT; number <= MANIFEST_ALL; number++) {
		struct bytes right CLEANUP_BYTES = {0};

		assert_int_equal(bytes_format(&right, "{\"twinfs_manifest\":%d}", number), 0);
		assert_int_equal(manifest_header_decode(bytes_text(&right), right.length, &format,
							&root, &why),
				 0);
		assert_int_equal(format, number);
		assert_int_equal(root.path.length, 0);
	}
	assert_int_equal(manifest_header_decode(other, strlen(other), &format, &root, &why),
			 -EPROTO);
	assert_non_null(strstr(why, "another version"));
	assert_int_equal(manifest_header_decode("{}", 2, &format, &root, &why), -EPROTO);
}

static void test_root_is_read_and_an_invalid_one_is_refused(void **state)
{
	static const char start[] = "{\"twinfs_manifest\":2,\"root\":";
	static const char *const invalid[] = {
		"7}",
		"{}}",
		"{\"mode\":\"0751\",\"uid\":1,\"gid\":2,\"mtime\":3,\"mtime_ns\":4,\"flags\":\"x\"}"
		"}",
		"{\"mode\":\"0751\",\"uid\":1,\"gid\":2,\"mtime\":3,\"mtime_ns\":4,\"flags\":7}}",
	};
	struct manifest_name root CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};
	enum manifest_format format;
	const char *why = NULL;

	(void)state;
	assert_int_equal(bytes_format(&line,
				      "%s{\"mode\":\"0751\",\"uid\":1,\"gid\":2,\"mtime\":3,"
				      "\"mtime_ns\":4,\"flags\":\"ai\"}}",
				      start),
			 0);
	assert_int_equal(manifest_header_decode(bytes_text(&line), line.length, &format, &root,
						&why),
			 0);
	assert_string_equal(bytes_text(&root.path), ".");
	assert_true(S_ISDIR(root.type) && root.mode == 0751 && root.uid == 1 && root.gid == 2);
	assert_int_equal(root.flags, INODE_APPEND | INODE_IMMUTABLE);
	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		line.length = 0;
		why = NULL;
		assert_int_equal(bytes_format(&line, "%s%s", start, invalid[i]), 0);
		assert_int_equal(manifest_header_decode(bytes_text(&line), line.length, &format,
							&root, &why),
				 -EPROTO);
		assert_non_null(why);
	}
}

static void test_end_is_read_back(void **state)
{
	const struct manifest_end written = {.lines = 12345, .hash = hash128("x", 1)};
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0};
	struct bytes line CLEANUP_BYTES = {0};
	struct manifest_end end = {0};
	const char *why = NULL;

	(void)state;
	assert_int_equal(manifest_end_encode(&line, &written), 0);
	assert_int_equal(manifest_line_decode((const char *)line.data, line.length - 1,
					      MANIFEST_ALL, (struct manifest_line){&name, &end},
					      &why),
			 MANIFEST_END);
	assert_int_equal(end.lines, written.lines);
	assert_true(hash128_equal(end.hash, written.hash));
}

/* Changes, removes or doubles some bytes. */
static void damage(struct bytes *line)
{
	size_t changes = (size_t)rand() % 4 + 1;

	for (size_t i = 0; i < changes && line->length > 0; i++) {
		size_t at = (size_t)rand() % line->length;
		size_t count = (size_t)rand() % (line->length - at) + 1;

		switch (rand() % 3) {
		case 0:
			line->data[at] = (uint8_t)rand();
			break;
		case 1:
			memmove(line->data + at, line->data + at + count,
				line->length - at - count);
			line->length -= count;
			break;
		default:
			assert_int_equal(bytes_reserve(line, count), 0);
			memmove(line->data + at + count, line->data + at, line->length - at);
			line->length += count;
			break;
		}
	}
}

static void test_damaged_line_is_refused_or_valid(void **state)
{
	struct manifest_name name CLEANUP_MANIFEST_NAME = {0}, read CLEANUP_MANIFEST_NAME = {0};
	int refused = 0;

	(void)state;
	srand(1);
	make_name(&name, "a\xff/b");
	for (int i = 0; i < ROUNDS; i++) {
		struct bytes line CLEANUP_BYTES = {0};
		int r;

		assert_int_equal(manifest_name_encode(&line, &name), 0);
		damage(&line);
		r = decode_as(MANIFEST_REDUNDANT, (const char *)line.data, line.length, &read);
		assert_true(r == 0 || r == -EPROTO);
		refused += r < 0;
		assert_true(r < 0 ||
			    path_fault((const char *)read.path.data, read.path.length) == NULL);
		assert_true(r < 0 || path_fault((const char *)read.content.data,
						read.content.length) == NULL);
		if (r == 0)
			check_round_trip(&read);
	}
	assert_true(refused > ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_with_all_members_is_read_back),
		cmocka_unit_test(test_any_bytes_are_a_path),
		cmocka_unit_test(test_names_of_uniques_are_read_back_from_a_manifest_of_all_names),
		cmocka_unit_test(test_invalid_member_of_a_manifest_of_all_names_is_refused),
		cmocka_unit_test(test_path_that_leads_elsewhere_is_refused),
		cmocka_unit_test(test_directory_is_followed_by_its_names),
		cmocka_unit_test(test_missing_or_invalid_member_is_refused),
		cmocka_unit_test(test_line_that_is_no_object_is_refused),
		cmocka_unit_test(test_deep_nesting_is_refused),
		cmocka_unit_test(test_short_memory_is_no_fault_of_the_line),
		cmocka_unit_test(test_header_of_another_format_is_refused),
		cmocka_unit_test(test_root_is_read_and_an_invalid_one_is_refused),
		cmocka_unit_test(test_end_is_read_back),
		cmocka_unit_test(test_damaged_line_is_refused_or_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
