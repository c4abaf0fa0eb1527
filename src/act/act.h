/* SPDX-License-Identifier: MIT */
#ifndef ACT_ACT_H
#define ACT_ACT_H

/* Acts on redundant copies. No content is lost, even if other programs write to, rename or replace
 * the files meanwhile.
 *
 *   act_begin -> act_add, for each copy -> act_flush -> act_end
 *
 * Each copy is acted on by itself. These steps protect it, in this order:
 *
 *	journal		The intent is on the disk before the first rename (act/journal.h). It has
 *			the record of the act, which journal_resolve() writes to the log
 *			(act/act_log.h) when the changed names are on the disk.
 *	open		Kept file and copy are opened below their sources, without following a
 *			symlink, and must be the indexed inodes.
 *	lease		A read lease on each file blocks a program that opens the file for writing.
 *			The act detects such a program (act/held.h).
 *	sync		The kept file and its name are on the disk before the copy loses its name
 *			(act/held.h).
 *	comparison	All bytes of both files are compared.
 *	quarantine	The copy is renamed to a private name in its own directory, and must still
 *			be the compared inode under that name. A link exchanges its name with the
 *			copy instead, in one system call.
 *	check		Both leases must be unbroken, and the kept file must still have its name.
 *	removal		The copy is removed or moved under its quarantine name only.
 *	last check	After the last name of the copy was removed, a check runs again. If it
 *			fails, the copy is written again from its open descriptor.
 *	undo		If an earlier check fails, the copy gets its own name back.
 *	end		The changed folders are on the disk before the journal drops the intents.
 *
 * If the process is killed, or the power fails, the next act, scan or mount undoes the interrupted
 * acts (act/recovery.h).
 *
 * ACT_DEDUPE changes no name and needs no sync or quarantine. The kernel locks and compares both
 * files itself.
 *
 * act_begin() makes the process ignore SIGIO, which the kernel sends when a program breaks a lease.
 * One thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "index/emptied_place.h"
#include "index/source.h"

enum act_kind {
	ACT_REMOVE,
	/* moved to <destination>/<tree of the source>/<path>. Names of one copy that are added one
	 * after the other stay hard links, if possible even on another file system
	 * (act/away.c). */
	ACT_MOVE,
	ACT_TRASH, /* moved into the desktop's trash */
	ACT_LINK, /* replaced by a hard link to the kept file */
	ACT_SYMLINK, /* replaced by a symbolic link to the kept file */
	ACT_DEDUPE, /* shares the kept file's blocks, FIDEDUPERANGE (ioctl_fideduperange(2)) */
};

