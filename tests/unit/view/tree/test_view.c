/* SPDX-License-Identifier: MIT */
#include <sys/xattr.h>

#include <jansson.h>

#include "fixture.h"
#include "index/change.h"
#include "index/source.h"

static struct fixture_listing listed;

/* Adds a group of "a" and "b" to the root. */
static void add_pair(struct fixture *fixture, struct attributes pair[static 2])
{
	fixture_add_pair(fixture, pair);
	(void)fixture_add_group(fixture, group_hash, pair, 2);
}

static void test_root_has_its_folders(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture, one_source);
	fixture_list(&fixture, VIEW_ROOT, 1, &listed);
	assert_int_equal(listed.count, 8);
	assert_int_equal(fixture_count(&listed, "report.html"), 1);
	assert_int_equal(fixture_count(&listed, "README.txt"), 1);
	assert_int_equal(fixture_count(&listed, "dups"), 1);
	assert_int_equal(fixture_count(&listed, "by-size"), 1);
	assert_int_equal(fixture_count(&listed, "folders"), 1);
	assert_int_equal(fixture_count(&listed, "uniques"), 1);
	assert_int_equal(fixture_count(&listed, "redundant"), 1);
	assert_int_equal(fixture_count(&listed, ".twinfs"), 1);
	for (size_t i = 0; i < listed.count; i++)
		assert_int_equal(fixture_find(&fixture, listed.names[i].name),
				 listed.names[i].node);
	assert_int_equal(fixture_find(&fixture, "status.json"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "dups/status.json"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, ".twinfs/status.json/x"), -ENOENT);
	fixture_close(&fixture);
}

static void test_uniques_omits_redundant_copies_only(void **state)
{
	struct attributes pair[2], single;
	struct fixture fixture;
	int64_t kept;

	(void)state;
	fixture_open(&fixture, one_source);
	add_pair(&fixture, pair);
	single = fixture_file(&fixture, S_IFREG | 0600, 5);
	fixture_add_file(&fixture, root_of(&fixture), "single", &single);
	kept = fixture_find(&fixture, "uniques/a");
	assert_int_equal(kept, node_make(NODE_FILE, fixture_file_id(&fixture, &pair[0])));
	assert_int_equal(fixture_find(&fixture, "dups/" HASH_NAME "/a"), kept);
	assert_int_equal(fixture_find(&fixture, "uniques/b"), -ENOENT);
	assert_true(fixture_find(&fixture, "uniques/single") > 0);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, "uniques"), 1, &listed);
	assert_int_equal(listed.count, 2);
	assert_int_equal(fixture_count(&listed, "a"), 1);
	assert_int_equal(fixture_count(&listed, "single"), 1);
	fixture_close(&fixture);
}

/* Adds the kept copy "a" to the first source, and its redundant copy "d/e/b" and a single file
 * "x/c" to the last source. */
static void add_deep_pair(struct fixture *fixture, struct attributes pair[static 2])
{
	uint64_t last = fixture->sources.list[fixture->sources.count - 1].root;
	uint64_t d = fixture_add_dir(fixture, last, "d", 0);
	uint64_t e = fixture_add_dir(fixture, d, "e", 0);
	uint64_t x = fixture_add_dir(fixture, last, "x", 0);
	struct attributes lone = fixture_file(fixture, S_IFREG | 0644, 6);

	pair[0] = fixture_file(fixture, S_IFREG | 0644, 5);
	pair[1] = fixture_file(fixture, S_IFREG | 0644, 5);
	fixture_add_file(fixture, root_of(fixture), "a", &pair[0]);
	fixture_add_file(fixture, e, "b", &pair[1]);
	fixture_add_file(fixture, x, "c", &lone);
	(void)fixture_add_group(fixture, group_hash, pair, 2);
}

