/* SPDX-License-Identifier: MIT */
#ifndef CLI_MISSING_FROM_H
#define CLI_MISSING_FROM_H

/* The folders of list --missing-from and of covered. For the main thread. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"
#include "choose/missing.h"
#include "twinfs/exit.h"
#include "view/follow/opening_watch.h"

struct catalog_reader;
struct current_index;

/* Number of devices that are remembered. */
#define SHOWN_AGAIN_DEVICES 8

/* The proof that no network or FUSE file system shows a file of this host once more, as sshfs of a
 * folder of this host does. Its inode numbers and times do not show that. But if one of two files
 * is opened and read through that file system, its server opens the other file if both are one, and
 * inotify reports that. Changes nothing. A cache of the server or of the file system can hide it.
 */
struct shown_again {
	bool is_used; /* else each file is one of its own */
	struct opening_watch local; /* added files on file systems of this host */
	struct text_list served; /* paths of the others */
	dev_t served_device; /* of those */
	bool several_devices; /* those are on more than one */
	bool is_untrusted; /* a file could not be watched */
	/* spares a request to a server for each file; device 0: none. A device is at its number
	 * modulo SHOWN_AGAIN_DEVICES. */
	struct {
		dev_t device;
		bool is_served;
	} devices[SHOWN_AGAIN_DEVICES];
};

struct missing_from {
	const char *option; /* "--missing-from" or "--by", for messages */
	struct text_list given; /* arguments of the option */
	struct text_list operands; /* of the command, which includes these folders */
	struct text_list of, in; /* absolute paths of `folders` */
	struct missing_folders folders; /* for struct report */
	struct shown_again shown_again; /* of folders.proof */
};

/* Sets missing->folders for missing->of and missing->in. `missing` must not move any more. */
void missing_from_set_folders(struct missing_from *missing, enum missing_others others);

void missing_from_free(struct missing_from *missing);

/* Adds a folder of --missing-from or --by, for struct option_spec. given: struct text_list. */
int missing_from_add(void *given, const char *folder);

/* Finds the paths of the operands of the user and of the given folders, and refuses folders that
 * are the same, that share files through mounts, or that are in a view. Returns 0 or -errno,
 * logged. */
MUST_CHECK int missing_from_resolve(struct missing_from *missing, char *const *operands,
				    size_t count);

/* As missing_from_resolve(). Also sets missing->operands, to the given folders and then the
 * operands of the user, and missing->folders. */
MUST_CHECK int missing_from_begin(struct missing_from *missing, char *const *operands,
				  size_t count);

/* Checks that the index has all folders. Warns if folders on other file systems were left out, or
 * if a stacked file system possibly shows a file twice; then sets *status to
 * TWINFS_EXIT_INCOMPLETE. Returns 0, -EXDEV (logged) if the index lacks a folder, or another
 * -errno. */
MUST_CHECK int missing_from_check(const struct missing_folders *folders,
				  const struct current_index *index, struct catalog_reader *reader,
				  enum twinfs_exit *status);

/* Sets *status to TWINFS_EXIT_INCOMPLETE if a missing file has a copy that is possibly the same
 * file once more. */
void missing_from_distrust(const struct missing_tally *tally, enum twinfs_exit *status);

/* Logs which missing files have a copy that does not count, and why. Returns 0 or -errno. */
MUST_CHECK int missing_from_explain(const struct missing_tally *tally,
				    const struct sources *sources, struct catalog_reader *reader);

/* Sets missing->operands to the sources of the index to open: with --by, the given and the examined
 * folders; else those of the known index with the latest scan that has all folders and others. The
 * index of a view is not chosen, as it can miss changes.
 *
 * folder	of the only index to use (--index); NULL: any
 *
 * Returns 0, or -errno, logged. */
MUST_CHECK int covering_index_choose(struct missing_from *missing, const char *folder);

#endif
