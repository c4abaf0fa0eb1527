/* SPDX-License-Identifier: MIT */
#ifndef INDEX_KNOWN_INDEX_H
#define INDEX_KNOWN_INDEX_H

/* What an index says about itself, for a list of indexes. For a process with one thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text_list.h"

struct known_index {
	const char *folder; /* borrowed */
	int outcome; /* of catalog_open(); if it is not 0, the index cannot be read */
	struct text_list sources; /* absolute */
	bool of_operands; /* it has only files and folders that a command named in the source */
	bool absent; /* no source exists now */
	uint64_t bytes; /* on the disk */
	struct timespec last_scan; /* 0: unknown */
	pid_t pid; /* of the process that uses the index; 0: none, -1: unknown */
	char *mount_point; /* of the view of that process; "": none */
	struct bytes last_view; /* its last mount point; a NUL follows it; empty: none */
};

void known_index_free(struct known_index *index);
#define CLEANUP_KNOWN_INDEX CLEANUP(known_index_free)

/* Reads the index in a folder. Returns 0, also if the index cannot be read, or -ENOMEM. Logs
 * nothing. */
MUST_CHECK int known_index_read(struct known_index *index, const char *folder);

/* Adds the folders of all known indexes, each once: those in the default folder, and those of the
 * mounted views that answer. Returns 0 or -errno; logs what index_folders_list() logs. */
MUST_CHECK int known_indexes_list(struct text_list *folders);

/* Returns whether no source exists, and the last scan was long ago. */
bool known_index_is_old(const struct known_index *index);

#endif
