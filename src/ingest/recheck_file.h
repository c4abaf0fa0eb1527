/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RECHECK_FILE_H
#define INGEST_RECHECK_FILE_H

/* Updates one file whose ctime changed without an event. chattr(1), or another host on a remote
 * file system, can change the ctime without an event.
 *
 * The bytes of the file possibly changed as well. So the file is compared with a member of its
 * group. If both are equal, the file stays in its group. If they differ, the content of the file is
 * unknown until the next comparison. */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "source/source.h"

/* A larger file is not compared here. */
#define RECHECK_BYTES_MAX (UINT64_C(256) << 20)

/* Updates the file. Must be called without a snapshot. Any thread. Blocks on the source, and
 * commits. SIGIO must be ignored (ingest/reading.h).
 *
 * until_ns	on the monotonic clock: no more blocks are compared after this time
 * cancellation	ends the comparison and the wait for other transactions; NULL: none
 *
 * Returns 0 if the record in the index is current. Returns -ESTALE if more than the ctime changed,
 * or if a process is possibly writing the file. The caller must then have the file rechecked.
 * Returns -ETIMEDOUT if the comparison did not end in time, -ECANCELED after stop_requested(),
 * -EINTR if the waiting program was interrupted, or another -errno.
 */
MUST_CHECK int ingest_recheck_file(struct catalog *catalog, const struct sources *sources,
				   uint64_t file, uint64_t until_ns,
				   const struct cancellation *cancellation);

#endif
