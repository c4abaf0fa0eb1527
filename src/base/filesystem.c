/* SPDX-License-Identifier: MIT */
#include "base/filesystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/mountinfo.h"

/* Types of statfs(2) that are missing in linux/magic.h of 2022. */
#define MAGIC_9P 0x01021997
#define MAGIC_AUFS 0x61756673
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_CEPH 0x00c36400
#define MAGIC_CIFS 0xff534d42
#define MAGIC_ECRYPTFS 0xf15f
#define MAGIC_EXFAT 0x2011bab0
#define MAGIC_FUSE 0x65735546
#define MAGIC_GFS2 0x01161970
#define MAGIC_HFS 0x4244
#define MAGIC_HFS_PLUS 0x482b
#define MAGIC_JFS 0x3153464a
#define MAGIC_NTFS3 0x7366746e
#define MAGIC_OCFS2 0x7461636f
#define MAGIC_ROMFS 0x7275
#define MAGIC_SMB2 0xfe534d42
#define MAGIC_UBIFS 0x24051905
#define MAGIC_UDF 0x15013346
#define MAGIC_VBOX 0x786f4256
#define MAGIC_XFS 0x58465342
#define MAGIC_ZFS 0x2fc12fc1

/* The flags of renameat2(2) that have no effect on the layout of a file system. */
#define RENAMES (PROMISE_NOREPLACE | PROMISE_EXCHANGE)

/* What the kernel does for each file system that it writes to itself: fs/locks.c, fs/notify. */
#define PLAIN (PROMISE_EVENTS | PROMISE_LEASES)

/* The same, with hard links: the file system has a link() in its inode_operations. */
#define KERNEL (PLAIN | PROMISE_LINKS)

/* Other hosts, or the program that serves the file system, write without the kernel. */
#define NOT_SEEN (PROMISE_EVENTS | PROMISE_LEASES | PROMISE_STORES | PROMISE_BLOCKS)

/* Files that no program can write to keep what depends on writers. */
#define READ_ONLY (PLAIN | PROMISE_CTIME | PROMISE_STORES | PROMISE_FOLDER_SYNC | PROMISE_INODES)

/* The sources are those of Linux 6.12, unless a comment names another one. Steps of times are at
 * most 2 s. Longer ones need larger values in scan/reading.c (GUARD_COARSE_NS), act/held.c
 * (COARSEST_TIME_NS), act/folder_check.c (GUARD_NS) and scan/walk_dir.c (last_stored_as()). */
