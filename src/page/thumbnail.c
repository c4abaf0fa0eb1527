/* SPDX-License-Identifier: MIT */
#include "page/thumbnail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "index/query.h"
#include "index/source.h"
#include "page/page.h"

/* Limit for decoding one picture. This limit ends a decoder that waits; the decoder limits its own
 * processor time. */
#define DECODING_MS 5000

/* Limit for all pictures of a page. Further files have no picture. */
#define DECODING_ALL_MS 20000

/* Bytes that identify the kind of a picture. A file with fewer is no picture. */
#define MAGIC_BYTES 12

static uint64_t now_ms(void)
{
	return clock_monotonic_ns() / MS_NS;
}

/* ---- which files -------------------------------------------------------------------------- */

static bool begins_as(const unsigned char *magic, const char *with, size_t length)
{
	return memcmp(magic, with, length) == 0;
}

/* Recognizes only kinds that gdk-pixbuf decodes itself or with widely installed loaders. */
const char *thumbnail_kind(int fd)
{
	unsigned char magic[MAGIC_BYTES];

	if (pread(fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic))
		return NULL;
	if (begins_as(magic, "\xff\xd8\xff", 3))
		return "jpeg";
	if (begins_as(magic, "\x89PNG\r\n\x1a\n", 8))
		return "png";
	if (begins_as(magic, "GIF8", 4))
		return "gif";
	return begins_as(magic, "RIFF", 4) && begins_as(magic + 8, "WEBP", 4) ? "webp" : NULL;
}

static int open_file(const struct thumbnails *thumbnails, uint64_t id)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file;
	int r = catalog_read_begin(thumbnails->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, &file);
	if (r == 0 && !S_ISREG(file.attributes.mode))
		r = -EINVAL;
	return r < 0 ? r : source_open_file(thumbnails->sources, reader, &file, 0);
}

/* ---- the process -------------------------------------------------------------------------- */

static int start(int file, int to, pid_t *pid)
{
	static char name[] = THUMBNAIL_PROGRAM;
	char *const arguments[] = {name, NULL};
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	if (r == 0) /* libraries write warnings about the contents of the file */
		r = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
						     0);
	if (r == 0)
		r = posix_spawn(pid, "/proc/self/exe", &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* Reads the picture. Returns false after a timeout, on an error, or if the picture has too many
 * bytes. */
static bool read_picture(int from, struct bytes *picture)
{
	uint64_t end = now_ms() + DECODING_MS;

	for (;;) {
		struct pollfd waited = {.fd = from, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t length;

		if (now >= end || picture->length > PAGE_PICTURE_MAX)
			return false;
		if (poll(&waited, 1, (int)(end - now)) < 0)
			return false; /* interrupted by a signal that requests a stop */
		if (waited.revents == 0)
			continue;
		if (bytes_reserve(picture, PAGE_PICTURE_MAX) < 0)
			return false;
		length = read(from, picture->data + picture->length, PAGE_PICTURE_MAX);
		if (length <= 0)
			return length == 0 && picture->length > 0;
		picture->length += (size_t)length;
	}
}

/* Returns whether the bytes begin as JPEG or PNG. The decoder can be compromised, so any other
 * output is discarded. */
static bool is_sound(const struct bytes *picture)
{
	if (picture->length < MAGIC_BYTES || picture->length > PAGE_PICTURE_MAX)
		return false;
	return begins_as(picture->data, "\xff\xd8\xff", 3) ||
	       begins_as(picture->data, "\x89PNG\r\n\x1a\n", 8);
}

static bool decode(int file, struct bytes *picture)
{
	AUTO_CLOSE int from = -1;
	int ends[2];
	int status = -1;
	bool whole;
	pid_t pid = 0;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	from = ends[0];
	r = start(file, ends[1], &pid);
	(void)close(ends[1]);
	if (r < 0) {
		log_debug("cannot start a process for a picture: %s", error_text(r));
		return false;
	}
	whole = read_picture(from, picture);
	/* a sound decoder closes the pipe only by its exit, so a process that still runs is
	 * untrusted; the signal does not change the status of a process that has exited */
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return whole && status == 0;
}

int thumbnail_make(void *context, uint64_t id, struct bytes *picture)
{
	struct thumbnails *thumbnails = context;
	AUTO_CLOSE int file = open_file(thumbnails, id);
	uint64_t began = now_ms();

	if (file < 0 || thumbnails->spent_ms >= DECODING_ALL_MS || !thumbnail_kind(file))
		return 0;
	if (!decode(file, picture) || !is_sound(picture))
		picture->length = 0;
	thumbnails->spent_ms += now_ms() - began;
	return 0;
}
