/* SPDX-License-Identifier: MIT */
#ifndef ACT_ACT_ORDER_H
#define ACT_ACT_ORDER_H

/* The order of the acts of all indexes in the default folder, or of one index in another place.
 * Clocks can be set back, and two acts can begin within a second. So each act gets a number, which
 * is in its records (act/record.h).
 *
 * The file TWINFS_ACT_ORDER beside the indexes has the last number, and the random id of its
 * series. For an index in another place, the file is in its folder. Numbers of different series
 * cannot be compared: another user or machine gave them. If the file is lost, the series of the
 * logs goes on. The file also lists the last act of each log when the file was made, and the number
 * of the next act: it and all later ones are after that act. An act that did nothing is in no log.
 * So the file has the number of the last act with a record apart. It shows whether a log is lost.
 *
 *	series 0123456789abcdef last 00000000000000000012
 *	before 3fa2b1c0 1
 *	logged 00000000000000000011
 *
 * Any thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text_list.h"

struct act_order {
	uint64_t series; /* 0: the act has no number */
	uint64_t number; /* from 1 */
};

/* Takes the next number for an act of this index. The caller must hold the lock of the journal.
 * Waits for other processes that take a number. Blocks on the disk.
 *
 * folder	of the index
 * is_default	whether the folder above is the default one, which is then marked as one of twinfs.
 *		If not, its file is used only if it has a series.
 *
 * Returns 0 or -errno; then the act has no number. */
MUST_CHECK int act_order_take(const char *folder, bool is_default, struct act_order *order);

/* The content of the file. All zeros: there is no file. */
struct act_order_series {
	uint64_t id;
	struct text_list before; /* "ID NUMBER": the act is before those from this number on */
	uint64_t logged; /* number of the last act with a record that is no undo; 0: unknown */
};

/* Notes that an act, which is no undo, gets its first record. Without the file beside the folder,
 * or if that has another series, nothing is noted. index is the folder of the index. Blocks on the
 * disk. Returns 0 or -errno. */
MUST_CHECK int act_order_note_logged(int index, const struct act_order *order);

/* Reads the file for the default folder, or for the folder of an index in any place. A missing or
 * corrupt file is none. The caller must call act_order_series_free() in any case. Returns 0 or
 * -errno. */
MUST_CHECK int act_order_read(const char *folder, bool is_index, struct act_order_series *series);
void act_order_series_free(struct act_order_series *series);

#endif
