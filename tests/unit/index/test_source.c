/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "index/fixture.h"
#include "index/source.h"

/* A folder with the directories a, a/sub, b and z/a, and an empty index. */
struct case_state {
	char folder[64];
	struct fixture index;
	struct sources sources;
};

static int setup_play(void **state)
{
	static const char *const dirs[] = {"a", "a/sub", "b", "z", "z/a"};
	struct case_state *p = calloc(1, sizeof(*p));
	char path[128];

	assert_non_null(p);
	fixture_make_folder(p->folder);
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", p->folder, dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	(void)snprintf(p->index.folder, sizeof(p->index.folder), "%.50s/index", p->folder);
	fixture_open(&p->index);
	assert_int_equal(chdir(p->folder), 0);
	*state = p;
	return 0;
}

static int teardown_play(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(chdir("/"), 0);
	sources_close(&p->sources);
	catalog_close(p->index.catalog);
	folder_remove(p->folder);
	free(p);
	return 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* ---- paths of sources ---------------------------------------------------------------- */

typedef int resolve_fn(char *const *given, size_t count, struct text_list *resolved);

/* Both lists hold paths relative to the folder and end with NULL. */
static void assert_resolved_by(resolve_fn *resolve, const struct case_state *p,
			       const char *const *given, const char *const *expected)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	char *paths[8] = {NULL}, path[160];
	size_t count = 0;

	for (; given[count]; count++)
		paths[count] = strdup(given[count]);
	assert_int_equal(resolve(paths, count, &resolved), 0);
	for (size_t i = 0; expected[i]; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", p->folder, expected[i]);
		assert_true(i < resolved.count);
		assert_string_equal(resolved.items[i], path);
	}
	assert_null(expected[resolved.count]);
	for (size_t i = 0; paths[i]; i++)
		free(paths[i]);
}

#define assert_resolved(p, given, expected) \
	assert_resolved_by(source_paths_resolve, p, given, expected)

#define PATHS(...)                \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static void test_source_given_twice_is_used_once(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(symlink("a", "link"), 0);
	assert_resolved(p, PATHS("a", "a"), PATHS("a"));
	assert_resolved(p, PATHS("a", "./b/../a/", "a//"), PATHS("a"));
	assert_resolved(p, PATHS("link", "b", "a"), PATHS("a", "b"));
	assert_resolved(p, PATHS("b", "a"), PATHS("b", "a"));
}

static void test_missing_sources_are_recalled(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(symlink("a", "link"), 0);
	assert_resolved_by(source_paths_recall, p, PATHS("link", "b", "a"), PATHS("a", "b"));
	assert_resolved_by(source_paths_recall, p, PATHS("gone/x/", "link/gone"),
			   PATHS("gone/x", "a/gone"));
	assert_resolved_by(source_paths_recall, p, PATHS("gone/x", "./gone", "gone", "gone2"),
			   PATHS("gone", "gone2"));
}

static void test_nested_sources_are_one_tree(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(symlink("../a/sub", "b/link"), 0);
	assert_resolved(p, PATHS("a/sub", "a"), PATHS("a"));
	assert_resolved(p, PATHS("a", "b", "a/sub"), PATHS("a", "b"));
	assert_resolved(p, PATHS("a", "b/link"), PATHS("a"));
	assert_resolved(p, PATHS("a/sub", "a/sub", "a", "a"), PATHS("a"));
	assert_resolved(p, PATHS("a/sub", "b"), PATHS("a/sub", "b"));
}

static void test_bind_mount_of_a_source_is_the_same_source(void **state)
{
	struct case_state *p = *state;

	/* the new mount namespace ends with this process */
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return;
	assert_int_equal(mount("a", "b", NULL, MS_BIND, NULL), 0);
	assert_resolved(p, PATHS("a", "b"), PATHS("a"));
	assert_resolved(p, PATHS("b", "a"), PATHS("b"));
	assert_resolved(p, PATHS("a", "b/sub"), PATHS("a"));
	assert_int_equal(umount("b"), 0);
}

static void test_path_that_is_no_directory_is_refused(void **state)
{
	static const struct {
		const char *path;
		int error;
	} cases[] = {{"file", -ENOTDIR}, {"none", -ENOENT}, {"file/x", -ENOTDIR}, {"loop", -ELOOP}};

	(void)state;
	write_file("file", "");
	assert_int_equal(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP_TEXT_LIST struct text_list resolved = {0};
		char *given[] = {strdup("a"), strdup(cases[i].path)};

		assert_int_equal(source_paths_resolve(given, 2, &resolved), cases[i].error);
		free(given[0]);
		free(given[1]);
	}
}

