/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_RESTORE_H
#define BACKUP_RESTORE_H

/* Makes a whole tree again from a copy of uniques/ and its manifest. One thread; blocks on the
 * disk.
 *
 * 1. the manifest is read through: nothing is written where it cannot be used 2. what the backup
 * has is made in the target, directories for the time being with 0700 3. each name of the manifest
 * is made from the content that it names, and its hash is checked 4. directories get their modes,
 * owners and times, from below 5. the target is flushed to disk
 *
 * What a file is to be is made aside (backup/staging.h), so that the work can be interrupted and
 * gone on with. Nothing is followed that is a symlink, in the backup and in the target. */

#include <stdint.h>

#include "base/attributes.h"
#include "base/metadata.h"
#include "base/progress.h"

/* What restore has in the target for itself until all is restored, see backup/staging.h; or the same
 * with a number behind it, see backup/restore_folder.h. */
#define RESTORE_FOLDER ".twinfs-restore"
#define RESTORE_FOLDER_SIZE (sizeof(RESTORE_FOLDER) + 8)

enum restore_way {
	RESTORE_COPY, /* bytes are copied */
	RESTORE_LINK, /* files become hard links of those of the backup, where all is the same */
	RESTORE_REFLINK, /* files share their blocks with those of the backup */
};

/* All strings are borrowed. */
struct restore_settings {
	const char *manifest;
	const char *backup;
	const char *target;
	enum restore_way way;
	enum progress_when progress;
};

struct restore_result {
	uint64_t files; /* names that the backup has, without directories */
	uint64_t copies; /* names of the manifest */
	uint64_t bytes; /* that were copied */
	uint64_t failed; /* names and directories that were not restored, each said */
	uint64_t parted; /* names of hard links that the target's file system refused */
	struct metadata_refused refused;
	char folder[RESTORE_FOLDER_SIZE]; /* in the target, there still where something failed */
};

/* 0: it went through to the end, and the result says what is missing. Else -errno, said: -EINTR
 * when stop_requested(). */
MUST_CHECK int restore_run(const struct restore_settings *settings, struct restore_result *result);

#endif
