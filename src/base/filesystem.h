/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILESYSTEM_H
#define BASE_FILESYSTEM_H

/* What types of file systems promise: one row for each type, and the questions that the rows
 * answer. A type is f_type of statfs(2). A promise that a row neither keeps nor lacks is unknown.
 * An unknown promise counts as absent until twinfs has observed it. Any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum filesystem_promise {
	/* Each change of a file sets its ctime to the time of the change. No program can choose the
	 * ctime, and the file system stores it. */
	PROMISE_CTIME = 1 << 0,
	/* The ctime changes before a byte of a file does, also for a store to a shared mapping. For
	 * that, the store must fault: the file system has a page_mkwrite that calls
	 * file_update_time(), and write-back protects clean pages again. */
	PROMISE_STORES = 1 << 1,
	/* Times have the resolution of the kernel. */
	PROMISE_FINE_TIMES = 1 << 2,
	/* inotify reports every change: no other host, and no program behind a mount, writes. */
	PROMISE_EVENTS = 1 << 3,
	/* A lease (F_SETLEASE of fcntl(2)) detects every writer. The kernel grants leases even
	 * where writers on other hosts, or behind the serving program, break none. */
	PROMISE_LEASES = 1 << 4,
	/* renameat2(2) accepts these flags. */
	PROMISE_NOREPLACE = 1 << 5,
	PROMISE_EXCHANGE = 1 << 6,
	/* fsync(2) of a folder makes the names in it durable. */
	PROMISE_FOLDER_SYNC = 1 << 7,
	/* statx(2) gives a birth time of each file. */
	PROMISE_BIRTH_TIMES = 1 << 8,
	/* A file has the same inode number after it was evicted from memory, and after a remount.
	 */
	PROMISE_INODES = 1 << 9,
	/* Files can share extents (FICLONE of ioctl_ficlone(2)). */
	PROMISE_EXTENTS = 1 << 10,
	/* Files can have holes. */
	PROMISE_HOLES = 1 << 11,
	/* st_blocks has all bytes of a file that have or will have blocks, as soon as they are
	 * written. Others count blocks when they reach the disk (ZFS), or not at all (some of
	 * FUSE). */
	PROMISE_BLOCKS = 1 << 12,
	/* A file can have several names, and all have its inode number. */
	PROMISE_LINKS = 1 << 13,
};

enum filesystem_trait {
	/* Files are lost when the machine stops. */
	TRAIT_MEMORY = 1 << 0,
	/* Shows files of other file systems. A removed file can remain in one of those. Neither
	 * statfs(2) nor stat(2) shows in which layer a file is. */
	TRAIT_LAYERED = 1 << 1,
	/* Is made as a whole and then only read. The signature of a file can be the same as in an
	 * earlier image although the bytes differ: reproducible images set all times to one value.
	 */
	TRAIT_IMAGE = 1 << 2,
	/* Several hosts can write to its disk. */
	TRAIT_CLUSTER = 1 << 3,
	/* Has no block device in st_dev, and no other host can serve it. */
	TRAIT_LOCAL = 1 << 4,
	/* Has subvolumes with their own st_dev. */
	TRAIT_SUBVOLUMES = 1 << 5,
	/* f_fsid of statfs(2) is made from the UUID, or from the device number. */
	TRAIT_FSID_OF_UUID = 1 << 6,
	TRAIT_FSID_OF_DEVICE = 1 << 7,
};

struct filesystem_facts {
	uint32_t type; /* f_type of statfs(2) */
	const char *name; /* as in /proc/self/mountinfo: "ext4", "fuse.sshfs" */
	unsigned int keeps, lacks; /* enum filesystem_promise */
	unsigned int traits; /* enum filesystem_trait */
};

/* Returns the row of a type; never NULL. Several rows can have one type. The row with the name is
 * preferred, then the first row of the type, which holds for all names. A type that the table lacks
 * has a row of its own, with no promise.
 *
 * name		type of the mount in /proc/self/mountinfo, or NULL if unknown */
