/* SPDX-License-Identifier: MIT */
#include "ingest/disk_kind.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/bytes.h"
#include "base/mountinfo.h"

/* Maximum number of layers, such as a loop device over a file on an overlay on a loop device. */
#define LAYERS_MAX 8

/* The next thing to examine: a device, or a mount to find. */
struct layer {
	dev_t device;
	uint64_t mount;
};

/* Reads the first line of a file that /sys has for a device. The caller frees *line. Returns false
 * if the file cannot be read. */
static bool read_line(const struct disk_kind_places *places, dev_t device, const char *name,
		      char **line)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_FCLOSE FILE *file = NULL;
	size_t capacity = 0;

	if (bytes_format(&path, "%s/dev/block/%u:%u/%s", places->sys, major(device), minor(device),
			 name) < 0 ||
	    !bytes_text(&path))
		return false;
	file = fopen(bytes_text(&path), "re");
	if (!file || getline(line, &capacity, file) < 0)
		return false;
	(*line)[strcspn(*line, "\n")] = '\0';
	return true;
}

static bool examine(struct layer *layer, int fd)
{
	struct statx status;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
		return false;
	layer->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	layer->mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
	return true;
}

static bool examine_path(struct layer *layer, const char *path)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	if (!S_ISBLK(status.st_mode))
		return examine(layer, fd);
	*layer = (struct layer){.device = status.st_rdev};
	return true;
}

/* ---- devices ------------------------------------------------------------------------- */

/* Outcome: the next layer below decides. */
enum {
	DEVICE_BELOW = -1
};

static int kind_of_device(const struct disk_kind_places *places, struct layer *layer)
{
	AUTO_FREE char *rotating = NULL, *below = NULL;

	/* A partition has no queue. The parent directory belongs to the disk of the partition. */
	if (!read_line(places, layer->device, "queue/rotational", &rotating) &&
	    !read_line(places, layer->device, "../queue/rotational", &rotating))
		return DISK_UNKNOWN;
	if (strcmp(rotating, "1") == 0)
		return DISK_ROTATING;
	/* A loop device has the value of the disk below its backing file. It has no such value if
	 * the file system of that file has no device. */
	if (read_line(places, layer->device, "loop/backing_file", &below) &&
	    examine_path(layer, below))
		return DEVICE_BELOW;
	return DISK_SOLID;
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

/* Finds the device or file below a mount. type, source and options are the fields of mountinfo
 * after " - ". */
static bool find_below(struct layer *layer, char *type, char *source, const char *options)
{
	AUTO_FREE char *path = NULL;

	if (strcmp(type, "overlay") == 0) {
		path = option_value(options, "upperdir", ",");
		if (!path)
			path = option_value(options, "lowerdir", ",:");
	} else {
		path = strdup(source);
	}
	if (!path)
		return false;
	mountinfo_decode(path);
	return path[0] == '/' && examine_path(layer, path);
}

/* Parses a line of mountinfo. Returns true if the line is the mount of the layer. Then sets *found
 * to whether the layer below the mount was found. */
static bool is_mount(char *line, struct layer *layer, bool *found)
{
	char *at = strstr(line, " - "), *rest = NULL;
	char *type, *source, *options;

	if (!at || strtoull(line, NULL, 10) != layer->mount)
		return false;
	type = strtok_r(at + 3, " \n", &rest);
	source = strtok_r(NULL, " \n", &rest);
	options = strtok_r(NULL, " \n", &rest);
	*found = type && source && options && find_below(layer, type, source, options);
	return true;
}

static bool find_below_mount(const struct disk_kind_places *places, struct layer *layer)
{
	AUTO_FCLOSE FILE *file = fopen(places->mountinfo, "re");
	AUTO_FREE char *line = NULL;
	size_t capacity = 0;
	bool found = false;

	while (file && layer->mount && getline(&line, &capacity, file) >= 0) {
		if (is_mount(line, layer, &found))
			break;
	}
	return found;
}

/* ---- all ------------------------------------------------------------------------------ */

enum disk_kind disk_kind_by(const struct disk_kind_places *places, int fd)
{
	struct layer layer;
	int kind = DEVICE_BELOW;

	if (!examine(&layer, fd))
		return DISK_UNKNOWN;
	for (int i = 0; kind == DEVICE_BELOW && i < LAYERS_MAX; i++) {
		if (major(layer.device) != 0)
			kind = kind_of_device(places, &layer);
		else if (!find_below_mount(places, &layer))
			kind = DISK_UNKNOWN;
	}
	return kind == DEVICE_BELOW ? DISK_UNKNOWN : (enum disk_kind)kind;
}

enum disk_kind disk_kind(int fd)
{
	static const struct disk_kind_places places = {"/sys", "/proc/self/mountinfo"};

	return disk_kind_by(&places, fd);
}
