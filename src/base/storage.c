/* SPDX-License-Identifier: MIT */
#include "base/storage.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/mountinfo.h"

const struct storage_places storage_places = {"/sys", "/proc/self/mountinfo"};

bool storage_of(int fd, struct storage *layer)
{
	struct statx status;
	struct statfs fs;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
		return false;
	layer->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	layer->mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
	layer->type = fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
	return true;
}

/* Nothing is stored in other special files. A FUSE file system without a name of its own has the
 * source /dev/fuse, which lies in memory. */
static bool storage_of_path(const char *path, struct storage *layer)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
		return storage_of(fd, layer);
	if (S_ISBLK(status.st_mode))
		*layer = (struct storage){.device = status.st_rdev};
	return S_ISBLK(status.st_mode);
}

/* ---- devices ------------------------------------------------------------------------- */

static int path_of_device(const struct storage_places *places, dev_t device, const char *name,
			  struct bytes *path)
{
	int r = bytes_format(path, "%s/dev/block/%u:%u/%s", places->sys, major(device),
			     minor(device), name);

	return r == 0 && !bytes_text(path) ? -ENOMEM : r;
}

bool storage_read_line(const struct storage_places *places, dev_t device, const char *name,
		       char **line)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_FCLOSE FILE *file = NULL;
	size_t capacity = 0;

	if (path_of_device(places, device, name, &path) < 0)
		return false;
	file = fopen(bytes_text(&path), "re");
	if (!file || getline(line, &capacity, file) < 0)
		return false;
	(*line)[strcspn(*line, "\n")] = '\0';
	return true;
}

/* Sets the layer to the file of a loop device, or to the folder of a file that was removed. */
static bool descend_loop(const struct storage_places *places, struct storage *layer)
{
	static const char removed[] = " (deleted)"; /* written by the kernel */
	AUTO_FREE char *path = NULL;
	size_t length;

	/* The parent directory belongs to the device of a partition. */
	if (!storage_read_line(places, layer->device, "loop/backing_file", &path) &&
	    !storage_read_line(places, layer->device, "../loop/backing_file", &path))
		return false;
	if (storage_of_path(path, layer))
		return true;
	length = strlen(path);
	if (length < sizeof(removed) || strcmp(path + length - strlen(removed), removed) != 0)
		return false;
	while (length > 1 && path[length - 1] != '/')
		length--;
	path[length] = '\0';
	return storage_of_path(path, layer);
}

/* Sets the layer to the first device below one of device mapper or of a RAID. */
static bool descend_mapped(const struct storage_places *places, struct storage *layer)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_CLOSEDIR DIR *devices = NULL;
	const struct dirent *entry;

	if (path_of_device(places, layer->device, "slaves", &path) < 0)
		return false;
	devices = opendir(bytes_text(&path));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (devices && (entry = readdir(devices))) {
		AUTO_FREE char *number = NULL;
		char name[sizeof("slaves//dev") + sizeof(entry->d_name)];
		unsigned int first, second;

		(void)snprintf(name, sizeof(name), "slaves/%s/dev", entry->d_name);
		if (entry->d_name[0] == '.' ||
		    !storage_read_line(places, layer->device, name, &number) ||
		    sscanf(number, "%u:%u", &first, &second) != 2)
			continue;
		*layer = (struct storage){.device = makedev(first, second)};
		return true;
	}
	return false;
}

/* ---- file systems without a device ---------------------------------------------------- */

/* Returns a copy of the value of name=value in a list of options, up to the first character that is
 * in ends. Returns NULL if the option is missing or memory ran out. The caller frees the copy. */
static char *option_value(const char *list, const char *name, const char *ends)
{
	size_t length = strlen(name);
	const char *at = list;

	while (at && !(strncmp(at, name, length) == 0 && at[length] == '=')) {
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return at ? strndup(at + length + 1, strcspn(at + length + 1, ends)) : NULL;
}

static bool descend_mount(const struct storage_places *places, struct storage *layer)
{
	CLEANUP_MOUNTINFO struct mountinfo mount = {0};
	AUTO_FREE char *path = NULL;

	if (layer->mount == 0 || mountinfo_find(&mount, places->mountinfo, layer->mount) < 0)
		return false;
	if (strcmp(mount.type, "overlay") != 0)
		return mount.source[0] == '/' && storage_of_path(mount.source, layer);
	path = option_value(mount.options, "upperdir", ",");
	if (!path)
		path = option_value(mount.options, "lowerdir", ",:");
	if (!path)
		return false;
	mountinfo_decode(path);
	return path[0] == '/' && storage_of_path(path, layer);
}

bool storage_descend(const struct storage_places *places, struct storage *layer)
{
	if (major(layer->device) == 0)
		return descend_mount(places, layer);
	return descend_loop(places, layer) || descend_mapped(places, layer);
}
