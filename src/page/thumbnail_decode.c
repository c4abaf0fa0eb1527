/* SPDX-License-Identifier: MIT */

/* The process that decodes one picture, see page/thumbnail.h. Only this process loads gdk-pixbuf.
 * No other process of twinfs has the code of the library, and twinfs runs without the library. */

#include "page/thumbnail.h"

#ifdef GDK_PIXBUF_KNOWN

#include <dlfcn.h>
#include <errno.h>
#include <gdk-pixbuf/gdk-pixbuf.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/confine.h"
#include "base/descriptor.h"
#include "page/page.h"

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
	const char *kind = thumbnail_kind(STDIN_FILENO);
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
