/* SPDX-License-Identifier: MIT */
#include "page/thumbnail.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifdef GDK_PIXBUF_KNOWN
#include <gdk-pixbuf/gdk-pixbuf.h>
#endif

#include "base/clock.h"
#include "base/confine.h"
#include "base/descriptor.h"
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

/* Returns the kind of picture by the first bytes of an open file, as gdk-pixbuf names it, or NULL.
 * Recognizes only kinds that gdk-pixbuf decodes itself or with widely installed loaders. */
static const char *find_kind(int fd)
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
	int r = catalog_read_begin(thumbnails->sources->catalog, &reader);

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

static bool run_decoder(int file, struct bytes *picture)
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

	if (file < 0 || thumbnails->spent_ms >= DECODING_ALL_MS || !find_kind(file))
		return 0;
	if (!run_decoder(file, picture) || !is_sound(picture))
		picture->length = 0;
	thumbnails->spent_ms += now_ms() - began;
	return 0;
}

/* ---- the decoder -------------------------------------------------------------------------- */

/* The process that decodes one picture, Only this process loads gdk-pixbuf.
 * No other process of twinfs has the code of the library, and twinfs runs without the library. */

#ifdef GDK_PIXBUF_KNOWN

/* Pixels of the longer side of a small picture. They are enough for screens with two device pixels
 * per CSS pixel. */
#define SIDE_PIXELS 192

/* A progressive JPEG of 50 megapixels takes 300 MB. */
#define MEMORY_BYTES (768UL << 20)
#define PROCESSOR_SECONDS 4
#define FILE_BYTES_MAX (128UL << 20)
#define BLOCK_BYTES (256UL << 10)

/* JPEG quality, sufficient at this size. */
#define QUALITY "78"

/* Functions of the library, called through pointers with the declared types. */
#define FUNCTIONS(use)                              \
	use(gdk_pixbuf_loader_new_with_type);       \
	use(gdk_pixbuf_loader_set_size);            \
	use(gdk_pixbuf_loader_write);               \
	use(gdk_pixbuf_loader_close);               \
	use(gdk_pixbuf_loader_get_pixbuf);          \
	use(gdk_pixbuf_apply_embedded_orientation); \
	use(gdk_pixbuf_get_has_alpha);              \
	use(gdk_pixbuf_save_to_buffer);             \
	use(g_signal_connect_data)

/* NOLINTNEXTLINE(bugprone-macro-parentheses): it is a declaration */
#define DECLARE(function) __typeof__(function) *(function##_)
struct library {
	FUNCTIONS(DECLARE);
};