/* ---- sources of an index ------------------------------------------------------------- */

/* Opens up to three paths relative to the folder. */
static int open_sources(struct case_state *p, const char *const *paths)
{
	char absolute[3][160], *list[4] = {NULL};

	for (size_t i = 0; paths[i]; i++) {
		(void)snprintf(absolute[i], sizeof(absolute[i]), "%s/%s", p->folder, paths[i]);
		list[i] = absolute[i];
	}
	return sources_open(&p->sources, p->index.catalog, list, false);
}

static void test_trees_are_named_after_their_folders(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(open_sources(p, PATHS("a", "b", "z/a")), 0);
	assert_string_equal(p->sources.list[0].tree, "a");
	assert_string_equal(p->sources.list[1].tree, "b");
	assert_string_equal(p->sources.list[2].tree, "a~2");
}

static void test_single_tree_has_no_name(void **state)
{
	struct case_state *p = *state;

	assert_int_equal(open_sources(p, PATHS("a")), 0);
	assert_string_equal(p->sources.list[0].tree, "");
}

static void test_index_of_other_sources_is_refused(void **state)
{
	struct case_state *p = *state;
	uint64_t root;

	assert_int_equal(open_sources(p, PATHS("a", "b")), 0);
	root = p->sources.list[1].root;
	sources_close(&p->sources);
	assert_int_equal(open_sources(p, PATHS("b", "a")), -EXDEV);
	assert_int_equal(open_sources(p, PATHS("a")), -EXDEV);
	assert_int_equal(open_sources(p, PATHS("a", "b", "z")), -EXDEV);
	assert_int_equal(open_sources(p, PATHS("a", "b")), 0);
	assert_int_equal(p->sources.list[1].root, root);
}

static void test_missing_source_is_accepted_by_readers_only(void **state)
{
	struct bytes path CLEANUP_BYTES = {0};
	struct case_state *p = *state;

	assert_int_equal(open_sources(p, PATHS("a", "b")), 0);
	sources_close(&p->sources);
	assert_int_equal(rename("b", "gone"), 0);
	assert_int_equal(open_sources(p, PATHS("a", "b")), -ENOENT);
	assert_int_equal(sources_open(&p->sources, p->index.catalog, NULL, false), 0);
	assert_int_equal(p->sources.count, 2);
	assert_true(p->sources.list[0].fd >= 0);
	assert_int_equal(p->sources.list[1].fd, -1);
	assert_int_equal(source_absolute_path(&p->sources, 1, "x/y", &path), 0);
	assert_string_equal(bytes_text(&path) + strlen(p->folder), "/b/x/y");
	assert_int_equal(source_absolute_path(&p->sources, 2, "", &path), -EUCLEAN);
}

static void test_path_below_the_root_directory_has_one_slash(void **state)
{
	struct case_state *p = *state;
	char *root[] = {(char[]){"/"}, NULL};
	static const char *const cases[][2] = {{"", "/"}, {"a", "/a"}, {"a/b", "/a/b"}};

	assert_int_equal(sources_open(&p->sources, p->index.catalog, root, false), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bytes path CLEANUP_BYTES = {0};

		assert_int_equal(source_absolute_path(&p->sources, 0, cases[i][0], &path), 0);
		assert_string_equal(bytes_text(&path), cases[i][1]);
	}
}

/* ---- opening files of the index ------------------------------------------------------ */

/* Writes the file a/sub/file, adds it to the index and returns its record. */
static struct file_record enter_file(struct case_state *p)
{
	struct attributes attributes;
	uint64_t sub;
	int fd;

	assert_int_equal(open_sources(p, PATHS("a")), 0);
	write_file("a/sub/file", "content");
	fd = open("a/sub/file", O_RDONLY | O_CLOEXEC);
	assert_int_equal(source_attributes(p->index.catalog, fd, &attributes), 0);
	close(fd);
	p->index.scan = 1;
	sub = add_dir(&p->index, p->sources.list[0].root, "sub");
	add_file(&p->index, sub, "file", attributes);
	fixture_commit(&p->index);
	return file_at(&p->index, id_at(&p->index, sub, "file"));
}

