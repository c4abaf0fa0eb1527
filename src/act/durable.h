/* SPDX-License-Identifier: MIT */
#ifndef ACT_DURABLE_H
#define ACT_DURABLE_H

/* Syncs what an act relies on.
 *
 *	kept file	The kept file and its name are on the disk before the copy is removed.
 *			Without this sync, a power failure could leave a recently written kept file
 *			empty (delayed allocation) and the copy removed.
 *	names		Changed names are on the disk before the journal (journal.h) records that
 *			their acts are done.
 *
 * One thread. A zeroed struct is empty. */

#include <sys/types.h>
#include <time.h>

#include "act/held.h"

/* Highest number of file systems that are remembered. Further ones cost additional calls of
 * syncfs(2) or sync(2). */
#define DURABLE_FILE_SYSTEMS 16

struct durable_kept {
	dev_t device;
	struct timespec synced_at; /* start of its last syncfs; 0: none */
};

struct durable_changed {
	dev_t device;
	int directory; /* open for syncfs */
};

struct durable {
	struct durable_kept kept[DURABLE_FILE_SYSTEMS];
	size_t kept_count;
	struct durable_changed changed[DURABLE_FILE_SYSTEMS];
	size_t changed_count;
	bool more_changed; /* names changed in a file system that changed[] lacks */
};

/* Ensures that the kept file and its name are on the disk. The file must be held until the copy is
 * removed. Calls syncfs(2) once for each file system, and again if the file changed since the act
 * was planned or shortly before the last syncfs.
 *
 * planned	attributes of the file when the act was planned
 *
 * Blocks on the disk. Returns 0 or -errno. After a failure no copy may be removed. */
MUST_CHECK int durable_ensure_kept(struct durable *durable, const struct held *kept,
				   const struct sources *sources, const struct attributes *planned);

/* Notes that names in a directory changed.
 *
 * device	st_dev of the directory
 */
void durable_note_directory(struct durable *durable, int directory, dev_t device);

/* Syncs all file systems with changed names. Blocks. Returns 0 or -errno. */
MUST_CHECK int durable_sync_changed(const struct durable *durable);

void durable_deinit(struct durable *durable);

#endif
