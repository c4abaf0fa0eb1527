/* SPDX-License-Identifier: MIT */
#ifndef ACT_FOLDER_PAIR_H
#define ACT_FOLDER_PAIR_H

/* A kept folder and its copy, and the walk over the names of the copy. All names are read from the
 * disk, and those of the kept folder that the copy lacks do not matter. Directories are opened
 * below the two folders: no symlink is followed and no mount point is entered. Takes memory for the
 * paths of all directories of the copy, and for the names of one. One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "act/act.h"
#include "act/journal.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* Outcome: the act is refused, and pair->result has the cause. */
enum {
	FOLDER_REFUSED = 1,
};

/* A directory of the copy. */
struct folder_dir {
	size_t path; /* offset in folder_pair.paths, relative to the folder; "" for the folder */
	uint64_t first; /* number of the first name in it */
};

/* All zeros, except for the borrowed members, is valid. */
struct folder_pair {
	int kept, copy; /* the two folders, open for reading; borrowed */
	struct act_result *result; /* borrowed */
	struct bytes inside; /* of result->inside */
	/* The directories of the copy. Each one comes after the one that contains it. */
	struct folder_dir *dirs;
	size_t count, capacity;
	struct bytes paths;
	size_t current; /* index of the directory that is being visited */
};

void folder_pair_free(struct folder_pair *pair);
#define CLEANUP_FOLDER_PAIR CLEANUP(folder_pair_free)

/* A name in the copy. */
struct folder_name {
	const char *name;
	int kept, copy; /* the directories that contain it, open for reading */
	struct statx of_kept, of_copy;
	uint64_t number; /* of the name in the walk, from 0 */
};

/* Receives a name. Returns 0, FOLDER_REFUSED or -errno; another result than 0 ends the walk. */
typedef int folder_visitor(void *context, struct folder_pair *pair, const struct folder_name *name);

/* Visits all names of the copy, and collects its directories. A directory is visited before the
 * names in it. In each directory the names are sorted, so that two walks over the same names number
 * them in the same way. Refuses a name that the kept folder lacks or that has another type there, a
 * mount point, and a directory that both folders contain. Returns 0, FOLDER_REFUSED or -errno. */
MUST_CHECK int folder_pair_walk(struct folder_pair *pair, folder_visitor *visit, void *context);

/* Visits the names of the copy in reverse order of the directories of the last walk, without those
 * directories. Refuses as folder_pair_walk() does, and a directory that the last walk did not find.
 * Calls leave for each directory, except for the folder itself, when its names were visited. */
MUST_CHECK int folder_pair_walk_back(struct folder_pair *pair, folder_visitor *visit,
				     folder_visitor *leave, void *context);

/* Makes the private name that a name in the copy has in the moment of its removal.
 *
 * folder	quarantine name of the folder
 */
void folder_private_name(char other[static OTHER_NAME_SIZE], const char *name, const char *folder);

/* Fills in the outcome, for a name in the current directory; "" for the directory itself. Returns
 * FOLDER_REFUSED, or -ENOMEM. */
MUST_CHECK int folder_refuse(struct folder_pair *pair, const char *name, enum act_outcome outcome);

/* As folder_refuse(), for a call that failed with this -errno. */
MUST_CHECK int folder_fail(struct folder_pair *pair, const char *name, int error);

/* Returns the path of the current directory, relative to the folder; "" for the folder. */
const char *folder_current(const struct folder_pair *pair);

#endif