static const struct filesystem_facts rows[] = {
	/* Tested with ext2 and ext4 (tests/functional/test_silent_stores.py). Inodes of 128 bytes
	 * have no room for nanoseconds and birth times (EXT4_FITS_IN_INODE in fs/ext4/ext4.h).
	 * ext4_rename2() accepts both flags. st_blocks includes reserved blocks (ext4_getattr()).
	 * f_fsid is made from s_uuid (ext4_statfs()). */
	{EXT4_SUPER_MAGIC, "ext4",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_STORES | PROMISE_FINE_TIMES |
		 PROMISE_FOLDER_SYNC | PROMISE_INODES | PROMISE_HOLES | PROMISE_BLOCKS,
	 PROMISE_EXTENTS, TRAIT_FSID_OF_UUID},
	/* The driver of ext2 accepts only RENAME_NOREPLACE (ext2_rename()). */
	{EXT4_SUPER_MAGIC, "ext2",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_STORES | PROMISE_FINE_TIMES |
		 PROMISE_FOLDER_SYNC | PROMISE_INODES | PROMISE_HOLES | PROMISE_BLOCKS,
	 PROMISE_EXTENTS | PROMISE_EXCHANGE | PROMISE_BIRTH_TIMES, TRAIT_FSID_OF_UUID},
	/* Tested with reflinks and without. Version 4 has no birth times (xfs_vn_getattr()). f_fsid
	 * is made from the device (xfs_fs_statfs()). */
	{MAGIC_XFS, "xfs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_STORES | PROMISE_FINE_TIMES |
		 PROMISE_FOLDER_SYNC | PROMISE_INODES | PROMISE_HOLES | PROMISE_BLOCKS,
	 0, TRAIT_FSID_OF_DEVICE},
	/* Tested. f_fsid is made from the UUID and the subvolume (btrfs_statfs()). */
	{BTRFS_SUPER_MAGIC, "btrfs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_STORES | PROMISE_FINE_TIMES |
		 PROMISE_FOLDER_SYNC | PROMISE_BIRTH_TIMES | PROMISE_INODES | PROMISE_EXTENTS |
		 PROMISE_HOLES,
	 0, TRAIT_LOCAL | TRAIT_SUBVOLUMES | TRAIT_FSID_OF_UUID},
	/* f2fs_vm_page_mkwrite() updates the ctime. st_blocks includes reserved blocks
	 * (f2fs_getattr()). Birth times need a feature (F2FS_FITS_IN_INODE). */
	{F2FS_SUPER_MAGIC, "f2fs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_STORES | PROMISE_FINE_TIMES |
		 PROMISE_FOLDER_SYNC | PROMISE_INODES | PROMISE_HOLES | PROMISE_BLOCKS,
	 PROMISE_EXTENTS, 0},
	/* bch2_rename2(), bch2_getattr() and bch2_remap_file_range(). */
	{MAGIC_BCACHEFS, "bcachefs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_FINE_TIMES | PROMISE_FOLDER_SYNC |
		 PROMISE_BIRTH_TIMES | PROMISE_INODES | PROMISE_EXTENTS | PROMISE_HOLES,
	 0, TRAIT_LOCAL},
	/* OpenZFS 2.2 (module/os/linux/zfs): zpl_rename2() accepts both flags, older ones none. Its
	 * shared blocks cannot be listed (no FIEMAP). Blocks are counted when they reach the disk.
	 */
	{MAGIC_ZFS, "zfs",
	 KERNEL | PROMISE_CTIME | PROMISE_FINE_TIMES | PROMISE_FOLDER_SYNC | PROMISE_INODES |
		 PROMISE_HOLES,
	 PROMISE_BLOCKS, TRAIT_LOCAL},
	/* ReiserFS, JFS, UDF and HFS+ store the time of a change: sd_ctime in reiserfs.h, di_ctime
	 * in fs/jfs/jfs_dinode.h, attrTime in fs/udf/ecma_167.h, attribute_mod_date in
	 * fs/hfsplus/hfsplus_raw.h. Most of their times are in seconds. */
	{REISERFS_SUPER_MAGIC, "reiserfs",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_FOLDER_SYNC | PROMISE_INODES |
		 PROMISE_HOLES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS | PROMISE_FINE_TIMES | PROMISE_BIRTH_TIMES, 0},
	{MAGIC_JFS, "jfs",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_FOLDER_SYNC | PROMISE_INODES |
		 PROMISE_HOLES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS, 0},
	{NILFS_SUPER_MAGIC, "nilfs2",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_FOLDER_SYNC | PROMISE_INODES |
		 PROMISE_HOLES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS, 0},
	{MAGIC_UDF, "udf",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_INODES | PROMISE_HOLES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS, 0},
	{MAGIC_HFS_PLUS, "hfsplus",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_FOLDER_SYNC | PROMISE_INODES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS | PROMISE_FINE_TIMES | PROMISE_HOLES, 0},
	/* hfs_read_inode() copies the mtime to the ctime. */
	{MAGIC_HFS, "hfs", PLAIN | PROMISE_NOREPLACE | PROMISE_INODES,
	 PROMISE_CTIME | PROMISE_LINKS | PROMISE_EXCHANGE | PROMISE_EXTENTS | PROMISE_FINE_TIMES |
		 PROMISE_HOLES,
	 0},
	/* The ctime is the mtime (fat_truncate_time(), exfat_fill_inode()). Inode numbers are those
	 * of iunique(). The times of FAT are in steps of two seconds, those of exFAT of 10 ms. */
	{MSDOS_SUPER_MAGIC, "vfat", PLAIN | PROMISE_NOREPLACE | PROMISE_FOLDER_SYNC,
	 PROMISE_CTIME | PROMISE_LINKS | PROMISE_INODES | PROMISE_EXTENTS | PROMISE_FINE_TIMES |
		 PROMISE_HOLES,
	 TRAIT_FSID_OF_DEVICE},
	{MAGIC_EXFAT, "exfat", PLAIN | PROMISE_NOREPLACE | PROMISE_FOLDER_SYNC,
	 PROMISE_CTIME | PROMISE_LINKS | PROMISE_INODES | PROMISE_EXCHANGE | PROMISE_EXTENTS |
		 PROMISE_FINE_TIMES | PROMISE_HOLES,
	 0},
	/* std5->c_time in fs/ntfs3; ntfs_rename(). */
	{MAGIC_NTFS3, "ntfs3",
	 KERNEL | PROMISE_NOREPLACE | PROMISE_CTIME | PROMISE_BIRTH_TIMES | PROMISE_INODES |
		 PROMISE_HOLES,
	 PROMISE_EXCHANGE | PROMISE_EXTENTS, 0},
	/* Minix stores one time (struct minix2_inode has more). */
	{MINIX_SUPER_MAGIC, "minix", KERNEL | PROMISE_NOREPLACE | PROMISE_INODES,
	 PROMISE_CTIME | PROMISE_EXCHANGE | PROMISE_EXTENTS | PROMISE_FINE_TIMES, 0},
	{MINIX_SUPER_MAGIC2, "minix", KERNEL | PROMISE_NOREPLACE | PROMISE_INODES,
	 PROMISE_CTIME | PROMISE_EXCHANGE | PROMISE_EXTENTS | PROMISE_FINE_TIMES, 0},
	{MAGIC_UBIFS, "ubifs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_FOLDER_SYNC | PROMISE_INODES, PROMISE_EXTENTS,
	 TRAIT_LOCAL},

	/* Pages of memory are mapped writable at a read fault, and nothing protects them again
	 * (noop_dirty_folio() in mm/shmem.c). simple_rename() and shmem_rename2() accept both
	 * flags. shmem_getattr() gives birth times since Linux 5.18. */
	{TMPFS_MAGIC, "tmpfs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_FINE_TIMES | PROMISE_BIRTH_TIMES |
		 PROMISE_HOLES | PROMISE_BLOCKS,
	 PROMISE_STORES | PROMISE_EXTENTS | PROMISE_FOLDER_SYNC | PROMISE_INODES,
	 TRAIT_MEMORY | TRAIT_LOCAL},
	{RAMFS_MAGIC, "ramfs",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_FINE_TIMES | PROMISE_HOLES,
	 PROMISE_STORES | PROMISE_EXTENTS | PROMISE_FOLDER_SYNC | PROMISE_INODES,
	 TRAIT_MEMORY | TRAIT_LOCAL},
	{HUGETLBFS_MAGIC, "hugetlbfs", KERNEL | RENAMES | PROMISE_CTIME | PROMISE_HOLES,
	 PROMISE_STORES | PROMISE_EXTENTS | PROMISE_FOLDER_SYNC | PROMISE_INODES, TRAIT_MEMORY},

	/* overlayfs has the times of its layers. A layer must support extended attributes. Of the
	 * file systems with coarse times, only ext supports these. statfs(2) does not show the
	 * types of the layers, of which one can hide stores. ovl_rename() accepts both flags. */
	{OVERLAYFS_SUPER_MAGIC, "overlay",
	 KERNEL | RENAMES | PROMISE_CTIME | PROMISE_FINE_TIMES | PROMISE_FOLDER_SYNC |
		 PROMISE_HOLES,
	 PROMISE_STORES, TRAIT_LAYERED | TRAIT_LOCAL},
	{MAGIC_AUFS, "aufs", KERNEL, PROMISE_STORES, TRAIT_LAYERED | TRAIT_LOCAL},
	/* ecryptfs_rename() accepts no flags. The times are those of the file system below. */
	{MAGIC_ECRYPTFS, "ecryptfs", KERNEL, RENAMES | PROMISE_EXTENTS, TRAIT_LOCAL},

	{SQUASHFS_MAGIC, "squashfs", READ_ONLY | PROMISE_FINE_TIMES, RENAMES | PROMISE_EXTENTS,
	 TRAIT_IMAGE},
	{EROFS_SUPER_MAGIC_V1, "erofs", READ_ONLY | PROMISE_FINE_TIMES, RENAMES | PROMISE_EXTENTS,
	 TRAIT_IMAGE},
	{ISOFS_SUPER_MAGIC, "iso9660", READ_ONLY | PROMISE_FINE_TIMES, RENAMES | PROMISE_EXTENTS,
	 TRAIT_IMAGE},
	{CRAMFS_MAGIC, "cramfs", READ_ONLY, RENAMES | PROMISE_EXTENTS, TRAIT_IMAGE},
	{MAGIC_ROMFS, "romfs", READ_ONLY, RENAMES | PROMISE_EXTENTS, TRAIT_IMAGE},

	/* The ctime is that of the file system of the server. nfs_rename(), afs_rename(),
	 * coda_rename(), v9fs_vfs_rename(), ceph_rename() and vboxsf_dir_rename() accept no flag,
	 * cifs_rename2() only RENAME_NOREPLACE. */
	{NFS_SUPER_MAGIC, "nfs", 0, NOT_SEEN | RENAMES, 0},
	{SMB_SUPER_MAGIC, "smbfs", 0, NOT_SEEN | RENAMES, 0},
	{MAGIC_CIFS, "cifs", PROMISE_NOREPLACE, NOT_SEEN | PROMISE_EXCHANGE, 0},
	{MAGIC_SMB2, "cifs", PROMISE_NOREPLACE, NOT_SEEN | PROMISE_EXCHANGE, 0},
	{AFS_SUPER_MAGIC, "afs", 0, NOT_SEEN | RENAMES, 0},
	{CODA_SUPER_MAGIC, "coda", 0, NOT_SEEN | RENAMES, 0},
	{MAGIC_9P, "9p", 0, NOT_SEEN | RENAMES, 0},
	{MAGIC_CEPH, "ceph", PROMISE_CTIME | PROMISE_INODES | PROMISE_LINKS, NOT_SEEN | RENAMES, 0},
	{MAGIC_VBOX, "vboxsf", 0, NOT_SEEN | RENAMES | PROMISE_LINKS, 0},
	/* gfs2_rename2() accepts both flags, ocfs2_rename() none. */
	{MAGIC_GFS2, "gfs2", RENAMES | PROMISE_CTIME | PROMISE_INODES | PROMISE_LINKS, NOT_SEEN,
	 TRAIT_CLUSTER},
	{MAGIC_OCFS2, "ocfs2", PROMISE_CTIME | PROMISE_INODES | PROMISE_LINKS, NOT_SEEN | RENAMES,
	 TRAIT_CLUSTER},

	/* The program that serves a FUSE file system decides. fuseblk also serves exfat-fuse 1.3,
	 * whose ctime is the mtime, and NTFS-3G, which stores a ctime: mountinfo shows both as
	 * "fuseblk". fuse_rename2() passes flags only to programs that know them. */
	{MAGIC_FUSE, "fuse", 0, NOT_SEEN, 0},
	/* SFTP version 3 has no ctime and no flags of a rename (tried with sshfs 3.7.3). */
	{MAGIC_FUSE, "fuse.sshfs", 0,
	 NOT_SEEN | RENAMES | PROMISE_CTIME | PROMISE_BIRTH_TIMES | PROMISE_INODES, 0},
};

