/* SPDX-License-Identifier: MIT */
#ifndef TESTS_ACT_FILES_H
#define TESTS_ACT_FILES_H

/* Helpers that fill a test's folder and examine it. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "folder.h"
#include "unit_test.h"

static inline void put_file(const struct folder *folder, const char *name, const char *text)
{
	int fd AUTO_CLOSE =
		openat(folder->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, text, strlen(text)), 0);
}

/* Returns whether the name is a file with exactly this text; NULL: whether the name is missing. */
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

#define CASE(test) cmocka_unit_test_setup_teardown(test, folder_set_up, folder_tear_down)

#endif
