/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_REMOTE_H
#define CATALOG_REMOTE_H

#include <stdbool.h>

/* Does fd lie on a file system shared with other hosts or served by a program (NFS, CIFS, 9p,
 * FUSE, Ceph, AFS ...)? Its locks and shared maps are not those of a local one, and other hosts
 * change it unseen. False also where statfs(2) fails. Any thread. */
bool is_remote_filesystem(int fd);

#endif