static bool load(struct library *library)
{
	void *handle = dlopen("libgdk_pixbuf-2.0.so.0", RTLD_NOW | RTLD_GLOBAL);
	bool found = handle;

#define FIND(function)                                                    \
	do {                                                              \
		void *address = found ? dlsym(handle, #function) : NULL;  \
		found = address;                                          \
		memcpy(&library->function##_, &address, sizeof(address)); \
	} while (0)
	FUNCTIONS(FIND);
	return found;
}

/* ---- limits ------------------------------------------------------------------------------- */

static bool set_limit(int resource, rlim_t most)
{
	const struct rlimit limit = {most, most};

	return setrlimit((__rlimit_resource_t)resource, &limit) == 0;
}

static bool set_limits(void)
{
	bool set = set_limit(RLIMIT_CPU, PROCESSOR_SECONDS) && set_limit(RLIMIT_CORE, 0) &&
		   set_limit(RLIMIT_FSIZE, 0);

#ifndef TWINFS_INSTRUMENTED /* takes terabytes of addresses */
	set = set && set_limit(RLIMIT_AS, MEMORY_BYTES);
#endif
	return set;
}

/* Returns whether a confinement is in force or the kernel does not support it. Landlock is only a
 * second layer after seccomp. */
static bool is_confined_or_unsupported(int result)
{
	return result == 0 || result == -ENOSYS || result == -EOPNOTSUPP;
}

static bool drop_privileges(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return false;
	/* a precaution: all descriptors of twinfs are opened with O_CLOEXEC */
	if (close_range(STDERR_FILENO + 1, ~0U, 0) < 0 && errno != ENOSYS)
		return false;
	return set_limits() && confine_no_new_privileges() == 0 &&
	       is_confined_or_unsupported(confine_writing(NULL)) && confine_capabilities(0) == 0 &&
	       confine_to_computing() == 0;
}

/* ---- decoding ----------------------------------------------------------------------------- */

static void limit_size(GdkPixbufLoader *loader, int width, int height, void *context)
{
	const struct library *library = context;
	int longer = width > height ? width : height;

	if (longer <= SIDE_PIXELS)
		return;
	width = (int)((int64_t)width * SIDE_PIXELS / longer);
	height = (int)((int64_t)height * SIDE_PIXELS / longer);
	library->gdk_pixbuf_loader_set_size_(loader, width > 0 ? width : 1,
					     height > 0 ? height : 1);
}

static bool feed(const struct library *library, GdkPixbufLoader *loader)
{
	AUTO_FREE unsigned char *block = malloc(BLOCK_BYTES);
	unsigned long offset = 0;
	long length = block ? 1 : 0;

	while (length > 0 && offset < FILE_BYTES_MAX) {
		length = read_fully_at(STDIN_FILENO, block, BLOCK_BYTES, (off_t)offset);
		if (length > 0 &&
		    !library->gdk_pixbuf_loader_write_(loader, block, (size_t)length, NULL))
			return false;
		offset += length > 0 ? (unsigned long)length : 0;
	}
	return length == 0 && offset > 0;
}

static bool save(const struct library *library, GdkPixbuf *pixbuf)
{
	bool clear = library->gdk_pixbuf_get_has_alpha_(pixbuf);
	gsize length = 0;
	gchar *data = NULL;
	gboolean saved =
		clear ? library->gdk_pixbuf_save_to_buffer_(pixbuf, &data, &length, "png", NULL,
							    NULL)
		      : library->gdk_pixbuf_save_to_buffer_(pixbuf, &data, &length, "jpeg", NULL,
							    "quality", QUALITY, NULL);

	return saved && length <= PAGE_PICTURE_MAX && write_fully(STDOUT_FILENO, data, length) == 0;
}

/* Makes the loader for the kind of the file. Returns NULL if there is none. Making a loader loads
 * the module of its kind. After the confinement no module can be loaded, so loaders of the two
 * output kinds are made here as well. */
static GdkPixbufLoader *make_loader(struct library *library)
{
	const char *kind = find_kind(STDIN_FILENO);
	const char *const kinds[] = {"jpeg", "png", kind};
	GdkPixbufLoader *loader = NULL;

	for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
		loader = library->gdk_pixbuf_loader_new_with_type_(kinds[i], NULL);
	if (loader)
		library->g_signal_connect_data_(loader, "size-prepared", (GCallback)limit_size,
						library, NULL, (GConnectFlags)0);
	return loader;
}

static bool decode(const struct library *library, GdkPixbufLoader *loader)
{
	GdkPixbuf *pixbuf;

	if (!feed(library, loader) || !library->gdk_pixbuf_loader_close_(loader, NULL))
		return false;
	pixbuf = library->gdk_pixbuf_loader_get_pixbuf_(loader);
	pixbuf = pixbuf ? library->gdk_pixbuf_apply_embedded_orientation_(pixbuf) : NULL;
	return pixbuf && save(library, pixbuf);
}

/* Uses _exit(), because the confinement forbids system calls that sanitizers make at a normal
 * exit. */
enum twinfs_exit thumbnail_main(void)
{
	GdkPixbufLoader *loader = NULL;
	struct library library;

	if (load(&library))
		loader = make_loader(&library);
	_exit(loader && drop_privileges() && decode(&library, loader) ? 0 : 1);
}

#else

enum twinfs_exit thumbnail_main(void)
{
	return TWINFS_EXIT_FAILED;
}

#endif