static const struct filesystem_facts unknown = {.name = "unknown"};

const struct filesystem_facts *filesystem_facts_of(uint32_t type, const char *name)
{
	const struct filesystem_facts *first = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].type != type)
			continue;
		if (!name || strcmp(rows[i].name, name) == 0)
			return &rows[i];
		first = first ? first : &rows[i];
	}
	return first ? first : &unknown;
}

/* ---- questions about a type ---------------------------------------------------------------- */

bool filesystem_keeps(uint32_t type, unsigned int promises)
{
	return (filesystem_facts_of(type, NULL)->keeps & promises) == promises;
}

bool filesystem_has(uint32_t type, unsigned int traits)
{
	return (filesystem_facts_of(type, NULL)->traits & traits) != 0;
}

uint32_t filesystem_type_at(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
}

enum filesystem_kind filesystem_kind_of(uint32_t type)
{
	const struct filesystem_facts *facts = filesystem_facts_of(type, NULL);

	if (facts->lacks & PROMISE_EVENTS)
		return FILESYSTEM_REMOTE;
	return facts->keeps & PROMISE_FINE_TIMES ? FILESYSTEM_FINE : FILESYSTEM_UNKNOWN;
}

bool filesystem_leases_are_reliable(uint32_t type, dev_t device)
{
	return !(filesystem_facts_of(type, NULL)->lacks & PROMISE_LEASES) ||
	       (type == MAGIC_FUSE && major(device) != 0);
}

