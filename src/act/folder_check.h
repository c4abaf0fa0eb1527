/* SPDX-License-Identifier: MIT */
#ifndef ACT_FOLDER_CHECK_H
#define ACT_FOLDER_CHECK_H

/* Checks that a kept folder has all that its copy has. One thread.
 *
 * The first check compares all bytes, while read leases detect writers. No lease is held between
 * two checks, as a folder can have more files than a process may open. So each check remembers the
 * signatures of both files of each pair. The next check needs no comparison if these signatures are
 * unchanged, both files have a lease again, and the ctime shows each change: it was old enough at
 * the earlier check, and the file system moves it before each write. If not, it compares again. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "act/act.h"
#include "act/act_log.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"

/* ---- the walk -------------------------------------------------------------------------- */

/* A kept folder and its copy, and the walk over the names of the copy. All names are read from the
 * disk, and those of the kept folder that the copy lacks do not matter. Directories are opened
 * below the two folders: no symlink is followed and no mount point is entered. Takes memory for the
 * paths of all directories of the copy, and for the names of one. One thread. */

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

/* Fills in the outcome, for a name in the current directory; "" for the directory itself. Returns
 * FOLDER_REFUSED, or -ENOMEM. */
MUST_CHECK int folder_refuse(struct folder_pair *pair, const char *name, enum act_outcome outcome);

/* Returns the path of the current directory, relative to the folder; "" for the folder. */
const char *folder_current(const struct folder_pair *pair);

/* ---- the check ------------------------------------------------------------------------- */

/* What is remembered of a name. */
struct folder_memory {
	/* of the signatures of both files; zero: they do not prove that the bytes are unchanged */
	struct hash128 signatures;
	struct hash128 content; /* hash of a regular file, if the copy is emptied */
	uint64_t inode; /* of the copy: after a change the number can be that of another name */
};

enum folder_depth {
	FOLDER_LOOK, /* compares no bytes */
	FOLDER_COMPARE, /* compares bytes, and remembers the pairs */
	FOLDER_RECHECK, /* compares bytes of pairs that are not as remembered */
};

/* All zeros, except for the settings, is valid. */
struct folder_check {
	enum folder_depth depth;
	bool without_leases; /* check files without a reliable lease, too */
	bool is_emptied; /* the names of the copy must be removable; their content is hashed */
	bool is_begun; /* the copy is being emptied: do not stop, and hash nothing */
	struct folder_memory *memory; /* by the number of the name */
	size_t capacity;
	struct act_folder found; /* by the last check; the differences only by FOLDER_LOOK */
	/* FOLDER_LOOK: bytes on the disk that removing the copy would free, after earlier ones */
	uint64_t own_bytes;
	/* FOLDER_LOOK: names of inodes that have names outside of this and earlier copies, too */
	struct bytes links;
};

void folder_check_free(struct folder_check *check);
#define CLEANUP_FOLDER_CHECK CLEANUP(folder_check_free)

/* Checks the pair. Returns 0, FOLDER_REFUSED or -errno. Blocks on the files. */
MUST_CHECK int folder_check_run(struct folder_check *check, struct folder_pair *pair);

/* A pair of regular files, with leases. */
struct folder_files {
	struct held kept, copy;
};

/* ---- removing the folder -------------------------------------------------------------------- */

/* The removal of a folder that has its quarantine name, with all names in it. */
struct folder_emptying {
	struct folder_check *check; /* with the depth FOLDER_RECHECK */
	const char *other; /* quarantine name of the folder */
	/* Removes a regular file that was compared and is held, under the private name `other`, and
	 * checks once more that its content is not needed. Returns 0, FOLDER_REFUSED if the file
	 * has its own name again, or -errno if nothing was removed. */
	int (*remove_file)(void *context, struct folder_pair *pair, const struct folder_name *name,
			   const char *other, struct folder_files *files);
	void *context;
	uint64_t removed; /* names so far */
};

/* Empties and removes the copy of a pair after a walk over it. Checks each name once more. Returns
 * 0, FOLDER_REFUSED or -errno. If the result is not 0, the folder stays with the names that are
 * left. */
MUST_CHECK int folder_empty(struct folder_emptying *emptying, struct folder_pair *pair,
			    const struct place *place);

/* Gives the names in a folder back that an interrupted removal left with a private name. They are
 * in the log; the kept folder possibly lost them. Returns 0 or -errno.
 *
 * place	of the folder; it has the quarantine name of the intent
 * record	of the folder
 */
MUST_CHECK int folder_restore_names(const struct place *place, const struct intent *intent,
				    const struct record *record, struct act_log *log);

/* Outcome: the kept folder is not at its path. */
enum {
	FOLDER_KEPT_ABSENT = 2,
};

/* Completes the removal of a folder of which an interrupted act removed some names, after a check
 * of all that is left. Returns 0, FOLDER_KEPT_ABSENT, FOLDER_REFUSED with the result filled in, or
 * -errno; -EINTR if stop_requested().
 *
 * place	of the folder; it has the quarantine name of the intent
 * record	of the folder, with the kept folder
 */
MUST_CHECK int folder_complete(const struct place *place, const struct intent *intent,
			       const struct record *record, struct act_result *result);

#endif
