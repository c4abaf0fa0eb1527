/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DEVICE_H
#define INGEST_DEVICE_H

/* What kind of disk a file lies on, as the kernel tells it. Any thread; some files of /sys and
 * /proc are read for each question. */

#include "base/attributes.h"

enum device_kind {
	DEVICE_UNKNOWN, /* no disk of this machine, or none that can be found */
	DEVICE_SOLID,
	DEVICE_ROTATING, /* so it says: virtual disks often do, and are not */
};

/* Where to ask, so that a test can answer. */
struct device_places {
	const char *sys; /* "/sys" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
};

/* The kind of the disk below the file system that fd, which may be O_PATH, is open on. Looks
 * through partitions, device mapper and RAID (the kernel tells for all of it at once), loop
 * devices over files, and file systems without a device of their own: btrfs (the disk that it was
 * mounted by), overlayfs (its upper layer, or else the highest lower one). */
enum device_kind device_kind(int fd);

/* The same, asking elsewhere. */
enum device_kind device_kind_by(const struct device_places *places, int fd);

#endif
