/* SPDX-License-Identifier: MIT */
#include "partial/volumes.h"

#include <errno.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/array.h"
#include "base/dedupe_range.h"
#include "base/extents.h"
#include "base/filesystem_kind.h"

void volumes_free(struct volumes *volumes)
{
	free(volumes->list);
	*volumes = (struct volumes){0};
}

/* Returns whether btrfs stores no checksums of the file, and overwrites its blocks in place. */
static bool is_in_place(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_NOCOW_FL;
}

/* Sets the identity: the disk, and on btrfs whether the file has checksums. */
static int identify(int fd, uint8_t id[static VOLUME_ID_BYTES])
{
	struct extent_disk disk;
	int r = extents_find_disk(fd, &disk);

	memset(id, 0, VOLUME_ID_BYTES);
	_Static_assert(sizeof(disk.id) < VOLUME_ID_BYTES, "room for the flag");
	if (r < 0)
		return r;
	memcpy(id, disk.id, sizeof(disk.id));
	if (filesystem_has_subvolumes_at(fd))
		id[sizeof(disk.id)] = is_in_place(fd) ? 2 : 1;
	return 0;
}

long volumes_find(struct volumes *volumes, int fd)
{
	const struct dedupe_range empty = {.source = fd, .destination = fd};
	struct volume volume = {.reported = false};
	int r = identify(fd, volume.id);

	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->count; i++) {
		if (memcmp(volumes->list[i].id, volume.id, VOLUME_ID_BYTES) == 0)
			return (long)i;
	}
	r = array_reserve(&volumes->list, &volumes->capacity, volumes->count + 1,
			  sizeof(*volumes->list));
	if (r < 0)
		return r;
	volume.can_share = !dedupe_range_is_unsupported(fd, dedupe_range(&empty));
	volumes->list[volumes->count] = volume;
	return (long)volumes->count++;
}
