/* SPDX-License-Identifier: MIT */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"

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

int new_file_place(struct new_file *file, const char *name)
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
	if (r == 0)
		file->temporary = NULL;
	return r;
}

int new_file_commit(struct new_file *file, const char *name)
{
	int r = new_file_place(file, name);

	if (r < 0 || fsync(file->directory) == 0)
		return r;
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
		   const struct bytes *content, bool durable)
{
	CLEANUP_NEW_FILE struct new_file file;
	int r = new_file_begin(&file, directory, temporary);

	if (r == 0)
		r = new_file_append(&file, content->data, content->length);
	if (r < 0)
		return r;
	return durable ? new_file_commit(&file, name) : new_file_place(&file, name);
}

/* The mode of a new file, as a shell would make it; reduced by the umask. */
#define NEW_MODE (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)

/* Finds the file that a path leads to. The caller frees *target. st_nlink of *replaced is 0 if the
 * file does not exist.
 */
static int find_target(const char *path, char **target, struct stat *replaced)
{
	if (stat(path, replaced) < 0) {
		struct stat link;
		int r = -errno;

		*replaced = (struct stat){0};
		/* a dangling symlink is not replaced */
		if (r != -ENOENT || lstat(path, &link) == 0)
			return r;
		*target = strdup(path);
		return *target ? 0 : -ENOMEM;
	}
	if (!S_ISREG(replaced->st_mode))
		return -EINVAL;
	*target = realpath(path, NULL);
	return *target ? 0 : -errno;
}

/* Returns a template for mkostemp(3) in the same folder. The template does not contain the name of
 * the target, which can already have the maximum length.
 */
static char *temporary_name(const char *target)
{
	const char *slash = strrchr(target, '/');
	int folder = slash ? (int)(slash + 1 - target) : 0;
	char *name;

	return asprintf(&name, "%.*s.twinfs-XXXXXX", folder, target) < 0 ? NULL : name;
}

static mode_t new_mode(void)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	return NEW_MODE & ~mask;
}

/* Sets the owner and permissions of the replaced file. */
static int copy_ownership(int fd, const struct stat *replaced)
{
	mode_t mode = replaced->st_nlink > 0 ? replaced->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)
					     : new_mode();

	/* EPERM is ignored: only root can change the owner */
	if (replaced->st_nlink > 0 && fchown(fd, replaced->st_uid, replaced->st_gid) < 0 &&
	    errno != EPERM)
		return -errno;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int replaced_file_begin(struct replaced_file *file, const char *path)
{
	int r;

	*file = (struct replaced_file){.fd = -1};
	r = find_target(path, &file->target, &file->replaced);
	if (r < 0)
		return r;
	file->temporary = temporary_name(file->target);
	if (!file->temporary)
		return -ENOMEM;
	file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd >= 0)
		return 0;
	r = -errno;
	free(file->temporary);
	file->temporary = NULL;
	return r;
}

int replaced_file_commit(struct replaced_file *file)
{
	int r = copy_ownership(file->fd, &file->replaced);

	if (r < 0)
		return r;
	if (fsync(file->fd) < 0 || rename(file->temporary, file->target) < 0)
		return -errno;
	free(file->temporary);
	file->temporary = NULL;
	return 0;
}

void replaced_file_deinit(struct replaced_file *file)
{
	if (file->temporary) {
		(void)unlink(file->temporary);
		free(file->temporary);
	}
	if (file->target)
		cleanup_close(&file->fd);
	free(file->target);
	*file = (struct replaced_file){.fd = -1};
}

int replaced_file_write(const char *path, const struct bytes *content)
{
	CLEANUP_REPLACED_FILE struct replaced_file file;
	int r = replaced_file_begin(&file, path);

	if (r == 0)
		r = write_fully(file.fd, content->data, content->length);
	return r < 0 ? r : replaced_file_commit(&file);
}

/* ---- files without a name ---------------------------------------------------------- */

#define BLOCK_BYTES (64UL * 1024)

static const char *temporary_folder(void)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] == '/' ? folder : "/tmp";
}

/* Makes the file on file systems without O_TMPFILE. */
static int make_and_unlink(const char *folder)
{
	CLEANUP_BYTES struct bytes path = {0};
	int fd;

	if (bytes_format(&path, "%s/twinfs-XXXXXX", folder) < 0 || !bytes_text(&path))
		return -ENOMEM;
	fd = mkostemp((char *)path.data, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	(void)unlink((const char *)path.data);
	return fd;
}

int spool_open(void)
{
	const char *folder = temporary_folder();
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);

	if (fd < 0)
		fd = errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT
			     ? make_and_unlink(folder)
			     : -errno;
	if (fd >= 0 || fd == -ENOMEM)
		return fd;
	log_error("cannot make a temporary file in %s: %s; set TMPDIR to an existing folder that "
		  "you may write to",
		  quote_path(folder), error_text(fd));
	return -EXDEV;
}

int spool_open_stream(FILE **stream)
{
	int fd = spool_open();

	*stream = fd < 0 ? NULL : fdopen(fd, "w+");
	if (fd < 0)
		return fd;
	if (!*stream) {
		close(fd);
		return -ENOMEM;
	}
	return 0;
}

int spool_copy(int spool, int to)
{
	AUTO_FREE char *block = malloc(BLOCK_BYTES);
	off_t offset = 0;

	if (!block)
		return -ENOMEM;
	for (;;) {
		long length = read_fully_at(spool, block, BLOCK_BYTES, offset);
		int r;

		if (length <= 0)
			return (int)length;
		r = write_fully(to, block, (unsigned long)length);
		if (r < 0)
			return r;
		offset += length;
	}
}
