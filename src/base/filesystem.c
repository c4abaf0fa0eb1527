/* SPDX-License-Identifier: MIT */
#include "base/filesystem.h"

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
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/storage.h"

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

/* The sources are those of Linux 6.12, unless a comment names another one. */
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
