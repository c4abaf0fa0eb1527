/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FUSE_H
#define MOUNT_FUSE_H

/* libfuse, in the version of its interface that this code is written for. */

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#endif