static void test_redundant_has_redundant_copies_and_their_parents(void **state)
{
	struct attributes pair[2];
	struct fixture fixture;
	struct stat unique, redundant;
	int64_t copy, folder;

	(void)state;
	fixture_open(&fixture, one_source);
	add_deep_pair(&fixture, pair);
	copy = fixture_find(&fixture, "redundant/d/e/b");
	assert_int_equal(copy, node_make(NODE_FILE, fixture_file_id(&fixture, &pair[1])));
	assert_int_equal(fixture_find(&fixture, "uniques/d/e/b"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "redundant/a"), -ENOENT);
	assert_int_equal(fixture_find(&fixture, "redundant/x"), -ENOENT);
	folder = fixture_find(&fixture, "redundant/d");
	assert_int_equal(node_kind((uint64_t)folder), NODE_REDUNDANT);
	assert_int_equal(view_getattr(&fixture.call, (uint64_t)folder, &redundant), 0);
	folder = fixture_find(&fixture, "uniques/d");
	assert_int_equal(view_getattr(&fixture.call, (uint64_t)folder, &unique), 0);
	assert_int_equal(redundant.st_mode, unique.st_mode);
	assert_int_equal(redundant.st_mtim.tv_nsec, unique.st_mtim.tv_nsec);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, "redundant"), 1, &listed);
	assert_int_equal(listed.count, 1);
	assert_int_equal(fixture_count(&listed, "d"), 1);
	fixture_close(&fixture);
}

static void test_folder_without_redundant_copies_is_missing_in_redundant(void **state)
{
	struct attributes pair[2];
	struct fixture fixture;
	struct stat attributes;
	uint64_t folder;

	(void)state;
	fixture_open(&fixture, one_source);
	add_deep_pair(&fixture, pair);
	folder = (uint64_t)fixture_find(&fixture, "redundant/d");
	fixture_remove(&fixture, root_of(&fixture), "a");
	assert_int_equal(fixture_find(&fixture, "redundant/d"), -ENOENT);
	assert_true(fixture_find(&fixture, "uniques/d/e/b") > 0);
	assert_int_equal(view_getattr(&fixture.call, folder, &attributes), -ESTALE);
	assert_int_equal(view_list(&fixture.call, folder, 0, fixture_emit, &listed), -ENOENT);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, "redundant"), 1, &listed);
	assert_int_equal(listed.count, 0);
	fixture_close(&fixture);
}

static void test_redundant_has_only_trees_with_redundant_copies(void **state)
{
	struct attributes pair[2];
	struct fixture fixture;

	(void)state;
	fixture_open(&fixture, two_sources);
	add_deep_pair(&fixture, pair);
	assert_int_equal(fixture_find(&fixture, "redundant"), FIXED_REDUNDANT);
	assert_int_equal(fixture_find(&fixture, "redundant/one"), -ENOENT);
	assert_true(fixture_find(&fixture, "redundant/two/d/e/b") > 0);
	fixture_list(&fixture, FIXED_REDUNDANT, 1, &listed);
	assert_int_equal(listed.count, 1);
	assert_int_equal(fixture_count(&listed, "two"), 1);
	fixture_close(&fixture);
}

static void test_attributes_are_those_of_the_record(void **state)
{
	struct attributes file;
	struct fixture fixture;
	struct stat attributes;
	uint64_t dir;

	(void)state;
	fixture_open(&fixture, one_source);
	file = fixture_file(&fixture, S_IFBLK | S_ISVTX | 0640, 0);
	file.rdev = 0x803;
	file.links = 3;
	file.mtime = (struct timespec){-5, 999999999};
	fixture_add_file(&fixture, root_of(&fixture), "disk", &file);
	assert_int_equal(view_lookup(&fixture.call, node_make(NODE_DIR, root_of(&fixture)), "disk",
				     &attributes),
			 0);
	assert_int_equal(attributes.st_mode, S_IFBLK | S_ISVTX | 0640);
	assert_int_equal(attributes.st_rdev, 0x803);
	assert_int_equal(attributes.st_nlink, 3);
	assert_int_equal(attributes.st_uid, 12);
	assert_int_equal(attributes.st_gid, 34);
	assert_int_equal(attributes.st_mtim.tv_sec, -5);
	assert_int_equal(attributes.st_mtim.tv_nsec, 999999999);
	assert_int_equal(attributes.st_ctim.tv_sec, 2000);
	dir = node_make(NODE_DIR, fixture_add_dir(&fixture, root_of(&fixture), "dir", 0));
	assert_int_equal(view_getattr(&fixture.call, dir, &attributes), 0);
	assert_int_equal(attributes.st_mode, S_IFDIR | 0750);
	assert_int_equal(attributes.st_nlink, 1); /* not the number of links in the source */
	fixture_close(&fixture);
}