enum act_outcome {
	ACT_DONE,
	ACT_NEEDLESS, /* already one inode, or all blocks are shared */
	/* Refused: the copy stays, or was restored. */
	ACT_MISSING, /* the copy is no longer at its path */
	ACT_CHANGED, /* the name of the copy leads to another file than the indexed one */
	ACT_DIFFERS, /* the bytes of copy and kept file are not equal */
	ACT_BUSY, /* a program has the copy open for writing, is opening it, or wrote to it */
	ACT_KEPT_MISSING, /* the kept file is no longer at its path */
	ACT_KEPT_CHANGED, /* the name of the kept file leads to another file */
	/* Only found in a plan file: the index does not have a file at its path, or the kept file
	 * is in a place that something else empties, and the copy is not in such a place. */
	ACT_NOT_INDEXED,
	ACT_KEPT_NOT_INDEXED,
	ACT_KEPT_TRASHED,
	ACT_KEPT_IN_SNAPSHOT,
	ACT_KEPT_IN_CACHE,
	ACT_KEPT_IN_MEMORY,
	/* Only of act_add_attested() and before it: */
	ACT_OTHER_CONTENT, /* the SHA-256 of the copy is not that of the attested content */
	ACT_NOT_ATTESTED, /* too few hosts attested that they keep the content */
	ACT_PROMISED, /* this host attested that it keeps the content */
	ACT_OTHER_HOST, /* on a network file system: possibly the file of a host that keeps it */
	ACT_ATTESTED_ITSELF, /* possibly the file that another host attested, on a shared disk */
	ACT_KEPT_BUSY, /* a program has the kept file open, is opening it, or wrote to it */
	/* The kept file's ctime changed during the act. Both files may be one file that an overlay
	 * or FUSE shows twice. */
	ACT_KEPT_ITSELF,
	ACT_NO_LEASE, /* no lease: another user's file, or a file system without leases */
	ACT_IMMUTABLE, /* the name of the copy, or a link at its path, cannot be removed */
	ACT_OTHER_FILE_SYSTEM, /* hard links and shared blocks need one file system */
	ACT_CANNOT_SHARE, /* ACT_DEDUPE: the file system cannot share blocks between files */
	ACT_OTHER_METADATA, /* a link would lose the owner, mode or xattrs of the copy */
	/* ACT_SYMLINK: it is not certain that each user who can reach the copy can reach the kept
	 * file (act/replace.c). */
	ACT_OTHER_REACH,
	ACT_EXISTS, /* ACT_MOVE: a file exists at the destination of the copy */
	/* The copy is in a lower layer of an overlay and has several names. A rename would make it
	 * a separate file. */
	ACT_LOWER_LINK,
	ACT_OWN, /* a file of twinfs itself, or the quarantine name of another act */
	/* The copy and files beside it are one store (index/managed.h), or it is in a store that
	 * a plan file ignores. */
	ACT_MANAGED,
	ACT_KEPT_MANAGED, /* the same of the kept file, which its program can change or delete */
	ACT_WRITTEN_IN_PLACE, /* a link would make a program write to both files */
	/* The file system can neither rename without the risk to replace a file nor make hard
	 * links that have the inode number of their file. */
	ACT_NO_LINKS,
	ACT_NO_TRASH, /* no trash folder can take the copy by a rename */
	ACT_FAILED, /* a call failed with act_result.error */
	ACT_LEFTOVER, /* the copy could not get its name back, and is act_result.leftover now */
	/* Only of folders, act_add_folder(). */
	ACT_NOT_IN_KEPT, /* the name is in the copy, and not in the kept folder */
	ACT_OTHER_TYPE, /* the name has another type in the kept folder */
	ACT_MOUNT_INSIDE, /* a mount point is in one of the folders */
	ACT_SUBVOLUME, /* the folder is a subvolume; undo could not make it again */
	ACT_NESTED, /* one of the folders contains the other */
	ACT_SAME_FOLDER, /* both paths lead to one folder */
	ACT_HAS_SOURCE, /* the copy contains a source or the index, or is a source */
	ACT_ACROSS, /* ACT_MOVE: the destination is on another file system */
	ACT_IN_USE, /* the name shows that a program uses the store that contains it */
};

/* One name of a file or folder and its attributes in the index. */
struct act_file {
	uint32_t source;
	const char *path; /* relative to the source, borrowed */
	const struct attributes *attributes; /* borrowed */
	struct hash128 hash; /* of the content, as the index knows it; zero: unknown */
};

/* Names whose metadata differ from those in the kept folder. A name counts once for each kind. */
struct act_differences {
	uint64_t owners, modes, times, xattrs;
};

/* What an act or a trial found in a folder. */
struct act_folder {
	uint64_t files; /* regular files; each name counts */
	uint64_t bytes; /* their sizes */
	uint64_t linked; /* of these, hard links to their partner in the kept folder */
	struct act_differences differences;
};

/* A content that other hosts keep, so that no file with it has to stay on this one. */
struct act_attested {
	uint8_t sha256[SHA256_BYTES];
	const char *hosts; /* for the record: "alpha, gamma"; borrowed */
};

struct act_result {
	enum act_outcome outcome;
	int error; /* positive errno, with ACT_FAILED */
	uint64_t freed_bytes; /* on the disk; 0 while the copy has another name */
	bool freed_is_unknown; /* the file possibly still exists in a lower layer of an overlay */
	const char *leftover; /* ACT_LEFTOVER: name in the copy's directory, during report() */
	/* of a folder: the name that is the cause, relative to the folder, during report(); NULL:
	 * the folder itself */
	const char *inside;
	struct act_folder folder; /* of a folder that was checked */
};

struct act_log;

/* All pointers are borrowed. */
struct act_settings {
	enum act_kind kind;
	const struct sources *sources;
	const char *folder; /* index folder, which contains the journal */
	/* The folder is one of all indexes of the user, so its acts get an order among all. */
	bool is_default_folder;
	const char *destination; /* ACT_MOVE: absolute path of a directory outside all sources */
	bool relative; /* ACT_SYMLINK: the target is relative */
	bool without_leases; /* if a file has no reliable lease, check size and mtime instead */
	/* ACT_LINK, ACT_SYMLINK: act even if owner, mode, xattrs or reach differ */
	bool force_metadata;
	/* Receives the records besides the log of the index. NULL: none. */
	struct act_log *records;

