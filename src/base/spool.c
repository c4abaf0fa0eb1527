/* SPDX-License-Identifier: MIT */
#include "base/spool.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"

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
