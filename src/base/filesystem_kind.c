/* SPDX-License-Identifier: MIT */
#include "base/filesystem_kind.h"

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
#include "base/filesystem_table.h"
#include "base/storage.h"

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

static bool keeps(uint32_t type, unsigned int promises)
{
	return (filesystem_facts_of(type, NULL)->keeps & promises) == promises;
}

static bool has_trait(uint32_t type, unsigned int trait)
{
	return (filesystem_facts_of(type, NULL)->traits & trait) != 0;
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
	       (type == FILESYSTEM_TYPE_FUSE && major(device) != 0);
}

bool filesystem_type_is_of_this_host(uint32_t type, dev_t device)
{
	return major(device) != 0 ? !has_trait(type, TRAIT_CLUSTER) : has_trait(type, TRAIT_LOCAL);
}

bool filesystem_is_of_this_host(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 &&
	       filesystem_type_is_of_this_host(filesystem_type_at(fd), status.st_dev);
}

bool filesystem_is_image(uint32_t type)
{
	return has_trait(type, TRAIT_IMAGE);
}

bool filesystem_times_are_reliable(uint32_t type)
{
	return keeps(type, PROMISE_STORES);
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
	return has_trait(type, TRAIT_MEMORY | TRAIT_LAYERED);
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
		if (has_trait(layer.type, TRAIT_MEMORY) || is_memory_device(layer.device))
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

bool filesystem_counts_blocks(uint32_t type)
{
	return keeps(type, PROMISE_BLOCKS);
}

bool filesystem_has_layers(uint32_t type)
{
	return has_trait(type, TRAIT_LAYERED);
}

bool filesystem_has_layers_at(int fd)
{
	return filesystem_has_layers(filesystem_type_at(fd));
}

bool filesystem_lacks_reflinks_at(int fd)
{
	struct xfs_geometry geometry = {0};

	return filesystem_type_at(fd) == FILESYSTEM_TYPE_XFS &&
	       ioctl(fd, XFS_GET_GEOMETRY, &geometry) == 0 && !(geometry.flags & XFS_HAS_REFLINKS);
}

bool filesystem_shares_extents_at(int fd)
{
	uint32_t type = filesystem_type_at(fd);

	return keeps(type, PROMISE_EXTENTS) ||
	       (type == FILESYSTEM_TYPE_XFS && !filesystem_lacks_reflinks_at(fd));
}

bool filesystem_has_subvolumes_at(int fd)
{
	return has_trait(filesystem_type_at(fd), TRAIT_SUBVOLUMES);
}

bool filesystem_fsid_is_of_uuid(uint32_t type)
{
	return has_trait(type, TRAIT_FSID_OF_UUID);
}

bool filesystem_fsid_is_of_device(uint32_t type)
{
	return has_trait(type, TRAIT_FSID_OF_DEVICE);
}

enum filesystem_kind filesystem_kind_at(int fd)
{
	return filesystem_kind_of(filesystem_type_at(fd));
}
