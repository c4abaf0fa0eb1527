/* SPDX-License-Identifier: MIT */
#ifndef INDEX_BLOCKS_H
#define INDEX_BLOCKS_H

/* Hashes of the blocks of files (table blocks), for `dedupe --partial`, and what it found.
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

#endif