/* Opens the file and closes it again. Returns 0 or -errno. */
static int try_open(const struct case_state *p, const struct file_record *file, int flags)
{
	struct catalog_reader *reader = fixture_read(&p->index);
	int fd = source_open_file(&p->sources, reader, file, flags);

	catalog_read_end(reader);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_file_is_opened_only_if_it_is_the_indexed_file(void **state)
{
	struct case_state *p = *state;
	struct file_record file = enter_file(p);

	assert_int_equal(try_open(p, &file, 0), 0);
	assert_int_equal(try_open(p, &file, O_PATH), 0);
	write_file("a/sub/file", "CONTENT");
	assert_int_equal(try_open(p, &file, 0), -ESTALE);
	assert_int_equal(try_open(p, &file, O_PATH), -ESTALE);
	assert_int_equal(unlink("a/sub/file"), 0);
	assert_int_equal(try_open(p, &file, 0), -ENOENT);
	write_file("a/sub/file", "content");
	assert_int_equal(try_open(p, &file, 0), -ESTALE);
}

static void test_symlink_at_the_path_of_a_directory_is_not_followed(void **state)
{
	struct case_state *p = *state;
	struct file_record file = enter_file(p);
	struct catalog_reader *reader;
	int fd;

	reader = fixture_read(&p->index);
	fd = source_open_dir(&p->sources, reader, file.dir);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(rename("a/sub", "b/sub"), 0);
	assert_int_equal(symlink("../b/sub", "a/sub"), 0);
	assert_int_equal(source_open_dir(&p->sources, reader, file.dir), -ENOTDIR);
	catalog_read_end(reader);
	assert_int_equal(try_open(p, &file, 0), -ESTALE);
}

static void test_file_of_a_missing_source_cannot_be_opened(void **state)
{
	struct case_state *p = *state;
	struct file_record file = enter_file(p);

	sources_close(&p->sources);
	assert_int_equal(rename("a", "gone"), 0);
	assert_int_equal(sources_open(&p->sources, p->index.catalog, NULL, false), 0);
	assert_int_equal(try_open(p, &file, 0), -ENODEV);
}

/* ---- attributes ---------------------------------------------------------------------- */

static void test_attributes_match_stat_for_every_call(void **state)
{
	static const char *const names[] = {"file", "link", "a", "fifo"};
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct case_state *p = *state;
	struct stat st;

	write_file("file", "12345");
	assert_int_equal(symlink("nowhere", "link"), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct attributes at, by_fd;
		int fd = open(names[i], O_PATH | O_NOFOLLOW | O_CLOEXEC);

		assert_int_equal(lstat(names[i], &st), 0);
		assert_int_equal(source_attributes_at(p->index.catalog, here, names[i], i % 2, &at),
				 0);
		assert_int_equal(source_attributes(p->index.catalog, fd, &by_fd), 0);
		assert_true(attributes_equal(&at, &by_fd));
		assert_true(at.inode == st.st_ino && at.size == (uint64_t)st.st_size);
		assert_true(at.mode == st.st_mode && at.links == st.st_nlink);
		assert_true(at.uid == st.st_uid && at.gid == st.st_gid && at.rdev == st.st_rdev);
		assert_true(at.blocks == (uint64_t)st.st_blocks);
		assert_true(at.mtime.tv_sec == st.st_mtim.tv_sec);
		assert_true(at.mtime.tv_nsec == st.st_mtim.tv_nsec);
		assert_true(at.ctime.tv_nsec == st.st_ctim.tv_nsec);
		close(fd);
	}
	assert_int_equal(source_attributes_at(p->index.catalog, here, "none", false,
					      &(struct attributes){0}),
			 -ENOENT);
	close(here);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup_play, teardown_play)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_source_given_twice_is_used_once),
		CASE(test_missing_sources_are_recalled),
		CASE(test_nested_sources_are_one_tree),
		CASE(test_bind_mount_of_a_source_is_the_same_source),
		CASE(test_path_that_is_no_directory_is_refused),
		CASE(test_trees_are_named_after_their_folders),
		CASE(test_single_tree_has_no_name),
		CASE(test_index_of_other_sources_is_refused),
		CASE(test_missing_source_is_accepted_by_readers_only),
		CASE(test_path_below_the_root_directory_has_one_slash),
		CASE(test_file_is_opened_only_if_it_is_the_indexed_file),
		CASE(test_symlink_at_the_path_of_a_directory_is_not_followed),
		CASE(test_file_of_a_missing_source_cannot_be_opened),
		CASE(test_attributes_match_stat_for_every_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