bool filesystem_type_is_of_this_host(uint32_t type, dev_t device)
{
	return major(device) != 0 ? !filesystem_has(type, TRAIT_CLUSTER)
				  : filesystem_has(type, TRAIT_LOCAL);
}

bool filesystem_is_of_this_host(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
	       filesystem_type_is_of_this_host(filesystem_type_at(fd), status.st_dev);
}

enum filesystem_ctime filesystem_ctime_of(uint32_t type)
{
	const struct filesystem_facts *facts = filesystem_facts_of(type, NULL);

	if (facts->keeps & PROMISE_CTIME)
		return CTIME_KEPT;
	return facts->lacks & PROMISE_CTIME ? CTIME_ABSENT : CTIME_UNKNOWN;
}

bool filesystem_may_hide_stores(uint32_t type)
{
	return filesystem_has(type, TRAIT_MEMORY | TRAIT_LAYERED);
}

/* Returns whether a file has blocks on a disk. File systems in memory do not support FIEMAP; a
 * layered file system forwards it to the file in the layer.
 */
static bool is_on_disk(int fd)
{
	struct fiemap first = {.fm_length = 1};

	return ioctl(fd, FS_IOC_FIEMAP, &first) == 0;
}

bool filesystem_hides_stores_at(int fd)
{
	uint32_t type = filesystem_type_at(fd);

	return filesystem_may_hide_stores(type) &&
	       !(filesystem_has(type, TRAIT_LAYERED) && is_on_disk(fd));
}

