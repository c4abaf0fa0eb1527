/* SPDX-License-Identifier: MIT */
#include "base/filesystem_kind.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/attributes.h"

/* Types of statfs(2) that are missing in linux/magic.h of 2022. */
#define MAGIC_9P 0x01021997
#define MAGIC_AUFS 0x61756673
#define MAGIC_BCACHEFS 0xca451a4e
#define MAGIC_CEPH 0x00c36400
#define MAGIC_ECRYPTFS 0xf15f
#define MAGIC_FUSE 0x65735546
#define MAGIC_GFS2 0x01161970
#define MAGIC_OCFS2 0x7461636f
#define MAGIC_ROMFS 0x7275
#define MAGIC_SMB2 0xfe534d42
#define MAGIC_UBIFS 0x24051905
#define MAGIC_CIFS 0xff534d42
#define MAGIC_VBOX 0x786f4256
#define MAGIC_XFS 0x58465342
#define MAGIC_ZFS 0x2fc12fc1

static const uint32_t remote_types[] = {
	NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, MAGIC_9P,   MAGIC_CEPH,
	MAGIC_FUSE,      MAGIC_GFS2,      MAGIC_OCFS2,     MAGIC_SMB2,       MAGIC_CIFS, MAGIC_VBOX,
};

/* overlayfs has the time stamps of its layers. A layer must support extended attributes. Of the
 * file systems with coarse time stamps, only ext supports these. */
static const uint32_t fine_types[] = {
	EXT4_SUPER_MAGIC,      MAGIC_XFS,      BTRFS_SUPER_MAGIC,    F2FS_SUPER_MAGIC,
	MAGIC_BCACHEFS,        MAGIC_ZFS,      TMPFS_MAGIC,          RAMFS_MAGIC,
	OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC, EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,
};

static const uint32_t image_types[] = {
	SQUASHFS_MAGIC, EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC, CRAMFS_MAGIC, MAGIC_ROMFS,
};

/* ctime is reliable here. Tested with ext2, ext4, xfs and btrfs
 * (tests/functional/test_silent_stores.py). f2fs updates the ctime in f2fs_vm_page_mkwrite()
 * (Linux, fs/f2fs/file.c). */
static const uint32_t reliable_types[] = {
	EXT4_SUPER_MAGIC,
	MAGIC_XFS,
	BTRFS_SUPER_MAGIC,
	F2FS_SUPER_MAGIC,
};

/* ext4, XFS and f2fs include reserved blocks (ext4_getattr(), xfs_vn_getattr() and f2fs_getattr()
 * in Linux). */
static const uint32_t counting_types[] = {EXT4_SUPER_MAGIC, MAGIC_XFS, F2FS_SUPER_MAGIC,
					  TMPFS_MAGIC};

static const uint32_t memory_types[] = {TMPFS_MAGIC, RAMFS_MAGIC, HUGETLBFS_MAGIC};

/* Several hosts can write to a disk with one of these. */
static const uint32_t cluster_types[] = {MAGIC_GFS2, MAGIC_OCFS2};

/* File systems without a block device in st_dev that no other host can serve. */
static const uint32_t local_types[] = {
	BTRFS_SUPER_MAGIC,     MAGIC_BCACHEFS, MAGIC_ZFS,   TMPFS_MAGIC,    RAMFS_MAGIC,
	OVERLAYFS_SUPER_MAGIC, MAGIC_AUFS,     MAGIC_UBIFS, MAGIC_ECRYPTFS,
};

static const uint32_t layered_types[] = {OVERLAYFS_SUPER_MAGIC, MAGIC_AUFS};

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

static bool is_among(const uint32_t *types, size_t count, uint32_t type)
{
	for (size_t i = 0; i < count; i++) {
		if (types[i] == type)
			return true;
	}
	return false;
}

uint32_t filesystem_type_at(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 ? 0 : (uint32_t)fs.f_type;
}

enum filesystem_kind filesystem_kind_of(uint32_t type)
{
	if (is_among(remote_types, ARRAY_SIZE(remote_types), type))
		return FILESYSTEM_REMOTE;
	return is_among(fine_types, ARRAY_SIZE(fine_types), type) ? FILESYSTEM_FINE
								  : FILESYSTEM_UNKNOWN;
}

bool filesystem_leases_are_reliable(uint32_t type, dev_t device)
{
	return filesystem_kind_of(type) != FILESYSTEM_REMOTE ||
	       (type == MAGIC_FUSE && major(device) != 0);
}

bool filesystem_type_is_of_this_host(uint32_t type, dev_t device)
{
	if (major(device) != 0)
		return !is_among(cluster_types, ARRAY_SIZE(cluster_types), type);
	return is_among(local_types, ARRAY_SIZE(local_types), type);
}

bool filesystem_is_of_this_host(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
	       filesystem_type_is_of_this_host(filesystem_type_at(fd), status.st_dev);
}

bool filesystem_is_image(uint32_t type)
{
	return is_among(image_types, ARRAY_SIZE(image_types), type);
}

bool filesystem_times_are_reliable(uint32_t type)
{
	return is_among(reliable_types, ARRAY_SIZE(reliable_types), type) ||
	       filesystem_is_image(type);
}

bool filesystem_may_hide_stores(uint32_t type)
{
	return is_among(memory_types, ARRAY_SIZE(memory_types), type) ||
	       filesystem_has_layers(type);
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

	return filesystem_may_hide_stores(type) && !(filesystem_has_layers(type) && is_on_disk(fd));
}

bool filesystem_is_in_memory_at(int fd)
{
	return is_among(memory_types, ARRAY_SIZE(memory_types), filesystem_type_at(fd));
}

bool filesystem_counts_blocks(uint32_t type)
{
	return is_among(counting_types, ARRAY_SIZE(counting_types), type);
}

bool filesystem_has_layers(uint32_t type)
{
	return is_among(layered_types, ARRAY_SIZE(layered_types), type);
}

bool filesystem_has_layers_at(int fd)
{
	return filesystem_has_layers(filesystem_type_at(fd));
}

bool filesystem_lacks_reflinks_at(int fd)
{
	struct xfs_geometry geometry = {0};

	return filesystem_type_at(fd) == MAGIC_XFS && ioctl(fd, XFS_GET_GEOMETRY, &geometry) == 0 &&
	       !(geometry.flags & XFS_HAS_REFLINKS);
}

bool filesystem_shares_extents_at(int fd)
{
	switch (filesystem_type_at(fd)) {
	case BTRFS_SUPER_MAGIC:
	case MAGIC_BCACHEFS:
		return true;
	case MAGIC_XFS:
		return !filesystem_lacks_reflinks_at(fd);
	default:
		return false;
	}
}

enum filesystem_kind filesystem_kind_at(int fd)
{
	return filesystem_kind_of(filesystem_type_at(fd));
}
