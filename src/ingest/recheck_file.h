/* SPDX-License-Identifier: MIT */
#ifndef INGEST_RECHECK_FILE_H
#define INGEST_RECHECK_FILE_H

/* Updates one file whose ctime changed without an event. chattr(1), or another host on a remote
 * file system, can change the ctime without an event.
 *
 * The bytes of the file possibly changed, too. So the file is compared with a member of its group.
 * If both are equal, the file stays in its group. If they differ, or no comparison is possible, the
 * content of the file becomes unknown. */

#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "source/source.h"

/* The content of a larger file becomes unknown without a comparison. */
#define RECHECK_BYTES_MAX (UINT64_C(256) << 20)

/* Updates the file. The calling thread must hold no snapshot. Any thread. Blocks on the source, and
 * commits. SIGIO must be ignored (ingest/reading.h).
 *
 * until_ns	on the monotonic clock: no more blocks are compared after this time
 * cancellation	ends the comparison and the wait for other transactions; NULL: none
 *
 * Returns 0 if the record in the index is current. Returns -ESTALE if more than the ctime changed,
 * a process is possibly writing the file, or its record changed meanwhile. The caller must then
 * have the file rechecked. Returns -ETIMEDOUT if the comparison did not end in time, -ECANCELED
 * after stop_requested(), -EINTR if cancellation was requested, or another -errno.
 */
MUST_CHECK int ingest_recheck_file(struct catalog *catalog, const struct sources *sources,
				   uint64_t file, uint64_t until_ns,
				   const struct cancellation *cancellation);

#endif
