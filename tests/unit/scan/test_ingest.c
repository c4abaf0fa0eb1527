/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>

#include "base/hash.h"
#include "base/stop.h"
#include "index/audit.h"
#include "index/patterns.h"
#include "scan/colliding.h"
#include "scan/tree.h"

/* ---- equal files --------------------------------------------------------------------- */

static void test_equal_files_are_grouped_under_their_hash(void **state)
{
	static const size_t lengths[] = {1, 4096, 16384, 16385, 100000, 5000000};
	struct tree *t = *state;
	struct catalog_reader *reader;
	struct group_record group;
	char path[32];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		for (unsigned int n = 0; n < 3; n++) {
			(void)snprintf(path, sizeof(path), "%zu.%u", i, n);
			write_content(t, path, lengths[i], n == 2);
		}
	}
	scan(t);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint8_t *data = malloc(lengths[i]);

		assert_non_null(data);
		memset(data, 'x', lengths[i]);
		(void)snprintf(path, sizeof(path), "%zu.0", i);
		reader = fixture_read(&t->index);
		assert_int_equal(catalog_find_group(reader, hash128(data, lengths[i]), 1, &group),
				 0);
		catalog_read_end(reader);
		assert_int_equal(group.inodes, 2);
		assert_int_equal(group.size, lengths[i]);
		assert_int_equal(group.kept, id_of_path(t, path));
		assert_int_equal(group.id, group_of_path(t, path));
		path[strlen(path) - 1] = '2';
		assert_int_equal(group_of_path(t, path), 0);
		free(data);
	}
	audit_index(t->index.catalog);
}

static void test_rescan_of_an_unchanged_tree_reads_nothing(void **state)
{
	struct tree *t = *state;
	struct catalog_totals before, after;

	/* A walk that reads files would compare those that are older than the guard time. */
	t->settings.names_only = true;
	write_content(t, "a", 20000, 0);
	write_content(t, "b", 20000, 0);
	write_content(t, "c", 20000, 1);
	write_content(t, "alone", 7, 0);
	scan(t);
	assert_int_equal(t->candidates, 3);
	before = totals_of(&t->index);
	tree_reopen(t);
	scan(t);
	assert_int_equal(t->candidates, 0);
	after = totals_of(&t->index);
	assert_int_equal(after.generation, before.generation);
	assert_int_equal(after.groups, 1);
	audit_index(t->index.catalog);
}

static void test_hard_links_are_one_file(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 30000, 0);
	make_dir(t, "dir");
	assert_int_equal(linkat(t->fd, "a", t->fd, "dir/link", 0), 0);
	scan(t);
	assert_int_equal(id_of_path(t, "dir/link"), id_of_path(t, "a"));
	assert_int_equal(totals_of(&t->index).files, 1);
	assert_int_equal(totals_of(&t->index).groups, 0);
	write_content(t, "copy", 30000, 0);
	scan(t);
	assert_true(are_grouped(t, "copy", "dir/link"));
	assert_int_equal(totals_of(&t->index).redundant_bytes.low, 30000);
	audit_index(t->index.catalog);
}

static void test_contents_of_one_hash_are_numbered(void **state)
{
	static const size_t lengths[] = {400, 16384, 100000};
	static uint8_t data[100000];
	struct tree *t = *state;
	char path[32];

	for (size_t i = 0; i < ARRAY_SIZE(lengths) * 10; i++) {
		colliding_fill(data, lengths[i / 10], (unsigned int)i % 5);
		(void)snprintf(path, sizeof(path), "%zu", i);
		write_bytes(t, path, data, lengths[i / 10]);
	}
	scan(t);
	assert_int_equal(totals_of(&t->index).groups, 15);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		unsigned int ordinals = 0;

		for (size_t content = 0; content < 5; content++) {
			(void)snprintf(path, sizeof(path), "%zu", i * 10 + content);
			ordinals |= 1U << group_at(&t->index, group_of_path(t, path)).ordinal;
		}
		assert_int_equal(ordinals, 0x3e); /* 1 to 5 */
	}
	audit_index(t->index.catalog);
}