	/* Receives the result of each copy, in the order of the calls of act_add(). Returns false
	 * to stop: the remaining copies are dropped without a report. */
	bool (*report)(void *context, const struct act_file *copy, const struct act_result *result);
	void *context;
};

/* Outcomes of act_add, act_flush and act_end. No further act is possible. */
enum {
	/* A kept file or the changed folders could not be synced. The failure was logged. */
	ACT_CANNOT_SYNC = 1,
	ACT_STOPPED = 2, /* act_settings.report returned false; not of act_end */
};

struct act;

/* Opens the journal and undoes interrupted acts. Returns 0, -EWOULDBLOCK if another process acts on
 * this index, or -errno of the journal or of the destination. */
MUST_CHECK int act_begin(struct act **act, const struct act_settings *settings);

/* Adds a copy. Both structs and their texts are copied. Acts run in batches, so that one sync of
 * the journal is enough for a batch. A full batch runs at once, the last batch at act_flush().
 *
 * Returns 0, ACT_CANNOT_SYNC, ACT_STOPPED, or -errno of the journal. After another result than 0
 * the caller may only call act_count_split() and act_end(). */
MUST_CHECK int act_add(struct act *act, const struct act_file *kept, const struct act_file *copy);

/* Adds a copy that ACT_REMOVE or ACT_TRASH removes without a kept file. The copy is held as any
 * other one, and its SHA-256 takes the place of the comparison. The caller knows that enough hosts
 * keep the content. Returns the same values as act_add(). */
MUST_CHECK int act_add_attested(struct act *act, const struct act_file *copy,
				const struct act_attested *attested);

/* Acts on a folder at once, by ACT_REMOVE, ACT_TRASH or ACT_MOVE: the whole of it goes, or nothing.
 * kept is an equal folder. The path "." is the root of a source. The steps are in
 * act/folder_act.c. Returns the same values as act_add(). */
MUST_CHECK int act_add_folder(struct act *act, const struct act_file *kept,
			      const struct act_file *copy);

/* Returns how many copies lost hard links in a move to another file system: a name stayed behind or
 * became a separate file. The number is final after act_flush(). */
uint64_t act_count_split(const struct act *act);

/* Acts on the copies that no batch has acted on. If stop_requested(), drops the remaining copies
 * without a report. Returns the same values as act_add(). */
MUST_CHECK int act_flush(struct act *act);

/* Syncs the changed folders, then resolves the journal: intents that cannot be undone now stay in
 * it. Frees act in any case. Returns 0, ACT_CANNOT_SYNC, or -errno of the journal. */
MUST_CHECK int act_end(struct act *act);

/* Returns why a name is refused if the kept file is in such a place. */
enum act_outcome act_place_refusal(enum emptied_place kept);

/* Returns the outcome as text for people, which follows the path and a colon in a message. */
const char *act_outcome_text(enum act_outcome outcome);

/* Returns whether the act was refused or failed. */
static inline bool act_is_refused(enum act_outcome outcome)
{
	return outcome > ACT_NEEDLESS;
}

/* ---- trial -------------------------------------------------------------------------------- */

/* Finds how an act on a copy would end, without a change to any file. One thread.
 *
 * Kept file and copy are opened and held as for the act, so a trial refuses what the act would
 * refuse. It compares no bytes, and cannot foresee what other programs do before the act. A full
 * disk is not foreseen either.
 *
 * Without a kept file (act_add_attested()), only the copy is checked.
 *
 * act_trial_new() makes the process ignore SIGIO, as act_begin() does. */

struct act_trial;

/* Opens the destination of a move. settings is borrowed; its members folder, report and context are
 * not used. Returns 0 or -errno. */
MUST_CHECK int act_trial_new(struct act_trial **trial, const struct act_settings *settings);
void act_trial_free(struct act_trial *trial); /* accepts NULL */
static inline void act_trial_freep(struct act_trial **trial)
{
	act_trial_free(*trial);
}
#define CLEANUP_ACT_TRIAL CLEANUP(act_trial_freep)

/* Sets result to the outcome of the act. Its freed_bytes are those that the copy has on the disk,
 * shares with no other file, and would free together with all its names. Blocks on the files.
 *
 * kept		NULL: other hosts keep the content
 */
void act_try(struct act_trial *trial, const struct act_file *kept, const struct act_file *copy,
	     struct act_result *result);

/* As act_try(), for act_add_folder(). Reads all names of the folder. The text of result->inside is
 * valid until the next trial. */
void act_try_folder(struct act_trial *trial, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result);

#endif
