/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <sys/syscall.h>

#include "scan/listing.h"
#include "scan/tree.h"

/* The results of the next calls of getdents64: these names, several names per call. */
static struct {
	const char *const *names; /* NULL-terminated; NULL: ask the kernel */
	size_t per_call;
	int error; /* after the last name */
} script;

/* Overrides the function of the C library. */
ssize_t getdents64(int fd, void *buffer, size_t length)
{
	size_t at = 0;

	if (!script.names)
		return syscall(SYS_getdents64, fd, buffer, length);
	if (!*script.names && script.error) {
		errno = script.error;
		return -1;
	}
	for (size_t i = 0; i < script.per_call && *script.names; i++, script.names++) {
		struct dirent64 *entry = (void *)((char *)buffer + at);
		size_t size = offsetof(struct dirent64, d_name) + strlen(*script.names) + 1;

		entry->d_ino = 1;
		entry->d_reclen = (unsigned short)((size + 7) / 8 * 8);
		memcpy(entry->d_name, *script.names, strlen(*script.names) + 1);
		at += entry->d_reclen;
	}
	return (ssize_t)at;
}

static int read_listing(const struct tree *t, struct listing *listing, char *const *excludes)
{
	assert_int_equal(lseek(t->fd, 0, SEEK_SET), 0);
	return listing_read(listing, t->index.catalog,
			    &(struct listed_dir){.fd = t->fd, .path = "", .excludes = excludes});
}

static const struct listed *listed_as(const struct listing *listing, const char *name)
{
	const struct listed *found = NULL;

	for (size_t i = 0; i < listing->count; i++) {
		if (strcmp(listing->entries[i]->name.bytes, name) == 0) {
			assert_null(found); /* once only */
			found = listing->entries[i];
		}
	}
	return found;
}

static void test_names_have_their_attributes_and_the_order_of_inodes(void **state)
{
	struct listing listing CLEANUP(listing_free) = {0};
	struct tree *t = *state;
	struct stat st;

	write_text(t, "file\n", "12345");
	make_dir(t, "dir");
	assert_int_equal(symlinkat("dir", t->fd, "link"), 0);
	assert_int_equal(mkfifoat(t->fd, "\xff", 0600), 0);
	assert_int_equal(read_listing(t, &listing, NULL), 0);
	assert_int_equal(listing.count, 4);
	for (size_t i = 0; i < listing.count; i++) {
		const struct listed *listed = listing.entries[i];

		assert_int_equal(fstatat(t->fd, listed->name.bytes, &st, AT_SYMLINK_NOFOLLOW), 0);
		assert_int_equal(listed->attributes.inode, st.st_ino);
		assert_int_equal(listed->attributes.mode, st.st_mode);
		assert_int_equal(listed->attributes.size, st.st_size);
		assert_true(listed->attributes.mtime.tv_nsec == st.st_mtim.tv_nsec);
		assert_int_equal(listed->error, 0);
		assert_false(listed->mount_root);
		assert_true(i == 0 || listed->inode > listing.entries[i - 1]->inode);
	}
}

static void test_empty_directory_has_no_names(void **state)
{
	struct listing listing CLEANUP(listing_free) = {0};

	assert_int_equal(read_listing(*state, &listing, NULL), 0);
	assert_int_equal(listing.count, 0);
}

static void test_directory_of_any_size_is_listed_completely(void **state)
{
	struct listing listing CLEANUP(listing_free) = {0};
	struct tree *t = *state;
	char name[256];

	for (int i = 0; i < 3000; i++) {
		(void)snprintf(name, sizeof(name), "%0*d", 8 + i % 240, i);
		assert_int_equal(symlinkat("x", t->fd, name), 0);
	}
	for (int round = 0; round < 2; round++) {
		assert_int_equal(read_listing(t, &listing, NULL), 0);
		assert_int_equal(listing.count, 3000);
	}
	listing_clear(&listing);
	assert_int_equal(listing.count, 0);
}

static void test_excluded_names_are_counted_and_not_examined(void **state)
{
	struct listing listing CLEANUP(listing_free) = {0};
	char glob[] = "*.o", *globs[] = {glob, NULL};
	struct tree *t = *state;

	write_text(t, "a.o", "");
	write_text(t, "b.o", "");
	write_text(t, "a.c", "");
	assert_int_equal(read_listing(t, &listing, globs), 0);
	assert_int_equal(listing.count, 1);
	assert_int_equal(listing.excluded, 2);
	assert_int_equal(read_listing(t, &listing, globs), 0);
	assert_int_equal(listing.excluded, 4); /* of all listings */
}

static void test_mount_points_are_marked(void **state)
{
	struct listing listing CLEANUP(listing_free) = {0};
	struct listed_dir root = {.fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .path = ""};
	struct tree *t = *state;

	assert_int_equal(listing_read(&listing, t->index.catalog, &root), 0);
	assert_non_null(listed_as(&listing, "proc"));
	assert_true(listed_as(&listing, "proc")->mount_root);
	close(root.fd);
}

/* ---- unusual results of the kernel --------------------------------------------------- */

static void test_names_that_vanish_are_left_out(void **state)
{
	static const char *const names[] = {".", "..", "gone", "here", "gone too", NULL};
	struct listing listing CLEANUP(listing_free) = {0};
	struct tree *t = *state;

	write_text(t, "here", "");
	script.names = names;
	script.per_call = 2;
	assert_int_equal(read_listing(t, &listing, NULL), 0);
	assert_int_equal(listing.count, 1);
	assert_non_null(listed_as(&listing, "here"));
	script.names = NULL;
}

/* If a name is replaced between two calls of getdents64, both calls can return the name. */
static void test_duplicate_name_is_listed_once(void **state)
{
	static const char *const names[] = {".", "a", "b", "..", "b", "c", "a", NULL};
	struct listing listing CLEANUP(listing_free) = {0};
	struct tree *t = *state;

	for (char name[] = "a"; *name < 'd'; ++*name)
		write_text(t, name, "");
	script.names = names;
	script.per_call = 4;
	assert_int_equal(read_listing(t, &listing, NULL), 0);
	assert_int_equal(listing.count, 3);
	assert_non_null(listed_as(&listing, "a"));
	assert_non_null(listed_as(&listing, "b"));
	assert_non_null(listed_as(&listing, "c"));
	script.names = NULL;
}

static void test_incomplete_listing_is_a_failure(void **state)
{
	static const char *const names[] = {".", "a", NULL};
	struct listing listing CLEANUP(listing_free) = {0};

	script.names = names;
	script.per_call = 2;
	script.error = EIO;
	assert_int_equal(read_listing(*state, &listing, NULL), -EIO);
	script.names = NULL;
	script.error = 0;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, tree_setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_names_have_their_attributes_and_the_order_of_inodes),
		CASE(test_empty_directory_has_no_names),
		CASE(test_directory_of_any_size_is_listed_completely),
		CASE(test_excluded_names_are_counted_and_not_examined),
		CASE(test_mount_points_are_marked),
		CASE(test_names_that_vanish_are_left_out),
		CASE(test_duplicate_name_is_listed_once),
		CASE(test_incomplete_listing_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
