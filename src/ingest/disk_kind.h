/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_KIND_H
#define INGEST_DISK_KIND_H

/* What kind of disk a file lies on, as the kernel tells it. Any thread; some files of /sys and
 * /proc are read for each question. */

#include "base/attributes.h"

enum disk_kind {
	DISK_UNKNOWN, /* no disk of this machine, or none that can be found */
	DISK_SOLID,
	DISK_ROTATING, /* so it says: virtual disks often do, and are not */
};

/* Where to ask, so that a test can answer. */
struct disk_kind_places {
	const char *sys; /* "/sys" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
};

/* The kind of the disk below the file system that fd, which may be O_PATH, is open on. Looks
 * through partitions, device mapper and RAID (the kernel tells for all of it at once), loop
 * devices over files, and file systems without a device of their own: btrfs (the disk that it was
 * mounted by), overlayfs (its upper layer, or else the highest lower one). */
enum disk_kind disk_kind(int fd);

/* The same, asking elsewhere. */
enum disk_kind disk_kind_by(const struct disk_kind_places *places, int fd);

#endif
