/* SPDX-License-Identifier: MIT */
#ifndef ACT_EXTENTS_H
#define ACT_EXTENTS_H

/* Extents of a file on its disk, by FIEMAP (Documentation/filesystems/fiemap.rst in Linux). Any
 * thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Returns the bytes of a file that no other file shares: removing the file frees them. If the file
 * system does not support FIEMAP, returns all allocated bytes. */
uint64_t extents_own_bytes(int fd);

/* Returns whether two files share all their blocks; false if the file system does not support
 * FIEMAP. */
bool extents_all_shared(int a, int b);

#endif
