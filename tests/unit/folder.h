/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FOLDER_H
#define TESTS_FOLDER_H

/* A folder of its own for a test, open as state->fd. */

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

static inline int folder_set_up(void **state)
{
	struct folder *folder = malloc(sizeof(*folder));

	assert_non_null(folder);
	(void)snprintf(folder->path, sizeof(folder->path), "/var/tmp/twinfs-test-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	*state = folder;
	return 0;
}

static inline int folder_tear_down(void **state)
{
	struct folder *folder = *state;
	char command[128];

	(void)close(folder->fd);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder->path);
	assert_int_equal(system(command), 0);
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

static inline bool is_there(int directory, const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

#define TEST_IN_FOLDER(function) \
	cmocka_unit_test_setup_teardown(function, folder_set_up, folder_tear_down)

#endif
