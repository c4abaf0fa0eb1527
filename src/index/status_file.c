/* SPDX-License-Identifier: MIT */
#include "index/status_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/timed_call.h"
#include "row/json_path.h"
#include "row/json_read.h"

#define STATUS_FILE "/.twinfs/status.json"

#define TIMEOUT_MS 2000

/* Maximum size of a status. A status has all sources of a command line, which are shorter. */
#define STATUS_BYTES_MAX ((off_t)16 * 1024 * 1024)

/* Context of the child process that reads the file (base/timed_call.h). */
struct asking {
	const char *path; /* of the file */
	int into; /* descriptor to which its bytes are written */
};

static int copy_file(void *context)
{
	const struct asking *asking = context;
	AUTO_CLOSE int fd = open(asking->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	char block[4096];
	ssize_t length = 0;
	int r = fd < 0 ? -errno : 0;

	while (r == 0 && (length = read(fd, block, sizeof(block))) > 0)
		r = write_fully(asking->into, block, (size_t)length);
	return r == 0 && length < 0 ? -errno : r;
}

/* Appends the content of the file. */
static int ask(const char *path, struct bytes *answer)
{
	AUTO_CLOSE int memory = memfd_create("status", MFD_CLOEXEC);
	struct asking asking = {path, memory};
	off_t length;
	long got;
	int r;

	if (memory < 0)
		return -errno;
	r = call_with_timeout(copy_file, &asking, memory, TIMEOUT_MS);
	if (r < 0)
		return r;
	length = lseek(memory, 0, SEEK_END);
	if (length < 0 || length > STATUS_BYTES_MAX)
		return length < 0 ? -errno : -EPROTO;
	r = bytes_reserve(answer, (size_t)length);
	if (r < 0)
		return r;
	got = read_fully_at(memory, answer->data + answer->length, (unsigned long)length, 0);
	answer->length += got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

int status_file_read(const char *mount_point, json_t **status)
{
	CLEANUP_BYTES struct bytes path = {0};
	CLEANUP_BYTES struct bytes answer = {0};
	json_auto_t *value = NULL;
	int r = bytes_format(&path, "%s" STATUS_FILE, mount_point);

	if (r < 0 || !bytes_text(&path))
		return -ENOMEM;
	r = ask(bytes_text(&path), &answer);
	if (r < 0)
		return r;
	value = json_read((const char *)answer.data, answer.length, 0);
	if (!json_is_object(value))
		return -EPROTO;
	*status = TAKE(value);
	return 0;
}

uint64_t status_file_number(const json_t *status, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(status, key));

	return number > 0 ? (uint64_t)number : 0;
}

const char *status_file_text(const json_t *status, const char *key)
{
	const char *text = json_string_value(json_object_get(status, key));

	return text ? text : "unknown";
}

const json_t *status_file_source_with(const json_t *status, const char *key)
{
	const json_t *source = NULL, *list = json_object_get(status, "sources");
	size_t i;

	json_array_foreach(list, i, source)
	{
		if (json_object_get(source, key))
			return source;
	}
	return NULL;
}

void status_file_explain(const char *mount_point, int error)
{
	const char *point = quote_path(mount_point);

	switch (-error) {
	case ENOTCONN:
		log_error("cannot read the status of the view at %s: its daemon was killed; mount "
			  "the view again, or unmount it with 'twinfs unmount'",
			  point);
		break;
	case EACCES:
		log_error("cannot read the status of the view at %s: it belongs to another user; "
			  "run twinfs as that user",
			  point);
		break;
	case ETIMEDOUT:
		log_error("cannot read the status of the view at %s: it does not answer; check "
			  "whether its daemon is stopped",
			  point);
		break;
	case EPROTO:
		log_error("cannot read the status of the view at %s: unknown format; use the "
			  "twinfs version that mounted it",
			  point);
		break;
	default:
		log_error("cannot read the status of the view at %s: %s", point, error_text(error));
		break;
	}
}

int status_file_index(const char *mount_point, struct bytes *folder)
{
	json_auto_t *status = NULL;
	int r = status_file_read(mount_point, &status);

	if (r == 0)
		r = json_get_path(status, "index", folder);
	return r == 0 && !bytes_text(folder) ? -ENOMEM : r;
}