static void test_unreadable_source_entry_fails_with_the_error_of_the_source(void **state)
{
	struct name_change unknown = {.kind = NAME_ADD_UNKNOWN, .error = EIO};
	struct fixture fixture;
	uint64_t closed;

	(void)state;
	fixture_open(&fixture, one_source);
	closed = fixture_add_dir(&fixture, root_of(&fixture), "closed", EACCES);
	unknown.dir = root_of(&fixture);
	unknown.name = fixture_name("unknown");
	fixture_apply(&fixture, &unknown, 1);
	assert_int_equal(view_list(&fixture.call, node_make(NODE_DIR, closed), 0, fixture_emit,
				   &listed),
			 -EACCES);
	assert_int_equal(fixture_find(&fixture, "uniques/closed/x"), -EACCES);
	assert_int_equal(fixture_find(&fixture, "uniques/unknown"), -EIO);
	fixture_list(&fixture, (uint64_t)fixture_find(&fixture, "uniques"), 1, &listed);
	assert_int_equal(listed.count, 2);
	assert_int_equal(fixture_count(&listed, "unknown"), 1);
	fixture_close(&fixture);
}

static void test_unknown_node_is_stale(void **state)
{
	static const uint64_t nodes[] = {0,
					 99,
					 UINT64_C(1) << 48 | 99999,
					 UINT64_C(2) << 48 | 7,
					 UINT64_C(3) << 48 | 7,
					 UINT64_C(4) << 48 | 99999,
					 UINT64_C(5) << 48 | 1,
					 UINT64_C(6) << 48 | 7,
					 UINT64_C(7) << 48 | 7,
					 UINT64_C(9) << 48 | 1,
					 UINT64_MAX};
	struct fixture fixture;
	struct stat attributes;
	struct view_file file;
	char value[8];

	(void)state;
	fixture_open(&fixture, one_source);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		assert_int_equal(view_getattr(&fixture.call, nodes[i], &attributes), -ESTALE);
		assert_true(view_open(&fixture.call, nodes[i], &file) < 0);
		assert_true(view_getxattr(&fixture.call, nodes[i], "user.x", value, 8) < 0);
	}
	assert_int_equal(view_lookup(&fixture.call, nodes[2], "x", &attributes), -ESTALE);
	assert_int_equal(view_list(&fixture.call, nodes[2], 0, fixture_emit, &listed), -ENOENT);
	fixture_close(&fixture);
}

static void test_file_used_as_a_directory_fails(void **state)
{
	struct attributes file;
	struct fixture fixture;
	struct stat attributes;
	uint64_t node;

	(void)state;
	fixture_open(&fixture, one_source);
	file = fixture_file(&fixture, S_IFREG | 0644, 5);
	fixture_add_file(&fixture, root_of(&fixture), "f", &file);
	node = node_make(NODE_FILE, fixture_file_id(&fixture, &file));
	assert_int_equal(view_lookup(&fixture.call, node, "x", &attributes), -ENOTDIR);
	assert_int_equal(view_list(&fixture.call, node, 0, fixture_emit, &listed), -ENOTDIR);
	assert_int_equal(view_list(&fixture.call, FIXED_STATUS, 0, fixture_emit, &listed),
			 -ENOTDIR);
	fixture_close(&fixture);
}

