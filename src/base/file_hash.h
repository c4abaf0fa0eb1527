/* SPDX-License-Identifier: MIT */
#ifndef BASE_FILE_HASH_H
#define BASE_FILE_HASH_H

#include "base/attributes.h"
#include "base/cancellation.h"
#include "base/hash.h"

/* Hashes all bytes of an open file, like `xxhsum -H2`. Any thread; blocks on the disk. Returns 0,
 * -EINTR if interrupted or stop_requested(), or another -errno. */
MUST_CHECK int file_hash(int fd, const struct cancellation *cancellation, struct hash128 *hash);

#endif
