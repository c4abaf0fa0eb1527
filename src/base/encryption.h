/* SPDX-License-Identifier: MIT */
#ifndef BASE_ENCRYPTION_H
#define BASE_ENCRYPTION_H

/* Directories that the kernel encrypts (fscrypt: ext4, f2fs, ubifs, ceph). Without the key, such a
 * directory can be listed, but its names are ciphertext. Any thread. */

#include "base/attributes.h"

/* Checks that the key of an encrypted directory is there, so that its names can be read. fd must be
 * open for reading, and have STATX_ATTR_ENCRYPTED. Returns 0, also if the kernel does not know, or
 * -ENOKEY. */
MUST_CHECK int encryption_check_key(int fd);

#endif