/* Creates a file in the source and adds it to the index. Returns its node. */
static uint64_t add_real_file(struct fixture *fixture, const char *name, const char *text)
{
	AUTO_CLOSE int dir = open(fixture->sources.list[0].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	struct attributes attributes;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(source_attributes(fixture->catalog, fd, &attributes), 0);
	fixture_add_file(fixture, root_of(fixture), name, &attributes);
	return node_make(NODE_FILE, fixture_file_id(fixture, &attributes));
}

static void test_file_that_differs_from_the_index_is_not_opened(void **state)
{
	struct fixture fixture;
	struct view_file file;
	char command[256], text[8];
	uint64_t node;

	(void)state;
	fixture_open(&fixture, one_source);
	node = add_real_file(&fixture, "f", "text");
	assert_int_equal(view_open(&fixture.call, node, &file), 0);
	assert_int_equal(read(file.fd, text, sizeof(text)), 4);
	assert_memory_equal(text, "text", 4);
	view_close(&file);
	/* only the ctime differs */
	(void)snprintf(command, sizeof(command), "cd %s/source && chmod 600 f && chmod 644 f",
		       fixture.folder);
	run(command);
	assert_int_equal(view_open(&fixture.call, node, &file), -ESTALE);
	(void)snprintf(command, sizeof(command), "rm %s/source/f", fixture.folder);
	run(command);
	assert_int_equal(view_open(&fixture.call, node, &file), -ENOENT);
	fixture_close(&fixture);
}

static void update_real_file(struct fixture *fixture, uint64_t node, const char *name,
			     uint32_t flags)
{
	struct name_change change = {
		.kind = NAME_UPDATE_FILE,
		.id = node_id(node),
		.flags = flags,
	};
	AUTO_CLOSE int dir = open(fixture->sources.list[0].path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(source_attributes(fixture->catalog, fd, &change.attributes), 0);
	fixture_apply(fixture, &change, 1);
}

static void run_in_source(const struct fixture *fixture, const char *command)
{
	char text[256];

	(void)snprintf(text, sizeof(text), "cd %s/source && %s", fixture->folder, command);
	run(text);
}

static unsigned int changed_sources;

static void note_changed_source(void *context, uint64_t file)
{
	assert_int_equal(file, *(const uint64_t *)context);
	changed_sources++;
}

static void test_content_that_changed_after_the_open_is_not_read(void **state)
{
	struct fixture fixture;
	struct view_file file;
	uint64_t node, id;
	char text[8];

	(void)state;
	fixture_open(&fixture, one_source);
	node = add_real_file(&fixture, "f", "text");
	id = node_id(node);
	fixture.view.hooks =
		(struct view_hooks){.source_changed = note_changed_source, .context = &id};
	changed_sources = 0;
	assert_int_equal(view_open(&fixture.call, node, &file), 0);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), 4);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 2), 2);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 4), 0);
	assert_int_equal(changed_sources, 0);
	run_in_source(&fixture, "printf TEXT > f");
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), -ESTALE);
	assert_int_equal(changed_sources, 1);
	/* after the update of the index, the file is another node */
	update_real_file(&fixture, node, "f", 0);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), -ESTALE);
	view_close(&file);
	assert_int_equal(view_open(&fixture.call, node, &file), -ESTALE);
	assert_int_equal(changed_sources, 1);
	node = (uint64_t)fixture_find(&fixture, "uniques/f");
	assert_int_equal(view_open(&fixture.call, node, &file), 0);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "TEXT", 4);
	view_close(&file);
	fixture_close(&fixture);
}

static void test_open_file_with_a_new_name_is_readable_after_the_index_update(void **state)
{
	struct fixture fixture;
	struct view_file file;
	uint64_t node;
	char text[8];

	(void)state;
	fixture_open(&fixture, one_source);
	node = add_real_file(&fixture, "f", "text");
	assert_int_equal(view_open(&fixture.call, node, &file), 0);
	run_in_source(&fixture, "ln f g; rm g");
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), -ESTALE);
	update_real_file(&fixture, node, "f", FILE_SAME_BYTES);
	assert_int_equal(view_read(&fixture.call, &file, text, sizeof(text), 0), 4);
	assert_int_equal(fixture_find(&fixture, "uniques/f"), node);
	view_close(&file);
	fixture_close(&fixture);
}

static void test_file_of_a_missing_source_is_not_opened(void **state)
{
	struct fixture fixture;
	struct view_file file;
	uint64_t node;

	(void)state;
	fixture_open(&fixture, one_source);
	node = add_real_file(&fixture, "f", "text");
	atomic_store(&fixture.sources.list[0].missing, true);
	assert_int_equal(view_open(&fixture.call, node, &file), -EIO);
	atomic_store(&fixture.sources.list[0].missing, false);
	assert_int_equal(view_open(&fixture.call, node, &file), 0);
	view_close(&file);
	fixture_close(&fixture);
}

/* Returns the value of an attribute as a string, or "" if there is none. */
static const char *xattr(struct fixture *fixture, uint64_t node, const char *name)
{
	static char value[256];
	long length = view_getxattr(&fixture->call, node, name, value, sizeof(value) - 1);

	value[length < 0 ? 0 : length] = '\0';
	if (length >= 0)
		assert_int_equal(view_getxattr(&fixture->call, node, name, NULL, 0), length);
	else
		assert_int_equal(length, -ENODATA);
	return value;
}

