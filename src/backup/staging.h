/* SPDX-License-Identifier: MIT */
#ifndef BACKUP_STAGING_H
#define BACKUP_STAGING_H

/* The folder in the target of a restore, there until all is restored:
 *
 *	TARGET/.twinfs-restore/state    what is restored, and since which boot and mount
 *	                       file     what is made at the moment
 *	                       links/   one name for each inode that is to get several
 *
 * A file is made here with all that it is to have, and then gets its name in one step: so a name in
 * TARGET is that of a whole file, unless the machine went down or the disk was pulled out. For a
 * process that has TARGET open; one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Outcomes that the caller must handle; failures are -errno. */
enum {
	STAGING_NOT_EMPTY = 1, /* TARGET has something in it, and this folder not */
	STAGING_OTHER = 2, /* it belongs to another restore */
	STAGING_BUSY = 3, /* another process is at it */
	STAGING_ENDED = 4, /* all is restored, and this folder is there still and empty */
	STAGING_ENDING = 5, /* it is ours, all is restored, and staging_remove() was cut off */
	STAGING_PARTED = 6, /* placed, but not as a hard link of the names that came before */
};

struct staging {
	int target; /* borrowed */
	const char *name; /* of the folder in it; borrowed */
	int folder;
	int links;
	bool resumed; /* some of it may be restored already */
	uint64_t task; /* hash of it */
	long since; /* where its state says since when; for staging_distrust() */
	bool trusted; /* and is whole: it is the same boot and mount still, and nobody doubted */
};

/* Makes the folder, or takes over that of a restore that was interrupted.
 *
 * name		of the folder
 * task		what is restored, in a few lines of text: only the same one is gone on with
 *
 * Nothing is changed where the result is an outcome. deinit undoes a partial one. */
MUST_CHECK int staging_init(struct staging *staging, int target, const char *name,
			    const char *task);

/* Has the next restore that takes the folder over read again what this one has made. 0 or
 * -errno. */
MUST_CHECK int staging_distrust(const struct staging *staging);

/* Closes; the folder stays. */
void staging_deinit(struct staging *staging);

/* Removes the folder with what is in it. Before that the target gets a mark, an extended attribute,
 * by which the same restore is known when it is cut off before staging_unmark(): then staging_init()
 * gives STAGING_ENDING, and this goes on. A file system without such attributes has no mark. 0 or
 * -errno. */
MUST_CHECK int staging_remove(struct staging *staging);

/* Takes the mark from the target when nothing is left to be done. */
void staging_unmark(const struct staging *staging);

/* Gives what was made as "file" its name in an open directory. A file that has the name is replaced
 * only where it may have come to harm since it was made.
 *
 * key	NULL, or the name that its inode keeps in links/ so that others can be added
 *
 * 0, STAGING_PARTED, -EEXIST or another -errno. */
MUST_CHECK int staging_place(const struct staging *staging, const char *key, int directory,
			     const char *name);

/* Gives the inode in links/ another name, as staging_place() does.
 *
 * names	how many it is to have; with the last one links/ lets go of it
 */
MUST_CHECK int staging_link(const struct staging *staging, const char *key, int directory,
			    const char *name, unsigned long names);

/* Does the file system refuse a further hard link, as FAT does all and others too many of one file? */
bool staging_is_without_links(int error);

#define STAGING_FILE "file"

/* Removes what was made and cannot be placed. */
void staging_drop(const struct staging *staging);

#endif
