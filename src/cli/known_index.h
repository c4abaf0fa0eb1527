/* SPDX-License-Identifier: MIT */
#ifndef CLI_KNOWN_INDEX_H
#define CLI_KNOWN_INDEX_H

/* What an index says about itself, for a list of indexes. For a process with one thread. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"

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

/* ---- what a view serves ------------------------------------------------------------- */

/* What a mounted view serves, also if its daemon was killed or does not answer. For a process with
 * one thread. */

struct served_sources {
	/* Absolute paths. None if the view does not answer and its index is not in the default
	 * folder, or if the view belongs to another user. */
	struct text_list paths;
	/* of the daemon; 0: unknown, in another pid_namespaces(7), or it was killed */
	pid_t pid;
	bool answers; /* the daemon itself said its pid */
	bool shared; /* with other users */
};

/* Reads the status of the view. If the view does not answer within two seconds, reads the index in
 * the default folder whose last view was mounted there. Returns 0 or -errno; logs nothing but what
 * index_folders_list() logs. The caller frees served in either case. */
MUST_CHECK int served_sources_read(struct served_sources *served, const char *mount_point);
void served_sources_free(struct served_sources *served); /* accepts {0} */
#define CLEANUP_SERVED_SOURCES CLEANUP(served_sources_free)

/* Returns whether the view has the path as a source, or has a source below it. The path is absolute
 * and without symlinks. */
bool served_sources_are_in(const struct served_sources *served, const char *path);

/* ---- a view that shows a mount point ------------------------------------------------ */

/* A mounted view whose sources contain the mount point of a new view. It would show the new view as
 * files of a source. For the main thread. */

struct showing_view {
	char *view; /* its mount point; NULL: none */
	struct bytes source; /* text: the source that contains the new mount point */
};

/* Finds the first mounted view with a source that contains mount_point, which is absolute and
 * without symlinks. Skips a view whose status cannot be read, and waits two seconds for a view that
 * hangs. Returns 0 or -errno. The caller must call showing_view_free() in either case. */
MUST_CHECK int showing_view_find(const char *mount_point, struct showing_view *showing);
void showing_view_free(struct showing_view *showing); /* accepts {0} */

#endif