static void test_own_attributes_have_path_and_group(void **state)
{
	struct attributes pair[2], single;
	struct fixture fixture;
	uint64_t node, group;
	char expected[256], value[2];

	(void)state;
	fixture_open(&fixture, one_source);
	add_pair(&fixture, pair);
	single = fixture_file(&fixture, S_IFREG | 0600, 5);
	fixture_add_file(&fixture, root_of(&fixture), "single", &single);
	node = node_make(NODE_FILE, fixture_file_id(&fixture, &pair[1]));
	(void)snprintf(expected, sizeof(expected), "%s/source/b", fixture.folder);
	assert_string_equal(xattr(&fixture, node, "user.twinfs.path"), expected);
	assert_string_equal(xattr(&fixture, node, "user.twinfs.hash"), HASH_NAME);
	assert_string_equal(xattr(&fixture, node, "user.twinfs.copies"), "2");
	assert_string_equal(xattr(&fixture, node, "user.twinfs.size"), "");
	assert_int_equal(view_getxattr(&fixture.call, node, "user.twinfs.path", value, 2), -ERANGE);
	node = node_make(NODE_FILE, fixture_file_id(&fixture, &single));
	assert_string_equal(xattr(&fixture, node, "user.twinfs.hash"), "");
	assert_string_equal(xattr(&fixture, node, "user.twinfs.copies"), "");
	group = (uint64_t)fixture_find(&fixture, "dups/" HASH_NAME);
	assert_string_equal(xattr(&fixture, group, "user.twinfs.hash"), HASH_NAME);
	assert_string_equal(xattr(&fixture, group, "user.twinfs.copies"), "2");
	assert_string_equal(xattr(&fixture, group, "user.twinfs.size"), "5");
	assert_string_equal(xattr(&fixture, group, "user.twinfs.reclaimable"), "5");
	assert_string_equal(xattr(&fixture, group, "user.twinfs.path"), "");
	assert_string_equal(xattr(&fixture, group, "user.other"), "");
	assert_string_equal(xattr(&fixture, VIEW_ROOT, "user.twinfs.path"), "");
	(void)snprintf(expected, sizeof(expected), "%s/source", fixture.folder);
	assert_string_equal(xattr(&fixture, node_make(NODE_DIR, root_of(&fixture)),
				  "user.twinfs.path"),
			    expected);
	fixture_close(&fixture);
}

static void test_own_attributes_are_not_listed_and_hide_those_of_the_source(void **state)
{
	struct fixture fixture;
	char path[256], list[256];
	uint64_t node;
	long length;

	(void)state;
	fixture_open(&fixture, one_source);
	(void)snprintf(path, sizeof(path), "%s/source/f", fixture.folder);
	(void)close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	if (setxattr(path, "user.a", "1", 1, 0) != 0 && errno == EOPNOTSUPP) {
		fixture_close(&fixture);
		return; /* tmpfs has no user attributes before Linux 6.6 */
	}
	assert_int_equal(setxattr(path, "user.twinfs.path", "wrong", 5, 0), 0);
	assert_int_equal(setxattr(path, "user.twinfs.x", "right", 5, 0), 0);
	assert_int_equal(setxattr(path, "user.twinfs.path2", "right", 5, 0), 0);
	assert_int_equal(setxattr(path, "user.z", "2", 1, 0), 0);
	node = add_real_file(&fixture, "f", "");
	assert_string_equal(xattr(&fixture, node, "user.twinfs.path"), path);
	assert_string_equal(xattr(&fixture, node, "user.twinfs.x"), "right");
	assert_string_equal(xattr(&fixture, node, "user.z"), "2");
	length = view_listxattr(&fixture.call, node, NULL, 0);
	assert_int_equal(view_listxattr(&fixture.call, node, list, sizeof(list)), length);
	assert_null(memmem(list, (size_t)length, "user.twinfs.path", sizeof("user.twinfs.path")));
	assert_non_null(memmem(list, (size_t)length, "user.twinfs.x", sizeof("user.twinfs.x")));
	assert_non_null(
		memmem(list, (size_t)length, "user.twinfs.path2", sizeof("user.twinfs.path2")));
	assert_non_null(memmem(list, (size_t)length, "user.a", sizeof("user.a")));
	assert_non_null(memmem(list, (size_t)length, "user.z", sizeof("user.z")));
	assert_int_equal(view_listxattr(&fixture.call, node, list, (size_t)length - 1), -ERANGE);
	assert_int_equal(view_listxattr(&fixture.call, VIEW_ROOT, list, sizeof(list)), 0);
	fixture_close(&fixture);
}