/* Returns whether a block device is in memory: /dev/ramN, or /dev/zramN with its dynamic number. */
static bool is_memory_device(dev_t device)
{
	char path[64], target[PATH_MAX + 1];
	const char *name;
	ssize_t length;

	if (major(device) == 0 || major(device) == RAMDISK_MAJOR)
		return major(device) == RAMDISK_MAJOR;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major(device), minor(device));
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	name = strrchr(target, '/');
	return name && strncmp(name, "/zram", strlen("/zram")) == 0;
}

bool filesystem_is_in_memory_at(int fd)
{
	struct storage layer;
	bool found = storage_of(fd, &layer);

	for (int i = 0; found && i < STORAGE_LAYERS_MAX; i++) {
		if (filesystem_has(layer.type, TRAIT_MEMORY) || is_memory_device(layer.device))
			return true;
		found = storage_descend(&storage_places, &layer);
	}
	return false;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i])
			return false;
	}
	return true;
}

/* Gets the subvolume of a file or directory (Linux 4.18), without a privilege. ioctl(2) refuses
 * O_PATH descriptors, so directories are opened again. */
static bool get_subvolume(int fd, struct btrfs_ioctl_get_subvol_info_args *subvolume)
{
	AUTO_CLOSE int folder = -1;

	/* it can return 1 after a success: seen with Linux 6.18 */
	if (ioctl(fd, BTRFS_IOC_GET_SUBVOL_INFO, subvolume) >= 0)
		return true;
	if (errno != EBADF)
		return false;
	folder = open_beneath_for_reading(fd, "", O_DIRECTORY, true);
	return folder >= 0 && ioctl(folder, BTRFS_IOC_GET_SUBVOL_INFO, subvolume) >= 0;
}

