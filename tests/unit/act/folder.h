/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ACT_FOLDER_H
#define TESTS_ACT_FOLDER_H

/* A folder for one test with short words to fill it. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "base/descriptor.h"

struct folder {
	char path[64];
	int fd;
};

static inline int folder_setup(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	assert_non_null(folder);
	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/twinfs-test-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(folder->fd >= 0);
	*state = folder;
	return 0;
}

static inline int folder_teardown(void **state)
{
	struct folder *folder = *state;
	char command[96];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder->path);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): a test's own folder */
	close(folder->fd);
	free(folder);
	return 0;
}

static inline void put_file(const struct folder *folder, const char *name, const char *text)
{
	int fd AUTO_CLOSE =
		openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, text, strlen(text)), 0);
}

/* Does the name lead to a file with just this text? NULL: to nothing at all. */
static inline bool holds(const struct folder *folder, const char *name, const char *text)
{
	int fd AUTO_CLOSE = openat(folder->fd, name, O_RDONLY | O_CLOEXEC);
	char found[256] = "";

	if (fd < 0)
		return !text;
	return text && read(fd, found, sizeof(found) - 1) >= 0 && strcmp(found, text) == 0;
}

static inline struct stat status_of(const struct folder *folder, const char *name)
{
	struct stat status;

	assert_int_equal(fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW), 0);
	return status;
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

#endif
