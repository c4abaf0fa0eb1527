/* SPDX-License-Identifier: MIT */
#include "catalog/remote.h"

#include <linux/magic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#include "base/attributes.h"

/* Numbers of statfs(2) that linux/magic.h of 2022 has not. */
#define MAGIC_9P 0x01021997
#define MAGIC_CEPH 0x00c36400
#define MAGIC_FUSE 0x65735546
#define MAGIC_GFS2 0x01161970
#define MAGIC_OCFS2 0x7461636f
#define MAGIC_SMB2 0xfe534d42
#define MAGIC_CIFS 0xff534d42
#define MAGIC_VBOX 0x786f4256

static const uint32_t remote_magics[] = {
	NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, AFS_SUPER_MAGIC, CODA_SUPER_MAGIC, MAGIC_9P,   MAGIC_CEPH,
	MAGIC_FUSE,      MAGIC_GFS2,      MAGIC_OCFS2,     MAGIC_SMB2,       MAGIC_CIFS, MAGIC_VBOX,
};

bool is_remote_filesystem(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(remote_magics); i++) {
		if ((uint32_t)fs.f_type == remote_magics[i])
			return true;
	}
	return false;
}