static void write_hole(const struct tree *t, const char *name, off_t length, const char *end)
{
	int fd = openat(t->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, "beginning", 9), 0);
	assert_int_equal(ftruncate(fd, length), 0);
	assert_int_equal(pwrite(fd, end, strlen(end), length - (off_t)strlen(end)), strlen(end));
	assert_int_equal(close(fd), 0);
}

static void test_files_that_are_mostly_holes_are_compared(void **state)
{
	static const off_t lengths[] = {(off_t)100 << 20, (off_t)2 << 30};
	struct tree *t = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		write_hole(t, "a", lengths[i], "");
		write_hole(t, "b", lengths[i], "");
		write_hole(t, "c", lengths[i], "!");
		write_hole(t, "d", lengths[i], "!");
		scan(t);
		assert_int_equal(t->result.errors, 0);
		assert_true(are_grouped(t, "a", "b"));
		assert_true(are_grouped(t, "c", "d"));
		assert_int_equal(totals_of(&t->index).groups, 2);
		audit_index(t->index.catalog);
	}
}

static void test_smallest_size_can_be_changed(void **state)
{
	struct tree *t = *state;

	for (char name[] = "a"; *name < 'd'; ++*name)
		write_content(t, name, *name == 'c' ? 0 : 100, 0);
	write_content(t, "empty", 0, 0);
	scan(t);
	assert_int_equal(totals_of(&t->index).groups, 1);
	t->settings.min_size = 101;
	scan(t);
	assert_int_equal(totals_of(&t->index).groups, 0);
	t->settings.min_size = 0;
	scan(t);
	assert_int_equal(totals_of(&t->index).groups, 2);
	assert_true(are_grouped(t, "c", "empty"));
	audit_index(t->index.catalog);
}

static void test_files_that_match_a_glob_are_left_out(void **state)
{
	struct tree *t = *state;
	char one[] = "*.bak", other[] = "/dir/sub", *globs[] = {one, other, NULL};
	CLEANUP(patterns_free) struct patterns excludes = {0};

	make_dir(t, "dir");
	make_dir(t, "dir/sub");
	write_content(t, "a", 10, 0);
	write_content(t, "dir/a.bak", 10, 0);
	write_content(t, "dir/sub/a", 10, 0);
	scan(t);
	assert_int_equal(totals_of(&t->index).redundant_files, 2);
	assert_int_equal(patterns_make(&excludes, globs, &t->sources, PATTERN_TO_EXCLUDE), 0);
	t->settings.excludes = &excludes;
	scan(t);
	assert_int_equal(t->result.excluded, 2);
	assert_true(excludes.matched[0] && excludes.matched[1]);
	assert_int_equal(id_of_path(t, "dir/a.bak"), 0);
	assert_int_equal(id_of_path(t, "dir/sub"), 0);
	assert_int_equal(totals_of(&t->index).files, 1);
	assert_int_equal(totals_of(&t->index).groups, 0);
	audit_index(t->index.catalog);
}

static void test_glob_for_folders_leaves_files_in(void **state)
{
	struct tree *t = *state;
	char glob[] = "sub/", unused[] = "none", *globs[] = {glob, unused, NULL};
	CLEANUP(patterns_free) struct patterns excludes = {0};

	make_dir(t, "dir");
	make_dir(t, "dir/sub");
	write_content(t, "dir/sub/a", 10, 0);
	write_content(t, "sub", 10, 0);
	assert_int_equal(patterns_make(&excludes, globs, &t->sources, PATTERN_TO_EXCLUDE), 0);
	t->settings.excludes = &excludes;
	scan(t);
	assert_int_equal(id_of_path(t, "dir/sub"), 0);
	assert_true(id_of_path(t, "sub") != 0);
	assert_true(excludes.matched[0]);
	assert_false(excludes.matched[1]);
}

