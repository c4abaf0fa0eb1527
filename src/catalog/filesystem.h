/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_FILESYSTEM_H
#define CATALOG_FILESYSTEM_H

/* The catalog's numbers for file systems.
 *
 * st_dev changes with the order of mounting, and the same inode number means different files in
 * two btrfs subvolumes, so records hold a number of our own. It stands for an identity that
 * outlives a remount: UUID where the kernel tells it (FS_IOC_GETFSUUID, Linux 6.9), volume id of FAT,
 * and f_fsid of statfs(2), which for btrfs differs by subvolume; where there is neither, st_dev.
 */

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "catalog/writer.h"

/* FS_IOC_GETFSUUID of Linux 6.9, which older headers lack. */
struct fs_uuid {
	uint8_t length; /* 0: the kernel or the file system has none */
	uint8_t uuid[16];
};

/* The UUID, or the volume id of FAT (FAT_IOCTL_GET_VOLUME_ID). Also of an O_PATH descriptor, where it
 * may be opened again. */
void filesystem_uuid(int fd, struct fs_uuid *uuid);

struct filesystem {
	uint64_t identity; /* hash of the above */
	dev_t device; /* where it is mounted now, 0: not seen yet by this process */
};

struct filesystems {
	pthread_rwlock_t lock;
	struct filesystem *list; /* the number of a file system is its place in here, from 1 */
	size_t count, capacity;
	size_t stored;
};

void filesystems_init(struct filesystems *filesystems);
void filesystems_deinit(struct filesystems *filesystems);

MUST_CHECK int filesystems_load(struct filesystems *filesystems, struct catalog_reader *r);

/* Has a new, empty one know those of another catalog by the same numbers. */
MUST_CHECK int filesystems_copy(struct filesystems *filesystems, struct filesystems *from);

/* Writes those that are new, at the end of each transaction; *count of them are then written,
 * which filesystems_stored notes once it is committed. */
MUST_CHECK int filesystems_store(struct filesystems *filesystems, struct catalog_writer *w,
				 size_t *count);
void filesystems_stored(struct filesystems *filesystems, size_t count);

/* A hash by which a file system is known on every machine and device: of its UUID or the volume id of
 * FAT, or of an f_fsid that is made of a UUID. 0 where it has none of them. Of an O_PATH descriptor,
 * too. Any thread. */
uint64_t filesystem_lasting_identity(int fd);

/* The number for device, whose file system fd lies on. Any thread. */
MUST_CHECK int filesystems_number(struct filesystems *filesystems, int fd, dev_t device,
				  uint32_t *number);

#endif
