/* SPDX-License-Identifier: MIT */
#include "ingest/disk_kind.h"

#include <stdbool.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/attributes.h"
#include "base/storage.h"

/* Outcome: the next layer below decides. */
enum {
	DEVICE_BELOW = -1
};

static int kind_of_device(const struct storage_places *places, struct storage *layer)
{
	AUTO_FREE char *rotating = NULL, *file = NULL;

	/* A partition has no queue. The parent directory belongs to the disk of the partition. */
	if (!storage_read_line(places, layer->device, "queue/rotational", &rotating) &&
	    !storage_read_line(places, layer->device, "../queue/rotational", &rotating))
		return DISK_UNKNOWN;
	if (strcmp(rotating, "1") == 0)
		return DISK_ROTATING;
	/* A loop device has the value of the disk below its backing file. It has no such value if
	 * the file system of that file has no device. */
	if (storage_read_line(places, layer->device, "loop/backing_file", &file) &&
	    storage_descend(places, layer))
		return DEVICE_BELOW;
	return DISK_SOLID;
}

enum disk_kind disk_kind_by(const struct storage_places *places, int fd)
{
	struct storage layer;
	int kind = DEVICE_BELOW;

	if (!storage_of(fd, &layer))
		return DISK_UNKNOWN;
	for (int i = 0; kind == DEVICE_BELOW && i < STORAGE_LAYERS_MAX; i++) {
		if (major(layer.device) != 0)
			kind = kind_of_device(places, &layer);
		else if (!storage_descend(places, &layer))
			kind = DISK_UNKNOWN;
	}
	return kind == DEVICE_BELOW ? DISK_UNKNOWN : (enum disk_kind)kind;
}

enum disk_kind disk_kind(int fd)
{
	return disk_kind_by(&storage_places, fd);
}