/* ---- files open for writing ---------------------------------------------------------- */

static void test_file_open_for_writing_waits_until_it_is_closed(void **state)
{
	struct tree *t = *state;
	int fd;

	write_content(t, "a", 20000, 0);
	write_content(t, "b", 20000, 0);
	fd = openat(t->fd, "b", O_RDWR | O_CLOEXEC);
	scan(t);
	assert_int_equal(t->result.pending, 1);
	assert_int_equal(group_of_path(t, "b"), 0);
	assert_false(totals_of(&t->index).none_pending);
	close(fd);
	scan(t);
	assert_int_equal(t->result.pending, 0);
	assert_true(are_grouped(t, "a", "b"));
	audit_index(t->index.catalog);
}

static void test_file_mapped_for_writing_waits_until_it_is_unmapped(void **state)
{
	struct tree *t = *state;
	void *map;
	int fd;

	write_content(t, "a", 20000, 0);
	write_content(t, "b", 20000, 0);
	fd = openat(t->fd, "b", O_RDWR | O_CLOEXEC);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(map != MAP_FAILED);
	close(fd);
	scan(t);
	assert_int_equal(t->result.pending, 1);
	assert_int_equal(munmap(map, 4096), 0);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
}

static void test_end_of_a_scan_records_that_no_file_is_pending(void **state)
{
	struct tree *t = *state;

	write_content(t, "a", 20000, 0);
	write_content(t, "b", 20000, 0);
	scan(t);
	assert_true(totals_of(&t->index).none_pending);
	scan(t);
	assert_int_equal(t->candidates, 0);
	write_content(t, "c", 20000, 0);
	scan_names(t);
	assert_false(totals_of(&t->index).none_pending);
	scan(t);
	assert_int_equal(t->candidates, 1);
	assert_true(are_grouped(t, "a", "c"));
	assert_true(totals_of(&t->index).none_pending);
	audit_index(t->index.catalog);
}

/* Checks that new copies of a group wait while no member of the group can be read. */
static void assert_copies_wait_for(struct tree *t, size_t length, const char *busy_one,
				   const char *busy_other)
{
	int one, other;

	write_content(t, "a", length, 0);
	write_content(t, "b", length, 0);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	write_content(t, "d", length, 0);
	write_content(t, "e", length, 0);
	one = openat(t->fd, busy_one, O_RDWR | O_CLOEXEC);
	other = openat(t->fd, busy_other, O_RDWR | O_CLOEXEC);
	scan(t);
	close(one);
	close(other);
	assert_int_equal(totals_of(&t->index).groups, 1);
	scan(t);
	assert_int_equal(t->result.pending, 0);
	assert_true(are_grouped(t, "a", "d"));
	assert_true(are_grouped(t, "b", "e"));
	assert_int_equal(totals_of(&t->index).groups, 1);
	assert_int_equal(totals_of(&t->index).redundant_files, 3);
	audit_index(t->index.catalog);
	for (char name[] = "a"; *name < 'f'; ++*name)
		(void)unlinkat(t->fd, name, 0);
}

static void test_copies_of_a_group_that_is_being_written_wait_for_it(void **state)
{
	static const size_t lengths[] = {10, 16384, 16385, 50000};

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		assert_copies_wait_for(*state, lengths[i], "a", "a");
		assert_copies_wait_for(*state, lengths[i], "b", "b");
		assert_copies_wait_for(*state, lengths[i], "a", "b");
	}
}

static void test_copy_of_a_single_file_that_is_being_written_waits_for_it(void **state)
{
	static const size_t lengths[] = {10, 50000};
	struct tree *t = *state;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		write_content(t, "single", lengths[i], 0);
		write_content(t, "other", lengths[i], 1);
		scan(t);
		write_content(t, "copy", lengths[i], 0);
		fd = openat(t->fd, "single", O_RDWR | O_CLOEXEC);
		scan(t);
		close(fd);
		scan(t);
		assert_true(are_grouped(t, "single", "copy"));
		for (int n = 0; n < 3; n++)
			(void)unlinkat(t->fd, ((const char *[]){"single", "other", "copy"})[n], 0);
	}
}

