/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SERVED_SOURCES_H
#define INDEX_SERVED_SOURCES_H

/* What a mounted view serves, also if its daemon was killed or does not answer. For a process with
 * one thread. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text_list.h"

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

#endif
