/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RECHECK_FILE_H
#define INGEST_RECHECK_FILE_H

/* Bringing one file of the index up to date whose ctime moved without an event: chattr(1) does that, and
 * a change on another host of a remote file system.
 *
 * Its bytes may be others, too, so they are compared with those of a member of its group. If they are
 * equal, the file stays in its group. Else its content is unknown until it is compared with all. */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "source/source.h"

struct interruption;

/* A larger file is not compared here. */
#define RECHECK_BYTES_MAX (UINT64_C(256) << 20)

/* Returns 0: the index has the file as it is; -ESTALE: more than its ctime moved, or somebody may be
 * writing it: somebody else has to look at it; -ETIMEDOUT: the comparison did not end in time;
 * -ECANCELED: stop_requested(); -EINTR: the program that waits was interrupted; or -errno. Without a
 * snapshot. Any thread. Blocks on the source, and commits. SIGIO must be ignored (ingest/reading.h).
 *
 * until_ns	on the monotonic clock: no more blocks are compared from then on
 * interruption	ends the comparison and the wait for other transactions; NULL: none
 */
MUST_CHECK int ingest_recheck_file(struct catalog *catalog, const struct sources *sources,
				   uint64_t file, uint64_t until_ns,
				   const struct interruption *interruption);

#endif
