/* SPDX-License-Identifier: MIT */
#ifndef ACT_EXTENTS_H
#define ACT_EXTENTS_H

/* Where the bytes of a file lie on its disk, FIEMAP (Documentation/filesystems/fiemap.rst in
 * Linux). Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

/* Bytes of a file that no other file shares: those come free with it. All that are allocated where
 * the file system does not tell. */
uint64_t extents_own_bytes(int fd);

/* Do two files share all their blocks? false where the file system does not tell. */
bool extents_all_shared(int a, int b);

#endif
