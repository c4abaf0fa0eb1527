/* SPDX-License-Identifier: MIT */
#include "elsewhere/shown_again.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/filesystem_kind.h"

/* Another program can open the watched file at the same moment, but hardly at each attempt. */
#define ATTEMPTS 3

/* A file and where it is. */
struct shown_place {
	int fd; /* O_PATH */
	dev_t device;
	bool is_served; /* not surely on a file system of this host */
};

static int open_root(void)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : root;
}

/* Opens a file by its absolute path, which can be longer than PATH_MAX. Returns a descriptor or
 * -errno. */
static int open_absolute(const char *path, bool for_reading)
{
	AUTO_CLOSE int root = open_root();

	if (root < 0)
		return root;
	path += strspn(path, "/");
	return for_reading ? open_beneath_for_reading(root, path, 0, true)
			   : open_beneath(root, path, O_PATH, true);
}

static bool is_served(struct shown_again *shown_again, int fd, dev_t device)
{
	size_t at = device % SHOWN_AGAIN_DEVICES;

	if (shown_again->devices[at].device != device) {
		shown_again->devices[at].device = device;
		shown_again->devices[at].is_served = !filesystem_is_of_this_host(fd);
	}
	return shown_again->devices[at].is_served;
}

/* Returns 0 or -errno. The caller must close place->fd if it is not negative. */
static int find_place(struct shown_again *shown_again, const char *path, struct shown_place *place)
{
	struct stat status;

	*place = (struct shown_place){.fd = open_absolute(path, false)};
	if (place->fd < 0)
		return place->fd;
	if (fstat(place->fd, &status) < 0)
		return -errno;
	place->device = status.st_dev;
	place->is_served = is_served(shown_again, place->fd, status.st_dev);
	return 0;
}

bool shown_again_is_possible(const char *path)
{
	AUTO_CLOSE int fd = open_absolute(path, false);

	return fd < 0 || !filesystem_is_of_this_host(fd);
}

void shown_again_init(struct shown_again *shown_again)
{
	*shown_again = (struct shown_again){.local = OPENING_WATCH_CLOSED};
}

void shown_again_deinit(struct shown_again *shown_again)
{
	if (shown_again->local.fd != 0)
		opening_watch_close(&shown_again->local);
	text_list_free(&shown_again->served);
}

static int begin(void *context)
{
	struct shown_again *shown_again = context;

	if (!shown_again->is_used)
		return 1;
	opening_watch_clear(&shown_again->local);
	text_list_free(&shown_again->served);
	shown_again->several_devices = false;
	shown_again->is_untrusted = false;
	return 0;
}

static int add_served(struct shown_again *shown_again, const char *path, dev_t device)
{
	if (shown_again->served.count > 0 && device != shown_again->served_device)
		shown_again->several_devices = true;
	shown_again->served_device = device;
	return text_list_add(&shown_again->served, path, strlen(path));
}

static int add(void *context, const char *path)
{
	struct shown_again *shown_again = context;
	struct shown_place place;
	int r = find_place(shown_again, path, &place);
	AUTO_CLOSE int fd = place.fd;

	if (r == 0 && place.is_served)
		return add_served(shown_again, path, place.device);
	if (r == 0)
		r = opening_watch_add(&shown_again->local, fd);
	if (r < 0)
		shown_again->is_untrusted = true;
	return r == -ENOMEM ? r : 0;
}

/* Opens the file and reads a byte of it, by its server and not from the page cache: a server such
 * as rclone opens its file only then, and one of NFS reports only the read. Returns 0 or -errno. */
static int read_through(const char *path)
{
	AUTO_CLOSE int fd = open_absolute(path, true);
	char byte;

	if (fd < 0)
		return fd;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return pread(fd, &byte, 1, 0) < 0 ? -errno : 0;
}

/* Returns whether reading the file opens a watched one, or that cannot be found. */
static bool opens_watched(struct opening_watch *watch, const char *path)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		(void)opening_watch_take(watch);
		if (read_through(path) < 0)
			return true;
		if (!opening_watch_take(watch))
			return false;
	}
	return true;
}

/* Returns 1 if no served file is the same as a local one, 0 or -errno. */
static int is_none_served(const struct shown_again *shown_again, int fd)
{
	struct opening_watch watch = OPENING_WATCH_CLOSED;
	int r = opening_watch_add(&watch, fd);
	bool is_same = r < 0;

	for (size_t i = 0; !is_same && i < shown_again->served.count; i++)
		is_same = opens_watched(&watch, shown_again->served.items[i]);
	opening_watch_close(&watch);
	return r == -ENOMEM ? r : !is_same;
}

/* Two files of one mounted file system are two files. If two file systems are both served, the
 * files of both can be on one other host. */
static int is_other(void *context, const char *path)
{
	struct shown_again *shown_again = context;
	bool has_served = shown_again->served.count > 0;
	struct shown_place place;
	int r = find_place(shown_again, path, &place);
	AUTO_CLOSE int fd = place.fd;

	if (r < 0 || shown_again->is_untrusted)
		return r == -ENOMEM ? r : 0;
	if (!place.is_served)
		return has_served ? is_none_served(shown_again, fd) : 1;
	if (has_served &&
	    (shown_again->several_devices || shown_again->served_device != place.device))
		return 0;
	return shown_again->local.count == 0 || !opens_watched(&shown_again->local, path);
}

struct missing_proof shown_again_proof(struct shown_again *shown_again)
{
	return (struct missing_proof){begin, add, is_other, shown_again};
}
