/* SPDX-License-Identifier: MIT */
#ifndef ACT_EXTENTS_H
#define ACT_EXTENTS_H

/* Extents of a file on its disk, by FIEMAP (Documentation/filesystems/fiemap.rst in Linux). Any
 * thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Returns the allocated bytes that the file shares with no other file: its removal frees them. If
 * the file system does not support FIEMAP, returns all allocated bytes. Writes the file back first,
 * as recent bytes have no extents yet. */
uint64_t extents_own_bytes(int fd);

/* Returns about the same number without writing the file back, which can take long. */
uint64_t extents_estimate_own_bytes(int fd);

/* Returns whether two files are certain to share all their blocks. If the file system does not
 * support FIEMAP, returns false. */
bool extents_all_shared(int a, int b);

#endif
