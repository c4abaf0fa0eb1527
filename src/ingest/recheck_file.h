/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RECHECK_FILE_H
#define INGEST_RECHECK_FILE_H

/* Updates one file whose ctime changed without an event. chattr(1) causes that, and a change by
 * another host on a remote file system.
 *
 * Its bytes may have changed too. So they are compared with those of a member of its group. If they
 * are equal, the file stays in its group. If not, its content is unknown until it is compared
 * again. */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "source/source.h"

/* A larger file is not compared here. */
#define RECHECK_BYTES_MAX (UINT64_C(256) << 20)

/* Updates the file. Must be called without a snapshot. Any thread. Blocks on the source, and
 * commits. SIGIO must be ignored (ingest/reading.h).
 *
 * until_ns	on the monotonic clock: no more blocks are compared after it
 * interruption	ends the comparison and the wait for other transactions; NULL: none
 *
 * Returns 0 if the index has the file as it is. Returns -ESTALE if more than its ctime changed or a
 * process may be writing it: the caller must have it rechecked. Returns -ETIMEDOUT if the
 * comparison did not end in time, -ECANCELED after stop_requested(), -EINTR if the waiting program
 * was interrupted, or another -errno.
 */
MUST_CHECK int ingest_recheck_file(struct catalog *catalog, const struct sources *sources,
				   uint64_t file, uint64_t until_ns,
				   const struct interruption *interruption);

#endif