bool filesystem_is_snapshot_at(int fd)
{
	struct btrfs_ioctl_get_subvol_info_args subvolume = {0};

	return filesystem_type_at(fd) == BTRFS_SUPER_MAGIC && get_subvolume(fd, &subvolume) &&
	       (subvolume.flags & BTRFS_ROOT_SUBVOL_RDONLY) &&
	       !is_zero(subvolume.parent_uuid, sizeof(subvolume.parent_uuid)) &&
	       is_zero(subvolume.received_uuid, sizeof(subvolume.received_uuid));
}

bool filesystem_is_stub(uint32_t type, uint64_t inode)
{
	return type == BTRFS_SUPER_MAGIC && inode == BTRFS_EMPTY_SUBVOL_DIR_OBJECTID;
}

/* The geometry of an XFS (XFS_IOC_FSGEOMETRY_V1 in xfs_fs.h of Linux). */
struct xfs_geometry {
	uint32_t sizes[8];
	uint64_t counts[4];
	uint8_t uuid[16];
	uint32_t stripes[2];
	int32_t version;
	uint32_t flags;
	uint32_t sectors[3];
};
#define XFS_GET_GEOMETRY _IOR('X', 100, struct xfs_geometry)
#define XFS_HAS_REFLINKS (UINT32_C(1) << 20)

bool filesystem_lacks_reflinks_at(int fd)
{
	struct xfs_geometry geometry = {0};

	return filesystem_type_at(fd) == MAGIC_XFS && ioctl(fd, XFS_GET_GEOMETRY, &geometry) == 0 &&
	       !(geometry.flags & XFS_HAS_REFLINKS);
}

bool filesystem_shares_extents_at(int fd)
{
	uint32_t type = filesystem_type_at(fd);

	return filesystem_keeps(type, PROMISE_EXTENTS) ||
	       (type == MAGIC_XFS && !filesystem_lacks_reflinks_at(fd));
}

enum filesystem_kind filesystem_kind_at(int fd)
{
	return filesystem_kind_of(filesystem_type_at(fd));
}

static enum filesystem_support support_of(const struct filesystem_facts *facts, unsigned int any)
{
	if (facts->keeps & any)
		return SUPPORT_YES;
	return (facts->lacks & any) == any ? SUPPORT_NO : SUPPORT_UNKNOWN;
}

enum filesystem_support filesystem_links(const struct filesystem_facts *facts)
{
	return support_of(facts, PROMISE_LINKS);
}

enum filesystem_support filesystem_moves(const struct filesystem_facts *facts)
{
	return support_of(facts, PROMISE_LINKS | PROMISE_NOREPLACE);
}

bool filesystem_facts_are_known(const struct filesystem_facts *facts)
{
	return facts != &unknown;
}

/* ---- layers of an overlay ---------------------------------------------------------- */

/* AT_HANDLE_FID of Linux 6.5: a file handle that identifies a file but cannot open it. */
#define HANDLE_FID 0x200

