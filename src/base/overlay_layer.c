/* SPDX-License-Identifier: MIT */
#include "base/overlay_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/hash.h"

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

/* The handle of a file that was copied up stays that of its lower file. overlayfs refuses to share
 * blocks of a file that is not in the upper layer, with EPERM, before it asks the layer. The layer
 * answers EINVAL as source and destination are one range, EOPNOTSUPP, or EROFS if it has only the
 * metadata of the file (ovl_remap_file_range() in fs/overlayfs/file.c of Linux). */
bool layer_is_copied_up(int fd)
{
	const struct dedupe_range same = {.source = fd, .destination = fd, .length = 1};
	int64_t r = dedupe_range(&same);

	return r == -EINVAL || r == -EOPNOTSUPP || r == -EROFS;
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
