/* SPDX-License-Identifier: MIT */
#ifndef ACT_DURABLE_H
#define ACT_DURABLE_H

/* Puts on the disk what an act relies on. A kept file is there, with its name, before a copy goes:
 * after a power cut a file that was written moments before may be empty (delayed allocation), and
 * its copy may be gone all the same. What was done to names is there before the journal forgets it.
 *
 * One thread. A struct that is zeroed is empty. */

#include <sys/types.h>
#include <time.h>

#include "act/internal.h"

/* File systems that are remembered at once. More of them only cost further calls of syncfs(2). */
#define DURABLE_FILE_SYSTEMS 16

struct durable_kept {
	dev_t device;
	struct timespec synced_at; /* when the last syncfs of it began; 0: there was none */
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
	bool more_changed; /* in file systems that are not in the list */
};

/* Returns when the kept file and its name are on the disk. It must be held and stay so until the
 * copy is gone. Waits for one syncfs of each file system. It waits for another one if the file
 * changed since it was planned, or shortly before the last syncfs.
 *
 * planned	attributes of the file when the act was planned
 *
 * Returns 0 or -errno of the disk: then no copy may go. */
MUST_CHECK int durable_ensure_kept(struct durable *durable, const struct held *kept,
				   const struct sources *sources, const struct attributes *planned);

/* Remembers that names in the directory of a subject were changed. */
void durable_note_changed(struct durable *durable, const struct subject *subject);

/* Returns when all names that were changed are on the disk: 0 or -errno. */
MUST_CHECK int durable_sync_changed(const struct durable *durable);

void durable_deinit(struct durable *durable);

#endif
