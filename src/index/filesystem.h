/* SPDX-License-Identifier: MIT */
#ifndef INDEX_FILESYSTEM_H
#define INDEX_FILESYSTEM_H

/* The catalog's numbers for file systems; see also catalog.h.
 *
 * st_dev depends on the order of mounting, and two btrfs subvolumes use the same inode numbers for
 * different files. So each record has the catalog's number for its file system. Each number belongs
 * to an identity. The identity consists of the UUID (FS_IOC_GETFSUUID, Linux 6.9) or the volume id
 * of FAT, and of f_fsid of statfs(2), which differs between btrfs subvolumes. This identity stays
 * the same after a remount. Two kinds of file systems can get another number after a remount:
 * images (squashfs, ISO), and those without a UUID whose f_fsid is missing or derived from st_dev.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "index/catalog.h"

struct catalog_writer;

/* FS_IOC_GETFSUUID of Linux 6.9, which older headers lack. */
struct fs_uuid {
	uint8_t length; /* of uuid, in bytes; 0: the kernel or the file system has none */
	uint8_t uuid[16];
};

/* Gets the UUID, or the volume id of FAT (FAT_IOCTL_GET_VOLUME_ID); length is 0 if both are
 * missing. If permitted, the object of an O_PATH descriptor is opened again for this. */
void filesystem_uuid(int fd, struct fs_uuid *uuid);

struct filesystem {
	uint64_t identity; /* hash of the identity */
	dev_t device; /* its present st_dev; 0: none, or not known to this process */
	/* As found with the device: files can share extents; st_blocks counts allocated blocks. */
	bool shares_extents, counts_blocks;
	bool has_ctime; /* a file was seen whose ctime is not its mtime */
};

struct filesystems {
	pthread_rwlock_t lock;
	struct filesystem *list; /* the number of a file system is its index in this list plus 1 */
	size_t count, capacity;
	size_t stored; /* number of file systems, from the first one, that the index on disk has */
	/* st_dev in the high half, number in the low half: the last pair that was found; 0: none.
	 * Written under the lock, read without it. */
	_Atomic uint64_t recent;
};

void filesystems_init(struct filesystems *filesystems);
void filesystems_deinit(struct filesystems *filesystems);

/* Loads the stored file systems into an empty struct. Returns 0 or -errno. */
MUST_CHECK int filesystems_load(struct filesystems *filesystems, struct catalog_reader *r);

/* Copies the file systems of another catalog, with their numbers, to an empty struct. Returns 0 or
 * -ENOMEM. */
MUST_CHECK int filesystems_copy(struct filesystems *filesystems, struct filesystems *from);

/* Writes new file systems at the end of each transaction. Sets *count, which the caller must pass
 * to filesystems_stored() after the commit. Returns 0 or -errno. */
MUST_CHECK int filesystems_store(struct filesystems *filesystems, struct catalog_writer *w,
				 size_t *count);
void filesystems_stored(struct filesystems *filesystems, size_t count);

/* Returns a hash that is the same for a file system on every machine and device. It is made from
 * the UUID, the volume id of FAT, or an f_fsid that is derived from a UUID. Returns 0 if the file
 * system has none of these. fd may be O_PATH. Any thread. */
uint64_t filesystem_lasting_identity(int fd);

/* Returns whether a regular file can have holes or share extents. True if the file system is not
 * known to this process. Any thread. */
bool filesystems_may_share(struct filesystems *filesystems, const struct attributes *attributes);

#endif
