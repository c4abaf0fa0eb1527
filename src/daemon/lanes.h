/* SPDX-License-Identifier: MIT */
#ifndef DAEMON_LANES_H
#define DAEMON_LANES_H

/* Two comparers (daemon/comparer.h), one for small files and one for large ones, so that no small file waits
 * until a large one is read. Each file belongs to the lane of its size. The first comparison of the large
 * lane begins when that of the small one has ended, as a disk is read faster by one.
 *
 *	changed, came back --by size--> small or large
 *	barrier ---> small ---> large ---> barrier_reached
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "daemon/comparer.h"

struct lanes;

/* settings as of comparer_new(), copied; range and held are not heeded. settings->compared is called once:
 * when both have compared, or one of them failed to. The other calls are made by one thread at a time. 0 or
 * -ENOMEM. */
MUST_CHECK int lanes_new(struct lanes **lanes, const struct comparer_settings *settings);

/* Starts the threads. 0 or -errno. */
MUST_CHECK int lanes_start(struct lanes *lanes);

/* Ends the threads, after stop_request(); what is told afterwards is noted and left. Accepts NULL. */
void lanes_stop(struct lanes *lanes);

void lanes_free(struct lanes *lanes); /* accepts NULL */

/* As comparer_changed() and the others; any thread. size: of the file, bytes. */
void lanes_changed(struct lanes *lanes, uint64_t file, uint64_t size, bool closed);
void lanes_note_rival(struct lanes *lanes, uint64_t size);
bool lanes_have_new_rival(struct lanes *lanes, uint64_t size);
void lanes_barrier(struct lanes *lanes, uint64_t ticket);

/* As lanes_changed() for a file that may be open for writing, and whose size is not known. */
void lanes_written(struct lanes *lanes, uint64_t file);

/* Both are told. */
void lanes_note_moved(struct lanes *lanes);
void lanes_retry(struct lanes *lanes);

#endif
