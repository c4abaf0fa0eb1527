/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_KIND_H
#define INGEST_DISK_KIND_H

/* The kind of disk that holds a file, as the kernel reports it. Any thread. Each call reads files
 * of /sys and /proc. */

enum disk_kind {
	DISK_UNKNOWN, /* not a local disk, or not found */
	DISK_SOLID,
	DISK_ROTATING, /* as reported: virtual disks often report this wrongly */
};

struct storage_places;

/* Returns the kind of the disk below the file system of fd, which may be O_PATH. Finds the disk of
 * a partition and the disk below a loop device. For device mapper and RAID, the kernel reports one
 * value for the whole stack. For btrfs, the device that was mounted decides. For overlayfs, the
 * upper layer decides, or the highest lower layer if there is no upper one. */
enum disk_kind disk_kind(int fd);

/* As disk_kind(), with other paths. */
enum disk_kind disk_kind_by(const struct storage_places *places, int fd);

#endif