/* File handle of overlayfs: three bytes of padding, then version, magic number, length, flags,
 * type, UUID of the layer. See OVL_FILEID_V1, struct ovl_fh and struct ovl_fb in
 * fs/overlayfs/overlayfs.h of Linux. */
#define OVERLAY_HANDLE 0xf8
#define OVERLAY_VERSION 0
#define OVERLAY_MAGIC 0xfb
#define OVERLAY_UPPER (1 << 2)
#define VERSION_AT 3
#define MAGIC_AT 4
#define FLAGS_AT 6
#define UUID_AT 8
#define UUID_BYTES 16

union overlay_handle {
	struct file_handle handle;
	uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

/* Reads the file handle. Returns false if it is not one of overlayfs. */
static bool read_handle(int fd, union overlay_handle *overlay)
{
	struct file_handle *handle = &overlay->handle;
	int mount;

	*overlay = (union overlay_handle){.handle = {.handle_bytes = MAX_HANDLE_SZ}};
	return name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH | HANDLE_FID) == 0 &&
	       handle->handle_type == OVERLAY_HANDLE &&
	       handle->handle_bytes >= UUID_AT + UUID_BYTES &&
	       handle->f_handle[VERSION_AT] == OVERLAY_VERSION &&
	       handle->f_handle[MAGIC_AT] == OVERLAY_MAGIC;
}

static bool is_upper(const union overlay_handle *overlay)
{
	return overlay->handle.f_handle[FLAGS_AT] & OVERLAY_UPPER;
}

enum layer layer_of(int fd)
{
	union overlay_handle overlay;

	if (!filesystem_has(filesystem_type_at(fd), TRAIT_LAYERED))
		return LAYER_NONE;
	if (!read_handle(fd, &overlay))
		return LAYER_UNKNOWN;
	return is_upper(&overlay) ? LAYER_UPPER : LAYER_LOWER;
}

/* Returns whether the identifier of the lower file in the handle contains the inode number, or its
 * lower half. The file then has the st_dev of the lower layer, also after it was copied up. */
static bool names_inode(const union overlay_handle *overlay, uint64_t inode)
{
	const uint8_t *handle = overlay->handle.f_handle;
	uint32_t half = (uint32_t)inode;

	for (size_t at = UUID_AT + UUID_BYTES; at + sizeof(half) <= overlay->handle.handle_bytes;
	     at += sizeof(half)) {
		if (memcmp(handle + at, &half, sizeof(half)) == 0)
			return true;
	}
	return false;
}

/* The handle of a copied-up file is that of its lower file. If this one had several names, the
 * copy has an inode number and st_dev of the upper layer (ovl_getattr() in fs/overlayfs/inode.c of
 * Linux). There is at most one upper layer, and such a handle lacks its UUID. */
uint64_t layer_number(int fd)
{
	union overlay_handle overlay;
	struct stat status;

	if (fstat(fd, &status) < 0 || S_ISDIR(status.st_mode) ||
	    !filesystem_has(filesystem_type_at(fd), TRAIT_LAYERED))
		return 0;
	if (!read_handle(fd, &overlay))
		return hash64(&status.st_dev, sizeof(status.st_dev), 0) | 1;
	if (is_upper(&overlay) || !names_inode(&overlay, status.st_ino))
		return 1;
	return hash64(&overlay.handle.f_handle[UUID_AT], UUID_BYTES, 0) | 1;
}

/* ---- what stores a file system ----------------------------------------------------- */

const struct storage_places storage_places = {"/sys", "/proc/self/mountinfo"};

bool storage_of(int fd, struct storage *layer)
{
	struct statx status;
	struct statfs fs;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0)
		return false;
	layer->device = makedev(status.stx_dev_major, status.stx_dev_minor);
	layer->mount = status.stx_mask & STATX_MNT_ID ? status.stx_mnt_id : 0;
	layer->type = fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
	return true;
}

