/* SPDX-License-Identifier: MIT */
#include "scan/status_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <jansson.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/timed_call.h"
#include "row/json_path.h"
#include "row/json_text.h"

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

/* Why a status cannot be read, and the remedy. Returns the text of any other error itself. */
static const char *explain(int error)
{
	switch (-error) {
	case ENOTCONN:
		return "its daemon was killed; mount the view again, or unmount it with 'twinfs "
		       "unmount'";
	case EACCES:
		return "it belongs to another user; run twinfs as that user";
	case ETIMEDOUT:
		return "it does not answer; check whether its daemon is stopped";
	case EPROTO:
		return "unknown format; use the twinfs version that mounted it";
	default:
		return error_text(error);
	}
}

void status_file_explain(const char *mount_point, int error)
{
	log_error("cannot read the status of the view at %s: %s", quote_path(mount_point),
		  explain(error));
}

int status_file_index(const char *mount_point, struct bytes *folder)
{
	json_auto_t *status = NULL;
	int r = status_file_read(mount_point, &status);

	if (r == 0)
		r = json_get_path(status, "index", folder);
	return r == 0 && !bytes_text(folder) ? -ENOMEM : r;
}

/* ---- waiting for a view ------------------------------------------------------------- */

/* Interval at which the daemon is asked whether it still answers. */
#define CHECK_MS 2000

struct syncing {
	const char *mount_point;
	const char *path; /* of the file */
};

static int read_file(void *context)
{
	const struct syncing *syncing = context;
	AUTO_CLOSE int fd = open(syncing->path, O_RDONLY | O_CLOEXEC);
	char generation[32];

	return fd < 0 || read(fd, generation, sizeof(generation)) < 0 ? -errno : 0;
}

/* Returns -ETIMEDOUT if the daemon does not answer. After any other failure, the read will fail. */
static int check_answer(void *context)
{
	const struct syncing *syncing = context;
	json_auto_t *status = NULL;

	return status_file_read(syncing->mount_point, &status) == -ETIMEDOUT ? -ETIMEDOUT : 0;
}

static int read_control(const char *mount_point, const char *name)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct syncing syncing = {.mount_point = mount_point};
	int r = bytes_format(&path, "%s/.twinfs/%s", mount_point, name);

	syncing.path = r < 0 ? NULL : bytes_text(&path);
	if (!syncing.path)
		return -ENOMEM;
	return call_while(read_file, check_answer, &syncing, CHECK_MS);
}

int view_sync(const char *mount_point)
{
	return read_control(mount_point, "sync");
}

int view_remap(const char *mount_point)
{
	return read_control(mount_point, "remap");
}

/* ---- sentences for people ----------------------------------------------------------- */

/* Returns what a view does whose files are all compared. */
static const char *watching_words(const json_t *status)
{
	if (json_has_text(status, "watch", "none"))
		return "up to date as of the last walk; changes are not watched";
	if (json_has_text(status, "watch", "poll"))
		return "up to date; walking the sources for changes at intervals";
	return "up to date; watching the sources for changes";
}

/* Appends the progress of the first comparison. */
static int append_scanning(const json_t *status, struct bytes *text)
{
	int r = bytes_format(text, "scanning: %" PRIu64 " %% done",
			     status_file_number(status, "percent"));

	if (r < 0 || !json_object_get(status, "seconds_left"))
		return r;
	r = bytes_append_text(text, ", ");
	if (r == 0)
		r = progress_append_left(text, status_file_number(status, "seconds_left"));
	return r < 0 ? r : bytes_append_text(text, " left");
}

/* Appends which source does not answer; the first one, if there are several. */
static int append_silent(const json_t *status, struct bytes *text)
{
	const json_t *source = status_file_source_with(status, "silent_since");
	CLEANUP_BYTES struct bytes path = {0};
	int r = json_get_path(source, "path", &path);

	return r < 0 ? r
		     : bytes_format(text,
				    "source silent: the file system of %s does not answer, "
				    "since %s",
				    quote_bytes((const char *)path.data, path.length),
				    status_file_text(source, "silent_since"));
}

int status_words_state(const json_t *status, struct bytes *text)
{
	if (json_has_text(status, "state", "stuck"))
		return bytes_format(text, "stuck: cannot bring the index up to date: %s",
				    status_file_text(status, "problem"));
	if (json_has_text(status, "state", "source-missing"))
		return bytes_append_text(text, "source missing: its files cannot be read");
	if (json_has_text(status, "state", "source-silent"))
		return append_silent(status, text);
	if (json_has_text(status, "state", "current"))
		return bytes_append_text(text, watching_words(status));
	if (json_object_get(status, "percent"))
		return append_scanning(status, text);
	return bytes_append_text(text, json_has_text(status, "state", "comparing")
					       ? "comparing new and changed files"
					       : "scanning: reading names");
}

const char *status_words_stuck_remedy(const json_t *status)
{
	return json_has_text(status, "problem", error_text(ENOENT))
		       ? "unmount the view and mount it again, as its index was deleted:"
		       : "free space on the disk of the index:";
}

int status_words_watch_remedy(const json_t *status, bool verbose, struct bytes *text)
{
	/* only root can set a limit of the kernel, and only root uses fanotify */
	bool own = geteuid() == 0 || json_has_text(status, "watch", "fanotify");

	if (!own && !verbose)
		return 0;
	return bytes_format(text, "%s%s", own ? "" : "ask the administrator: ",
			    status_file_text(status, "remedy"));
}
