/* SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"

#define MODE (S_IRUSR | S_IWUSR)

/* Number of bytes that are written at once. */
#define WRITE_BYTES (256UL << 10)

/* Makes the file. Returns a descriptor or -errno. */
static int make(int directory, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(directory, name, flags, MODE);

	/* an interrupted process left one */
	if (fd < 0 && errno == EEXIST && unlinkat(directory, name, 0) == 0)
		fd = openat(directory, name, flags, MODE);
	return fd < 0 ? -errno : fd;
}

int new_file_begin(struct new_file *file, int directory, const char *temporary)
{
	struct stat status;

	*file = (struct new_file){.directory = directory, .fd = make(directory, temporary)};
	if (file->fd < 0)
		return file->fd;
	file->temporary = temporary;
	/* The umask can have taken rights of the owner. A confined daemon may not call fchmod(2)
	 * (base/confine.h). */
	if (fstat(file->fd, &status) < 0 ||
	    ((status.st_mode & ALLPERMS) != MODE && fchmod(file->fd, MODE) < 0))
		return -errno;
	return 0;
}

static int flush(struct new_file *file)
{
	int r = write_fully(file->fd, file->waiting.data, file->waiting.length);

	file->waiting.length = 0;
	return r;
}

int new_file_append(struct new_file *file, const void *data, size_t length)
{
	int r = bytes_append(&file->waiting, data, length);

	return r == 0 && file->waiting.length >= WRITE_BYTES ? flush(file) : r;
}

int new_file_commit(struct new_file *file, const char *name)
{
	int r = flush(file);

	if (r == 0 && fsync(file->fd) < 0)
		r = -errno;
	if (r == 0) {
		r = close(file->fd) < 0 ? -errno : 0;
		file->fd = -1; /* free after a failure, too */
	}
	if (r == 0 && renameat(file->directory, file->temporary, file->directory, name) < 0)
		r = -errno;
	if (r < 0)
		return r;
	file->temporary = NULL;
	if (fsync(file->directory) == 0)
		return 0;
	return errno == EBADF ? sync_directory(file->directory) : -errno; /* EBADF: O_PATH */
}

void new_file_deinit(struct new_file *file)
{
	if (file->temporary)
		(void)unlinkat(file->directory, file->temporary, 0);
	cleanup_close(&file->fd);
	bytes_free(&file->waiting);
	*file = (struct new_file){.fd = -1};
}

int new_file_write(int directory, const char *temporary, const char *name,
		   const struct bytes *content)
{
	CLEANUP_NEW_FILE struct new_file file;
	int r = new_file_begin(&file, directory, temporary);

	if (r == 0)
		r = new_file_append(&file, content->data, content->length);
	return r < 0 ? r : new_file_commit(&file, name);
}