static void test_changed_file_is_compared_again(void **state)
{
	struct tree *t = *state;
	struct timespec times[2];
	struct stat st;

	write_content(t, "a", 20000, 0);
	write_content(t, "b", 20000, 0);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	assert_int_equal(fstatat(t->fd, "b", &st, 0), 0);
	write_content(t, "b", 20000, 1);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	/* changes only the ctime of the file */
	assert_int_equal(utimensat(t->fd, "b", times, 0), 0);
	scan(t);
	assert_int_equal(group_of_path(t, "b"), 0);
	write_content(t, "b", 20000, 0);
	scan(t);
	assert_true(are_grouped(t, "a", "b"));
	audit_index(t->index.catalog);
}

/* ---- random histories ---------------------------------------------------------------- */

static const char *any_path(char path[64])
{
	long number = random();

	switch (random() % 4) {
	case 0:
		(void)snprintf(path, 64, "n%ld", number % 12);
		break;
	case 1:
		(void)snprintf(path, 64, "d%ld", number % 3);
		break;
	case 2:
		(void)snprintf(path, 64, "d%ld/n%ld", number % 3, number / 3 % 8);
		break;
	default:
		(void)snprintf(path, 64, "d%ld/d%ld/n%ld", number % 3, number / 3 % 2,
			       number / 6 % 5);
	}
	return path;
}

static void write_anything(struct tree *t, const char *path)
{
	static const size_t lengths[] = {0, 1, 300, 300, 300, 16384, 20000, 20000};
	struct stat st;

	if (fstatat(t->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? S_ISREG(st.st_mode)
								: errno == ENOENT && random() % 8) {
		int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0)
			return; /* the directory does not exist */
		close(fd);
		write_content(t, path, lengths[(size_t)random() % ARRAY_SIZE(lengths)],
			      (unsigned int)random() % 3);
	}
}

/* Impossible changes are skipped. */
static void change_anything(struct tree *t)
{
	char one[64], other[64];

	any_path(one);
	any_path(other);
	switch (random() % 12) {
	case 0:
		(void)!mkdirat(t->fd, one, 0755);
		break;
	case 1:
		(void)!unlinkat(t->fd, one, random() % 2 ? AT_REMOVEDIR : 0);
		break;
	case 2:
	case 3:
		(void)!renameat(t->fd, one, t->fd, other);
		break;
	case 4:
		(void)!linkat(t->fd, one, t->fd, other, 0);
		break;
	case 5:
		(void)!symlinkat(other, t->fd, one);
		break;
	case 6:
		(void)!mkfifoat(t->fd, one, 0600);
		break;
	case 7:
		(void)!fchmodat(t->fd, one, 0640 + (mode_t)(random() % 3), 0);
		break;
	default:
		write_anything(t, one);
	}
}

/* A regular file on disk by its path relative to the source. */
struct found {
	char path[128];
	dev_t device;
	ino_t inode;
	off_t length;
	struct hash128 hash;
};

static struct hash128 hash_of_file(const struct tree *t, const char *path, off_t length)
{
	char *data = malloc((size_t)length + 1);
	int fd = openat(t->fd, path, O_RDONLY | O_CLOEXEC);
	struct hash128 hash;

	assert_non_null(data);
	assert_int_equal(read_fully_at(fd, data, (size_t)length, 0), length);
	hash = hash128(data, (size_t)length);
	close(fd);
	free(data);
	return hash;
}

