/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

/* A temporary folder for a test, open as state->fd. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "unit_test.h"

struct folder {
	char path[64];
	int fd;
};

/* Makes a temporary folder in base. */
static inline void folder_make(char path[static 64], const char *base)
{
	(void)snprintf(path, 64, "%s/twinfs-test-XXXXXX", base);
	assert_non_null(mkdtemp(path));
}

static inline void folder_remove(const char *path)
{
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf %.100s", path);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): no foreign words */
}

static inline int folder_set_up(void **state)
{
	struct folder *folder = malloc(sizeof(*folder));

	assert_non_null(folder);
	folder_make(folder->path, "/var/tmp");
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	*state = folder;
	return 0;
}

static inline int folder_tear_down(void **state)
{
	struct folder *folder = *state;

	(void)close(folder->fd);
	folder_remove(folder->path);
	free(folder);
	return 0;
}

static inline void make_file(int directory, const char *name, const void *data, size_t length)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, data, length), 0);
	(void)close(fd);
}

static inline bool exists_at(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

#define TEST_IN_FOLDER(function) \
	cmocka_unit_test_setup_teardown(function, folder_set_up, folder_tear_down)

#endif
