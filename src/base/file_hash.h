/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_HASH_H
#define BASE_FILE_HASH_H

#include "base/attributes.h"
#include "base/cancellation.h"
#include "base/hash.h"

/* Hashes all bytes of an open file to the hash that `xxhsum -H2` prints. Any thread; blocks on the
 * disk.
 *
 * cancellation	checked before each block, as is stop_requested(); may be NULL
 *
 * Returns 0, -EINTR if the process or the caller requests the end, or another -errno. */
MUST_CHECK int file_hash(int fd, const struct cancellation *cancellation, struct hash128 *hash);

#endif
