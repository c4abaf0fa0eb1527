/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_KNOWN_HASHES_H
#define BACKUP_KNOWN_HASHES_H

/* Hashes of whole files that the index lacks, because it reads only files that can have a copy:
 * those that an earlier manifest has, and those that were read for this manifest.
 *
 * A hash belongs to a file id and its file_digest() in the index. While both are the same, the
 * bytes that were read are the content of the file. Ids are never reused.
 *
 * Takes 40 bytes of memory for each file. A struct of zeros is empty. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/manifest.h"
#include "base/attributes.h"
#include "base/hash.h"

struct file_record;

struct known_hash {
	uint64_t file;
	uint64_t digest;
	struct hash128 hash; /* if result is 0 */
	int result; /* of reading the file: 0, an enum reading_outcome, or -errno */
};

struct known_hashes {
	struct known_hash *list;
	size_t count, capacity;
	size_t sorted; /* the first ones, which known_hashes_find() searches */
};

void known_hashes_free(struct known_hashes *known);
#define CLEANUP_KNOWN_HASHES CLEANUP(known_hashes_free)

/* Adds a hash, which is found after known_hashes_sort(). Returns 0 or -ENOMEM. */
MUST_CHECK int known_hashes_add(struct known_hashes *known, const struct known_hash *hash);
void known_hashes_sort(struct known_hashes *known);

/* Returns what is known of the file in its present state, or NULL. Of several results, 0 precedes
 * failures. The result is valid until the next call that is not known_hashes_find(). */
const struct known_hash *known_hashes_find(const struct known_hashes *known,
					   const struct file_record *file);

/* Reads a whole manifest and adds its hashes, sorted. Sets *format. Returns 0, -EPROTO if the
 * manifest is not valid (logged; the hashes are then removed again), -EINTR if stop_requested(),
 * -ENOMEM, or another -errno (logged).
 *
 * fd	of the manifest, see backup/manifest_reader.h
 */
MUST_CHECK int known_hashes_load(struct known_hashes *known, int fd, const char *path,
				 enum manifest_format *format);

#endif