/* Lists all regular files by find(1). *names is the count of all names but directories. */
static size_t find_files(const struct tree *t, struct found *found, size_t max, uint64_t *names)
{
	char command[192], line[128];
	size_t count = 0;
	struct stat st;
	FILE *pipe;

	(void)snprintf(command, sizeof(command),
		       "cd %s && find . -mindepth 1 ! -type d -printf '%%P\\n'", t->source);
	pipe = popen(command, "re"); /* NOLINT(cert-env33-c): our own words */
	assert_non_null(pipe);
	for (*names = 0; fgets(line, sizeof(line), pipe); ++*names) {
		line[strcspn(line, "\n")] = '\0';
		assert_int_equal(fstatat(t->fd, line, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_true(id_of_path(t, line) != 0);
		if (!S_ISREG(st.st_mode))
			continue;
		assert_true(count < max);
		found[count] = (struct found){.device = st.st_dev,
					      .inode = st.st_ino,
					      .length = st.st_size,
					      .hash = hash_of_file(t, line, st.st_size)};
		memcpy(found[count++].path, line, sizeof(line));
	}
	assert_int_equal(pclose(pipe), 0);
	return count;
}

static void assert_index_is_right(const struct tree *t)
{
	static struct found found[400];
	uint64_t names;
	size_t count = find_files(t, found, ARRAY_SIZE(found), &names);

	assert_int_equal(totals_of(&t->index).names, names);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct found *a = &found[i], *b = &found[j];
			bool same = a->device == b->device && a->inode == b->inode;
			bool equal = a->length == b->length && a->hash.high == b->hash.high &&
				     a->hash.low == b->hash.low && a->length > 0;

			assert_int_equal(id_of_path(t, a->path) == id_of_path(t, b->path), same);
			if (!same)
				assert_int_equal(are_grouped(t, a->path, b->path), equal);
		}
	}
	audit_index(t->index.catalog);
}

static void test_random_histories_end_in_the_right_groups(void **state)
{
	struct tree *t = *state;

	srandom(1);
	for (int round = 0; round < 60; round++) {
		for (long i = random() % 25; i >= 0; i--)
			change_anything(t);
		if (round % 20 == 19)
			tree_reopen(t);
		scan(t);
		assert_int_equal(t->result.errors, 0);
		assert_int_equal(t->result.pending, 0);
		assert_index_is_right(t);
	}
}

/* ---- the end ------------------------------------------------------------------------- */

/* Must be the last test, because a stop cannot be undone. A file that lost its name in the index
 * can have another name that the walk did not reach. */
static void test_stopped_scan_removes_no_name(void **state)
{
	struct tree *t = *state;
	uint64_t moved;

	for (char name[] = "a"; *name < 'd'; ++*name)
		write_content(t, name, 20000, 0);
	scan(t);
	moved = id_of_path(t, "c");
	remove_name(&t->index, t->index.roots[0], "c");
	fixture_commit(&t->index);
	stop_request();
	scan(t);
	assert_true(t->result.stopped);
	assert_true(are_grouped(t, "a", "b"));
	assert_int_equal(content_of(&t->index, moved).group, group_of_path(t, "a"));
	audit_index(t->index.catalog);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_equal_files_are_grouped_under_their_hash),
		CASE(test_rescan_of_an_unchanged_tree_reads_nothing),
		CASE(test_hard_links_are_one_file),
		CASE(test_contents_of_one_hash_are_numbered),
		CASE(test_files_that_are_mostly_holes_are_compared),
		CASE(test_smallest_size_can_be_changed),
		CASE(test_files_that_match_a_glob_are_left_out),
		CASE(test_glob_for_folders_leaves_files_in),
		CASE(test_file_open_for_writing_waits_until_it_is_closed),
		CASE(test_file_mapped_for_writing_waits_until_it_is_unmapped),
		CASE(test_end_of_a_scan_records_that_no_file_is_pending),
		CASE(test_copies_of_a_group_that_is_being_written_wait_for_it),
		CASE(test_copy_of_a_single_file_that_is_being_written_waits_for_it),
		CASE(test_changed_file_is_compared_again),
		CASE(test_random_histories_end_in_the_right_groups),
		CASE(test_stopped_scan_removes_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
