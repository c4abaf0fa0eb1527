/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_BACKUP_CHECK_H
#define BACKUP_BACKUP_CHECK_H

/* Checks a copy of uniques/ against a manifest of all names: whether a restore would give each name
 * with its bytes. Nothing is written. One thread; blocks on the disk.
 *
 * The backup is walked in the order of the manifest, so both are read once. Takes memory for the
 * names of each directory from the root to the current one. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/progress.h"

enum backup_fault {
	BACKUP_MISSING, /* the backup lacks the name, or the file that has its bytes */
	BACKUP_DAMAGED, /* other bytes, or another type */
	BACKUP_UNREADABLE, /* the bytes cannot be read */
	BACKUP_SURPLUS, /* the manifest lacks the name; a directory is named without its entries */
	/* What the manifest cannot prove: */
	BACKUP_UNPROVED, /* it has no hash, so only the name was checked */
	BACKUP_UNLISTED, /* the directory could not be listed for it, so it lacks the names in it */
};
#define BACKUP_FAULTS (BACKUP_UNLISTED + 1)

/* Metadata of a name in the backup that differs from the manifest. A restore gives it this
 * metadata. The root is the name ".". */
struct backup_metadata {
	uint64_t modes, owners, times, links, xattrs; /* numbers of names */
	struct bytes first; /* path of the first such name */
};

/* All pointers are borrowed. */
struct backup_check {
	const char *manifest;
	const char *backup;
	enum progress_when progress;
	/* Called for each fault. Returns 0, or -errno, which ends the check.
	 *
	 * error	for BACKUP_UNREADABLE: -errno, else 0 */
	int (*found)(void *context, const struct bytes *path, enum backup_fault fault, int error);
	void *context;
};

struct backup_figures {
	uint64_t names; /* of the manifest */
	uint64_t faults[BACKUP_FAULTS];
	struct backup_metadata metadata;
};

void backup_figures_deinit(struct backup_figures *figures);
#define CLEANUP_BACKUP_FIGURES CLEANUP(backup_figures_deinit)

/* Checks the whole backup and sets *figures. The manifest must be MANIFEST_ALL. Returns 0 if the
 * check reached its end, -EINTR if stop_requested(), the result of found(), or another -errno.
 * Failures are logged, except those of found() and -EINTR. */
MUST_CHECK int backup_check_run(const struct backup_check *check, struct backup_figures *figures);

#endif
