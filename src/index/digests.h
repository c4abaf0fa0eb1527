/* SPDX-License-Identifier: MIT */
#ifndef INDEX_DIGESTS_H
#define INDEX_DIGESTS_H

/* SHA-256 of contents (table digest), by which hosts are compared (`twinfs digest`).
 *
 * The digest of a file is current while file_digest() is what it was when the file was read. A
 * group can have a digest, too: its id always stands for the same bytes, so this digest is current
 * as long as the group exists. It is that of all its members, whatever their times.
 *
 * Digests are deleted with their file or group. The functions return 0 or -errno; -EUCLEAN if a
 * record is damaged. One thread at a time for each reader or writer.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "index/record.h"

struct catalog_reader;
struct catalog_writer;

/* Gets the current digest of a file, or that of its group. Returns -ENOENT if there is none. */
MUST_CHECK int catalog_find_digest(struct catalog_reader *r, const struct file_record *file,
				   uint8_t bytes[SHA256_BYTES]);

/* Stores the digest of a file, and that of its group. Does nothing if the index does not have the
 * file, or if the file is in another state than digest->state. */
MUST_CHECK int catalog_put_digest(struct catalog_writer *w, uint64_t file,
				  const struct digest_record *digest);

#endif