/* Nothing is stored in other special files. A FUSE file system without a name of its own has the
 * source /dev/fuse, which lies in memory. */
static bool storage_of_path(const char *path, struct storage *layer)
{
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
		return storage_of(fd, layer);
	if (S_ISBLK(status.st_mode))
		*layer = (struct storage){.device = status.st_rdev};
	return S_ISBLK(status.st_mode);
}

/* ---- devices ------------------------------------------------------------------------- */

static int path_of_device(const struct storage_places *places, dev_t device, const char *name,
			  struct bytes *path)
{
	int r = bytes_format(path, "%s/dev/block/%u:%u/%s", places->sys, major(device),
			     minor(device), name);

	return r == 0 && !bytes_text(path) ? -ENOMEM : r;
}

bool storage_read_line(const struct storage_places *places, dev_t device, const char *name,
		       char **line)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_FCLOSE FILE *file = NULL;
	size_t capacity = 0;

	if (path_of_device(places, device, name, &path) < 0)
		return false;
	file = fopen(bytes_text(&path), "re");
	if (!file || getline(line, &capacity, file) < 0)
		return false;
	(*line)[strcspn(*line, "\n")] = '\0';
	return true;
}

/* Sets the layer to the file of a loop device, or to the folder of a file that was removed. */
static bool descend_loop(const struct storage_places *places, struct storage *layer)
{
	static const char removed[] = " (deleted)"; /* written by the kernel */
	AUTO_FREE char *path = NULL;
	size_t length;

	/* The parent directory belongs to the device of a partition. */
	if (!storage_read_line(places, layer->device, "loop/backing_file", &path) &&
	    !storage_read_line(places, layer->device, "../loop/backing_file", &path))
		return false;
	if (storage_of_path(path, layer))
		return true;
	length = strlen(path);
	if (length < sizeof(removed) || strcmp(path + length - strlen(removed), removed) != 0)
		return false;
	while (length > 1 && path[length - 1] != '/')
		length--;
	path[length] = '\0';
	return storage_of_path(path, layer);
}

/* Sets the layer to the first device below one of device mapper or of a RAID. */
static bool descend_mapped(const struct storage_places *places, struct storage *layer)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_CLOSEDIR DIR *devices = NULL;
	const struct dirent *entry;

	if (path_of_device(places, layer->device, "slaves", &path) < 0)
		return false;
	devices = opendir(bytes_text(&path));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (devices && (entry = readdir(devices))) {
		AUTO_FREE char *number = NULL;
		char name[sizeof("slaves//dev") + sizeof(entry->d_name)];
		unsigned int first, second;

		(void)snprintf(name, sizeof(name), "slaves/%s/dev", entry->d_name);
		if (entry->d_name[0] == '.' ||
		    !storage_read_line(places, layer->device, name, &number) ||
		    sscanf(number, "%u:%u", &first, &second) != 2)
			continue;
		*layer = (struct storage){.device = makedev(first, second)};
		return true;
	}
	return false;
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

static bool descend_mount(const struct storage_places *places, struct storage *layer)
{
	CLEANUP_MOUNTINFO struct mountinfo mount = {0};
	AUTO_FREE char *path = NULL;

	if (layer->mount == 0 || mountinfo_find(&mount, places->mountinfo, layer->mount) < 0)
		return false;
	if (strcmp(mount.type, "overlay") != 0)
		return mount.source[0] == '/' && storage_of_path(mount.source, layer);
	path = option_value(mount.options, "upperdir", ",");
	if (!path)
		path = option_value(mount.options, "lowerdir", ",:");
	if (!path)
		return false;
	mountinfo_decode(path);
	return path[0] == '/' && storage_of_path(path, layer);
}

bool storage_descend(const struct storage_places *places, struct storage *layer)
{
	if (major(layer->device) == 0)
		return descend_mount(places, layer);
	return descend_loop(places, layer) || descend_mapped(places, layer);
}
