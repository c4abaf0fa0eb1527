/* SPDX-License-Identifier: MIT */
#include "backup/manifest_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/size.h"

/* Logs that the line read last cannot be used, with its number. Returns -EPROTO. */
static int complain(const struct manifest_reader *reader, const char *why)
{
	const struct bytes *path = &reader->name.path;

	log_error("cannot use line %" PRIu64 " of the manifest %s%s%s: %s", reader->lines.line,
		  quote_path(reader->path), path->length > 0 ? ", path " : "",
		  path->length > 0 ? quote_bytes((const char *)path->data, path->length) : "", why);
	return -EPROTO;
}

/* Logs that the whole manifest is refused. Returns -EPROTO. */
static int complain_of_end(const struct manifest_reader *reader, const char *what)
{
	log_error("cannot use the manifest %s: it %s, after line %" PRIu64
		  "; use the complete file that 'twinfs manifest' wrote",
		  quote_path(reader->path), what, reader->lines.line);
	return -EPROTO;
}

int manifest_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	int r = 0;

	if (fd < 0 || fstat(fd, &status) < 0)
		r = -errno;
	else if (!S_ISREG(status.st_mode))
		r = -EINVAL;
	if (r == 0)
		return fd;
	if (r == -EINVAL)
		log_error("cannot use the manifest %s: it is not a regular file; give a file, "
			  "because it is read more than once",
			  quote_path(path));
	else
		log_error("cannot open the manifest %s: %s", quote_path(path), error_text(r));
	cleanup_close(&fd);
	return r;
}

/* Sets *line to the start of the next line. Returns 0, -ENODATA at the end, -ENOMEM, -EINTR if
 * stop_requested(), or another -errno (logged). */
static int next_line(struct manifest_reader *reader, const char **line, size_t *length)
{
	int r = line_reader_next(&reader->lines, line, length);

	if (r == LINE_END)
		return -ENODATA;
	if (r == LINE_TORN)
		return complain_of_end(reader, "ends within a line");
	if (r == LINE_TOO_LONG) {
		reader->lines.line++;
		return complain(reader, "it is longer than the limit");
	}
	if (r < 0 && r != -ENOMEM && r != -EINTR)
		log_error("cannot read the manifest %s: %s", quote_path(reader->path),
			  error_text(r));
	return r;
}

int manifest_reader_init(struct manifest_reader *reader, int fd, const char *path)
{
	const char *why = NULL;
	const char *line;
	size_t length;
	int r;

	memset(reader, 0, sizeof(*reader));
	reader->path = path;
	reader->hash = hash_state_new();
	r = line_reader_init(&reader->lines, fd, MANIFEST_LINE_MAX, LINES_FROM_START);
	if (!reader->hash || r < 0)
		return -ENOMEM;
	r = next_line(reader, &line, &length);
	if (r == -ENODATA)
		return complain_of_end(reader, "is empty");
	if (r < 0)
		return r;
	r = manifest_header_decode(line, length, &reader->format, &reader->root, &why);
	if (r == -EPROTO)
		return complain(reader, why);
	hash_state_update(reader->hash, line, length + 1);
	return r;
}

void manifest_reader_deinit(struct manifest_reader *reader)
{
	hash_state_free(reader->hash);
	line_reader_deinit(&reader->lines);
	bytes_free(&reader->before);
	manifest_name_free(&reader->root);
	manifest_name_free(&reader->name);
}

int manifest_check_header(int fd, const char *path)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};

	return manifest_reader_init(&reader, fd, path);
}

static int check_end(struct manifest_reader *reader)
{
	const char *line;
	size_t length;
	int r;

	if (reader->end.lines != reader->names)
		return complain_of_end(reader,
				       "does not have the number of lines that its end states");
	if (!hash128_equal(reader->end.hash, hash_state_digest(reader->hash)))
		return complain_of_end(reader, "was changed, as its hash is wrong");
	r = next_line(reader, &line, &length);
	if (r == 0)
		return complain_of_end(reader, "continues after its end");
	return r == -ENODATA ? MANIFEST_END : r;
}

/* Checks that the path is after the previous one. */
static int check_order(struct manifest_reader *reader)
{
	struct bytes *path = &reader->name.path;
	int order = reader->names > 0 ? path_order(&reader->before, path) : -1;

	if (order == 0)
		return complain(reader, "the previous line has the same path");
	if (order > 0)
		return complain(reader, "it must be before the previous line");
	reader->before.length = 0;
	return bytes_append(&reader->before, path->data, path->length);
}

int manifest_reader_next(struct manifest_reader *reader)
{
	const char *why = NULL;
	const char *line;
	size_t length;
	int r;

	manifest_name_clear(&reader->name);
	r = next_line(reader, &line, &length);
	if (r == -ENODATA)
		return complain_of_end(reader, "is truncated");
	if (r < 0)
		return r;
	r = manifest_line_decode(line, length, reader->format,
				 (struct manifest_line){&reader->name, &reader->end}, &why);
	if (r == MANIFEST_END)
		return check_end(reader);
	if (r == -EPROTO)
		return complain(reader, why);
	if (r == 0)
		r = check_order(reader);
	if (r < 0)
		return r;
	hash_state_update(reader->hash, line, length + 1);
	reader->names++;
	reader->flagged += reader->name.flags != 0;
	if (reader->name.content.length > 0)
		reader->bytes = size_add(reader->bytes, reader->name.size);
	return 0;
}
