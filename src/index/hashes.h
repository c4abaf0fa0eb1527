/* SPDX-License-Identifier: MIT */
#ifndef INDEX_HASHES_H
#define INDEX_HASHES_H

/* Hashes of contents, by which other commands compare files: of blocks, and SHA-256.
 *
 * The hashes of the blocks of files (table blocks) are for `dedupe --partial`.
 *
 * A file has a state, and parts with the hashes of adjacent blocks. A part with zeros only is not
 * stored, so a sparse file takes space for its data only. The state is written after the last part.
 * Without a state, or if its digest is not that of the file, the parts have no meaning: the file
 * was not read to its end, or has changed since. file_delete() deletes all of them.
 *
 * Unless noted otherwise, the functions return 0 or -errno; -EUCLEAN if a record is damaged. One
 * thread at a time for each reader or writer.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "index/record.h"

struct catalog;
struct catalog_reader;
struct catalog_scan;
struct catalog_writer;

/* Gets the state of a file. Returns -ENOENT if it has none. */
MUST_CHECK int catalog_get_blocks_state(struct catalog_reader *r, uint64_t file,
					struct blocks_state *state);

/* Begins an iteration over the parts of a file; catalog_next_blocks() returns -ENOENT at the end
 * (index/scan.h). */
MUST_CHECK int catalog_scan_blocks(struct catalog_reader *r, uint64_t file,
				   struct catalog_scan **scan);
MUST_CHECK int catalog_next_blocks(struct catalog_scan *scan, struct blocks_part *part);

/* Deletes the state and the parts of a file. */
MUST_CHECK int catalog_forget_blocks(struct catalog_writer *w, uint64_t file);

/* Stores a part of a file, and the state after all its parts. Do nothing if the index does not have
 * the file. */
MUST_CHECK int catalog_put_blocks_part(struct catalog_writer *w, uint64_t file,
				       const struct blocks_part *part);
MUST_CHECK int catalog_put_blocks_state(struct catalog_writer *w, uint64_t file,
					const struct blocks_state *state);

/* Equal parts of different files that could share their blocks, when they were last counted. */
struct equal_parts {
	uint64_t runs, bytes;
	uint64_t block_bytes; /* the files were compared in blocks of this size */
	struct timespec time;
};

/* Notes the equal parts. The note is a file in the index folder, not a record, as another process
 * can have the index open for writing. A failure is only logged for debugging: nothing but a figure
 * is missing then. Any thread. */
void catalog_note_equal_parts(struct catalog *catalog, const struct equal_parts *parts);

/* Reads the last note. Returns 0, -ENOENT if there is none of this index, or another -errno. Any
 * thread. */
MUST_CHECK int catalog_get_equal_parts(const struct catalog *catalog, struct equal_parts *parts);

/* ---- SHA-256 of contents ----------------------------------------------------------- */

/* SHA-256 of contents (table digest), by which hosts are compared (`twinfs digest`).
 *
 * The digest of a file is current while file_digest() is what it was when the file was read. A
 * group can have a digest, too: its id always stands for the same bytes, so this digest is current
 * as long as the group exists. It is that of all its members, whatever their times.
 *
 * Digests are deleted with their file or group. The functions return 0 or -errno; -EUCLEAN if a
 * record is damaged. One thread at a time for each reader or writer.
 */

/* Gets the current digest of a file, or that of its group. Returns -ENOENT if there is none. */
MUST_CHECK int catalog_find_digest(struct catalog_reader *r, const struct file_record *file,
				   uint8_t bytes[SHA256_BYTES]);

/* Stores the digest of a file, and that of its group. Does nothing if the index does not have the
 * file, or if the file is in another state than digest->state. */
MUST_CHECK int catalog_put_digest(struct catalog_writer *w, uint64_t file,
				  const struct digest_record *digest);

#endif