static json_t *open_json(struct fixture *fixture, uint64_t node)
{
	struct view_file file;
	json_t *object;

	assert_int_equal(view_open(&fixture->call, node, &file), 0);
	assert_int_equal(file.fd, -1);
	object = json_loadb((const char *)file.content.data, file.content.length, 0, NULL);
	view_close(&file);
	return object;
}

static json_int_t number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void test_status_matches_the_index_and_the_state(void **state)
{
	struct attributes pair[2];
	struct fixture fixture;
	struct statvfs statfs;
	json_t *status;

	(void)state;
	fixture_open(&fixture, one_source);
	add_pair(&fixture, pair);
	view_set_state(&fixture.view, VIEW_COMPARING);
	status = open_json(&fixture, FIXED_STATUS);
	assert_string_equal(json_string_value(json_object_get(status, "state")), "comparing");
	assert_string_equal(json_string_value(json_object_get(status, "watch")), "none");
	assert_int_equal(number(status, "pid"), getpid());
	assert_int_equal(number(status, "files"), 2);
	assert_int_equal(number(status, "directories"), 1);
	assert_int_equal(number(status, "bytes"), 10);
	assert_int_equal(number(status, "groups"), 1);
	assert_int_equal(number(status, "redundant_files"), 1);
	assert_int_equal(number(status, "reclaimable_bytes"), 5);
	assert_int_equal(json_array_size(json_object_get(status, "sources")), 1);
	json_decref(status);
	assert_int_equal(view_statfs(&fixture.call, &statfs), 0);
	assert_true(statfs.f_blocks > statfs.f_bavail && statfs.f_bavail > 0);
	fixture_close(&fixture);
}

static int note_error(struct catalog_writer *writer, void *context)
{
	return catalog_set_error(writer, ERROR_FILE, *(const uint64_t *)context, EIO);
}

static void test_errors_are_listed_with_their_paths(void **state)
{
	struct attributes file;
	struct fixture fixture;
	char expected[256];
	json_t *error;
	uint64_t id;

	(void)state;
	fixture_open(&fixture, one_source);
	file = fixture_file(&fixture, S_IFREG | 0644, 5);
	fixture_add_file(&fixture, root_of(&fixture), "bad\xff", &file);
	assert_null(open_json(&fixture, FIXED_ERRORS)); /* the report has no further line */
	id = fixture_file_id(&fixture, &file);
	assert_int_equal(catalog_write(fixture.catalog, note_error, &id), 0);
	error = open_json(&fixture, FIXED_ERRORS);
	(void)snprintf(expected, sizeof(expected), "%s/source/bad\\xff", fixture.folder);
	assert_string_equal(json_string_value(json_object_get(error, "path")), expected);
	assert_true(json_is_string(json_object_get(error, "path_base64")));
	assert_string_equal(json_string_value(json_object_get(error, "error")), "EIO");
	assert_true(json_is_string(json_object_get(error, "message")));
	json_decref(error);
	fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_has_its_folders),
		cmocka_unit_test(test_uniques_omits_redundant_copies_only),
		cmocka_unit_test(test_redundant_has_redundant_copies_and_their_parents),
		cmocka_unit_test(test_folder_without_redundant_copies_is_missing_in_redundant),
		cmocka_unit_test(test_redundant_has_only_trees_with_redundant_copies),
		cmocka_unit_test(test_attributes_are_those_of_the_record),
		cmocka_unit_test(test_unreadable_source_entry_fails_with_the_error_of_the_source),
		cmocka_unit_test(test_unknown_node_is_stale),
		cmocka_unit_test(test_file_used_as_a_directory_fails),
		cmocka_unit_test(test_file_that_differs_from_the_index_is_not_opened),
		cmocka_unit_test(test_content_that_changed_after_the_open_is_not_read),
		cmocka_unit_test(test_open_file_with_a_new_name_is_readable_after_the_index_update),
		cmocka_unit_test(test_file_of_a_missing_source_is_not_opened),
		cmocka_unit_test(test_own_attributes_have_path_and_group),
		cmocka_unit_test(test_own_attributes_are_not_listed_and_hide_those_of_the_source),
		cmocka_unit_test(test_status_matches_the_index_and_the_state),
		cmocka_unit_test(test_errors_are_listed_with_their_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
