/* SPDX-License-Identifier: MIT */
#include "base/directory.h"

#include <fcntl.h>
#include <stdint.h>

#include "base/descriptor.h"

int directory_read(int fd, directory_visitor *visitor, void *context)
{
	AUTO_CLOSEDIR DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return fd;
	if (!stream) {
		r = -errno;
		(void)close(fd);
		return r;
	}
	while (r == 0) {
		errno = 0;
		entry = readdir(stream); /* NOLINT(concurrency-mt-unsafe): the stream is local */
		if (!entry)
			return -errno;
		if (!is_dots(entry->d_name))
			r = visitor(context, fd, entry);
	}
	return r;
}

int directory_visit(int directory, directory_visitor *visitor, void *context)
{
	return directory_read(open_beneath_for_reading(directory, "", O_DIRECTORY, true), visitor,
			      context);
}

static int refuse_other(void *ignored, int directory, const struct dirent *entry)
{
	(void)directory;
	return ignored && strcmp(entry->d_name, ignored) == 0 ? 0 : -ENOTEMPTY;
}

int directory_check_empty(int directory, const char *ignored)
{
	return directory_visit(directory, refuse_other, (void *)(uintptr_t)ignored);
}

static int remove_file(void *context, int directory, const struct dirent *entry)
{
	(void)context;
	return unlinkat(directory, entry->d_name, 0) < 0 ? -errno : 0;
}

int directory_remove_files(int directory)
{
	return directory_visit(directory, remove_file, NULL);
}
