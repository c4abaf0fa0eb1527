/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FOLLOW_LANES_H
#define VIEW_FOLLOW_LANES_H

/* Two comparers (view/follow/comparer.h), one for small files and one for large ones, so that no
 * small file waits until a large file is read, and the mapper (view/follow/lanes.c) behind them.
 * Each file belongs to the lane of its size. The first comparison of the large lane begins after
 * the first comparison of the small lane, as one reader uses a disk better than two.
 *
 *	changed file, rival --by size--> small or large
 *	barrier ---> small ---> large ---> mapper ---> barrier_reached
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/follow/comparer.h"

struct commit_delta;
struct lanes;

/* Creates the comparers and the mapper. Copies settings (view/follow/comparer.h); range and held
 * are ignored. settings->compared is called only once, when both lanes have compared and the groups
 * are mapped, or one of them has failed. One thread at a time calls settings->busy. Always the same
 * thread calls settings->barrier_reached. Returns 0 or -ENOMEM. */
MUST_CHECK int lanes_new(struct lanes **lanes, const struct comparer_settings *settings);

/* Starts the threads. Returns 0 or -errno. */
MUST_CHECK int lanes_start(struct lanes *lanes);

/* Ends the threads. The caller must call stop_request() first. Later notes are stored and not
 * processed. Accepts NULL. */
void lanes_stop(struct lanes *lanes);

void lanes_free(struct lanes *lanes); /* accepts NULL */

/* The functions below call functions of comparer.h, for one lane or both. Any thread. */

/* Notes the files that a commit left unread, the rivals in it, and the groups to map. */
void lanes_note_commit(struct lanes *lanes, const struct commit_delta *delta);

/* For the lane of this file size in bytes. */
bool lanes_have_new_rival(struct lanes *lanes, uint64_t size);

/* For both lanes. */
void lanes_note_moved(struct lanes *lanes);
void lanes_retry(struct lanes *lanes);

/* For the small lane, then the large lane, then the mapper. */
void lanes_barrier(struct lanes *lanes, uint64_t ticket);

/* Notes that any file possibly shares other extents than before. */
void lanes_remap(struct lanes *lanes);

/* Notes a file of unknown size that was written to and is possibly still open, in both lanes. */
void lanes_note_written(struct lanes *lanes, uint64_t file);

#endif