const struct filesystem_facts *filesystem_facts_of(uint32_t type, const char *name);

/* Returns whether the type is in the table. */
bool filesystem_facts_are_known(const struct filesystem_facts *facts);

/* Returns f_type of statfs(2) for the file system of fd. On failure returns 0, which no file system
 * has as its type.
 */
uint32_t filesystem_type_at(int fd);

/* Returns whether a type keeps all of these promises. */
bool filesystem_keeps(uint32_t type, unsigned int promises);

/* Returns whether a type has one of these traits. */
bool filesystem_has(uint32_t type, unsigned int traits);

enum filesystem_support {
	SUPPORT_NO,
	SUPPORT_UNKNOWN,
	SUPPORT_YES,
};

/* Returns whether hard links can be made. */
enum filesystem_support filesystem_links(const struct filesystem_facts *facts);

/* Returns whether a file can be renamed without the risk to replace another one: by
 * RENAME_NOREPLACE, or by a hard link and the removal of the old name. */
enum filesystem_support filesystem_moves(const struct filesystem_facts *facts);

enum filesystem_kind {
	/* Unknown type: the time stamps are possibly in seconds, like those of FAT. */
	FILESYSTEM_UNKNOWN,
	/* Local, with time stamps of the resolution of the kernel; or read-only. ext2 to ext4 with
	 * inodes of 128 bytes have stamps in seconds, but the same type. */
	FILESYSTEM_FINE,
	/* Shared with other hosts or served by a program (NFS, CIFS, 9p, FUSE, Ceph, AFS ...).
	 * Locks and shared mappings differ from those of a local file system. Other hosts can
	 * change files without an event. */
	FILESYSTEM_REMOTE,
};

enum filesystem_kind filesystem_kind_of(uint32_t type);

/* Returns whether a lease on a file detects every writer: the type does not lack PROMISE_LEASES, or
 * it is a FUSE file system with a block device (fuseblk), which only its own program writes to.
 *
 * device	st_dev of the file */
bool filesystem_leases_are_reliable(uint32_t type, dev_t device);

/* Whether the ctime of a file is the time of its last change, which no program can choose. */
enum filesystem_ctime {
	CTIME_KEPT,
	/* The ctime is a copy of the mtime, which programs set to any value: the bytes of a file
	 * can change while its signature stays the same. */
	CTIME_ABSENT,
	CTIME_UNKNOWN, /* absent, until a file has a ctime that is not its mtime */
};

enum filesystem_ctime filesystem_ctime_of(uint32_t type);

/* Returns whether the bytes of a file can change while its times stay the same for ever. This is
 * true of file systems in memory, and of file systems with layers. On all other file systems, the
 * times change at the latest when the store is written to the disk or to another host. */
bool filesystem_may_hide_stores(uint32_t type);

/* Returns whether the bytes of one regular file, open for reading, can change while its times stay
 * the same. On a file system with layers, examines the layer that has the file.
 */
bool filesystem_hides_stores_at(int fd);

/* Returns whether files on the file system of fd can share extents (reflinks). fd must be open for
 * reading. Asks the file system where its type does not decide: XFS can be made without reflinks.
 */
bool filesystem_shares_extents_at(int fd);

/* Returns whether fd is on an XFS that was made without reflinks. */
bool filesystem_lacks_reflinks_at(int fd);

/* Returns the kind of the file system of fd; FILESYSTEM_UNKNOWN if statfs(2) fails. */
enum filesystem_kind filesystem_kind_at(int fd);

/* Returns whether the open file is surely on a file system that no other host can write to or
 * serve: one with a block device, or of a type that has none but is local. Disks that several hosts
 * write to (GFS2, OCFS2), network file systems, FUSE without a block device, and unknown types
 * without one are not of this host. */
bool filesystem_is_of_this_host(int fd);

