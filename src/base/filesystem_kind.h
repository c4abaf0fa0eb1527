/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILESYSTEM_KIND_H
#define BASE_FILESYSTEM_KIND_H

/* What may be expected of a file system of some type. Any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum filesystem_kind {
	/* Nothing is known of it: its time stamps may be of seconds, as those of FAT are. */
	FILESYSTEM_UNKNOWN,
	/* Local, with time stamps as fine as the kernel makes them; or read-only. Those of ext2 to
	 * ext4 are of seconds where inodes have 128 bytes, which the type does not tell. */
	FILESYSTEM_FINE,
	/* Shared with other hosts or served by a program (NFS, CIFS, 9p, FUSE, Ceph, AFS ...): its
	 * locks and shared maps are not those of a local one, and others change it unseen. */
	FILESYSTEM_REMOTE,
};

/* f_type of statfs(2), of what fd lies on; 0, which no file system has, where that fails. */
uint32_t filesystem_type_at(int fd);

/* type: f_type of statfs(2) */
enum filesystem_kind filesystem_kind_of(uint32_t type);

/* Is such a file system made as a whole, and then only read? All that a signature has of a file may
 * then be as it was in an earlier image, with other bytes: who makes images that are the same each
 * time sets all times to one. */
bool filesystem_is_image(uint32_t type);

/* Does a lease (F_SETLEASE of fcntl(2)) on a file there tell of everybody who writes to it? The
 * kernel gives them on FUSE and others, too, and knows nothing of who writes at another host, or
 * past the program that serves it; but one that serves a disk of its own is alone there.
 *
 * type		f_type of statfs(2)
 * device	st_dev of the file */
bool filesystem_leases_tell(uint32_t type, dev_t device);

/* Does ctime move before a byte of a file changes, also by a store to a shared mapping? The store must
 * fault for that: the file system has a page_mkwrite that calls file_update_time(), and write-back
 * protects clean pages again. tmpfs and ramfs map pages writable at a read fault and never protect
 * them. overlayfs has the times of its layers, which statfs(2) does not tell. On a file system that
 * is not listed, assume that times do not tell.
 *
 * type: f_type of statfs(2) */
bool filesystem_times_tell(uint32_t type);

/* Can a file there get other bytes while its times stay as they are for good? So it is in memory, and
 * where a layer of another file system is. Elsewhere the times move at the latest when the store is
 * written to the disk or to another host.
 *
 * type: f_type of statfs(2) */
bool filesystem_may_hide_stores(uint32_t type);

/* The same of one regular file, open for reading: asks which kind its layer is. */
bool filesystem_hides_stores_at(int fd);

/* Does such a file system show files of other ones, so that a removed file may stay in one of these?
 * Neither statfs(2) nor stat(2) tells in which layer a file is.
 *
 * type: f_type of statfs(2) */
bool filesystem_has_layers(uint32_t type);

/* The same for the file system of fd; false where statfs(2) fails. */
bool filesystem_has_layers_at(int fd);

/* Of what fd lies on; unknown also where statfs(2) fails. */
enum filesystem_kind filesystem_kind_at(int fd);

static inline bool is_remote_filesystem(int fd)
{
	return filesystem_kind_at(fd) == FILESYSTEM_REMOTE;
}

#endif
