/* SPDX-License-Identifier: MIT */
#include "act/overlay_layer.h"

#include <fcntl.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/filesystem_kind.h"

/* AT_HANDLE_FID of Linux 6.5: a file handle that identifies a file but cannot open it. */
#define HANDLE_FID 0x200

/* File handle of overlayfs: three bytes of padding, then version, magic number, length, flags. See
 * OVL_FILEID_V1, struct ovl_fh and struct ovl_fb in fs/overlayfs/overlayfs.h of Linux. */
#define OVERLAY_HANDLE 0xf8
#define OVERLAY_VERSION 0
#define OVERLAY_MAGIC 0xfb
#define OVERLAY_UPPER (1 << 2)
#define VERSION_AT 3
#define MAGIC_AT 4
#define FLAGS_AT 6

static enum layer layer_of_handle(const struct file_handle *handle)
{
	if (handle->handle_type != OVERLAY_HANDLE || handle->handle_bytes <= FLAGS_AT ||
	    handle->f_handle[VERSION_AT] != OVERLAY_VERSION ||
	    handle->f_handle[MAGIC_AT] != OVERLAY_MAGIC)
		return LAYER_UNKNOWN;
	return handle->f_handle[FLAGS_AT] & OVERLAY_UPPER ? LAYER_UPPER : LAYER_LOWER;
}

enum layer layer_of(int fd)
{
	_Alignas(struct file_handle) uint8_t room[sizeof(struct file_handle) + MAX_HANDLE_SZ] = {0};
	struct file_handle *handle = (void *)room;
	int mount;

	if (!filesystem_has_layers_at(fd))
		return LAYER_NONE;
	handle->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH | HANDLE_FID) < 0)
		return LAYER_UNKNOWN;
	return layer_of_handle(handle);
}