/* The same for a type and a device, st_dev of the file. */
bool filesystem_type_is_of_this_host(uint32_t type, dev_t device);

/* Returns whether the file system of fd keeps its files in memory, so that they are lost when the
 * machine stops: tmpfs, ramfs, hugetlbfs, a block device in memory (brd, zram), or a layer above
 * one of these (storage_descend()), such as a loop device. Returns false if the layers cannot be
 * found. fd may be O_PATH. */
bool filesystem_is_in_memory_at(int fd);

/* Returns whether a directory is a stub: a snapshot of btrfs has an empty one in place of each
 * subvolume that was in the original. Nothing can be created in it. Its times are invented: they
 * are those of a look-up.
 *
 * inode	number of the directory */
bool filesystem_is_stub(uint32_t type, uint64_t inode);

/* Returns whether fd is in a read-only snapshot: a subvolume of btrfs that is read-only, was made
 * from another one, and was not received (btrfs-receive(8)) as a backup is. fd may be an O_PATH
 * descriptor of a directory. */
bool filesystem_is_snapshot_at(int fd);

static inline bool is_remote_filesystem(int fd)
{
	return filesystem_kind_at(fd) == FILESYSTEM_REMOTE;
}

/* ---- layers of an overlay ---------------------------------------------------------- */

/* The overlay layer of a file. If a name of a file in a lower layer is removed, the file stays in
 * that layer. Before a file of a lower layer is renamed, overlayfs copies the file to the upper
 * layer. Any thread. */

enum layer {
	LAYER_NONE, /* the file system has no layers */
	LAYER_UPPER, /* only in the upper layer: the file was created in the overlay */
	LAYER_LOWER, /* the file is, or once was, in a lower layer */
	LAYER_UNKNOWN, /* overlayfs of Linux before 6.6, or another file system with layers */
};

/* Returns the layer of an open file. */
enum layer layer_of(int fd);

/* Files of different layers have different st_dev in an overlay, unless all layers are on one file
 * system. Returns a number that is the same for all regular files of an overlay with one st_dev,
 * and another one for each st_dev; 0 for directories and on other file systems. If the kernel does
 * not show the layer, the number is another one after a remount. */
uint64_t layer_number(int fd);

/* ---- what stores a file system ----------------------------------------------------- */

/* What stores the files of a file system: its block device, the file of a loop device, the device
 * below device mapper, the upper layer of an overlay, the folder that bindfs shows, and so on, one
 * layer at a time. Any thread. Reads files of /sys and /proc, and opens the files and devices that
 * they name with O_PATH.
 */

/* Paths that are read. A test can replace them. */
struct storage_places {
	const char *sys; /* "/sys" */
	const char *mountinfo; /* "/proc/self/mountinfo" */
};

extern const struct storage_places storage_places;

/* Maximum number of layers, such as a loop device over a file on an overlay on a loop device. */
#define STORAGE_LAYERS_MAX 8

/* A layer: a file system, or a block device. */
struct storage {
	dev_t device; /* st_dev of the file system, or the block device */
	uint64_t mount; /* number of the mount; 0: a block device, or unknown */
	uint32_t type; /* f_type of statfs(2); 0: a block device, or unknown */
};

/* Sets the layer to the file system of fd, which may be O_PATH. Returns false if it cannot be
 * examined. */
bool storage_of(int fd, struct storage *layer);

/* Reads the first line of a file that /sys has for a block device. The caller frees *line. Returns
 * false if the file cannot be read. */
bool storage_read_line(const struct storage_places *places, dev_t device, const char *name,
		       char **line);

/* Sets the layer to the one below. A btrfs is on the device that was mounted, an overlay without an
 * upper layer on its highest lower one, a RAID on its first device. Returns false if no layer below
 * is found: the layer is a disk, in memory, or served by something unknown. */
bool storage_descend(const struct storage_places *places, struct storage *layer);

#endif
