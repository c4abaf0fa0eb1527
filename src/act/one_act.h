/* SPDX-License-Identifier: MIT */
#ifndef ACT_ONE_ACT_H
#define ACT_ONE_ACT_H

/* Declarations shared by the kinds of acts. Only act/ includes this header.
 *
 * An act that removes the name of a copy calls, in this order:
 *
 *	one_act_verify		compares the bytes of both held files
 *	one_act_quarantine	renames the copy to its quarantine name, then checks inode, folder
 *				and leases
 *	one_act_remove_other	removes the quarantine name, checks once more, and writes the copy
 *				again if the check fails
 *
 * If a step after the quarantine fails, one_act_put_back gives the copy its own name back.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "act/act.h"
#include "act/act_log.h"
#include "act/held.h"
#include "act/journal.h"
#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/filesystem.h"
#include "base/memory.h"
#include "base/metadata.h"

/* ---- an entry ------------------------------------------------------------------------------- */

/* An act on one file or folder, from its plan until the journal knows its end. One thread. */

/* The path of the root of a source. */
#define FOLDER_ROOT "."

struct act_session;

struct act_entry {
	bool is_folder;
	struct act_file copy;
	struct act_file kept; /* path NULL: other hosts keep the content */
	struct act_attested attested; /* that content */
	struct attributes copy_attributes, kept_attributes;
	const char *to; /* ACT_MOVE: absolute path of the copy after the move */
	uint64_t folder_bytes; /* for the record of a folder */
	char other[OTHER_NAME_SIZE]; /* quarantine name of the copy, or of its link */
	struct intent intent; /* what the journal has */
	struct record record; /* what the log gets; the intent has it as text, too */
	struct xattrs xattrs; /* of the record */
	/* Nothing can change in the copy's folder, so the act has no intent: its first step fails.
	 */
	bool is_read_only;
};

/* Sets what an act is about. Copies the texts into the memory of the session. Returns 0 or
 * -ENOMEM.
 *
 * kept		NULL: other hosts keep the attested content
 * attested	NULL if there is a kept file
 */
MUST_CHECK int entry_set(struct act_session *session, struct act_entry *entry,
			 const struct act_file *kept, const struct act_attested *attested,
			 const struct act_file *copy);

/* Sets entry->to: <destination>/<tree>/<path> for ACT_MOVE, else NULL. Returns 0 or -ENOMEM. */
MUST_CHECK int entry_set_destination(struct act_session *session, struct act_entry *entry);

/* Makes the intent and the record of an act, with what is known before it. The destination must be
 * set. Returns 0 or -errno.
 *
 * place	the copy; directory -1: it is missing, and the act will be refused
 */
MUST_CHECK int entry_plan(struct act_session *session, struct act_entry *entry,
			  const struct place *place);

/* Outcome: the record is another one now. */
enum {
	ENTRY_CHANGED = 1,
};

/* Updates the metadata of the record from the copy that is held now, and the hash if the index has
 * none or possibly another one. Returns 0, ENTRY_CHANGED, or -errno.
 *
 * kept		NULL: other hosts keep the content
 */
MUST_CHECK int entry_update(struct act_entry *entry, const struct held *copy,
			    const struct held *kept);

/* Appends the absolute path of a file or folder. Returns 0 or -errno. */
MUST_CHECK int entry_absolute_path(const struct act_session *session, const struct act_file *file,
				   struct bytes *path);

/* ---- the records of an act ----------------------------------------------------------------- */

struct recording {
	char id[ACT_ID_SIZE];
	struct act_order order;
	uint64_t files; /* records so far */
	/* the last file system and mount, which take several system calls to find */
	dev_t device;
	uint64_t mount_id; /* 0: the kernel has no ids of mounts */
	uint64_t filesystem;
	struct mount_identity mount; /* of the path below, or unknown */
	struct bytes mount_path;
};

/* Sets file system, mount, owner and mode of the directory of the copy in the record. The path of
 * the mount is valid until the next call. Returns 0 or -ENOMEM. */
MUST_CHECK int recording_note_place(struct recording *recording, struct record *record,
				    const struct place *place);

/* Starts the record of a copy, whose command and hash are set: sets what is known before the act.
 *
 * place	the copy; directory -1: it is missing
 * xattrs	filled with the attributes of the copy, and borrowed by the record
 *
 * Returns 0 or -errno. */
MUST_CHECK int recording_plan(struct recording *recording, struct record *record,
			      const struct place *place, struct xattrs *xattrs);

/* ---- acts ----------------------------------------------------------------------------------- */

/* The copy or the kept file of an act. */
struct subject {
	const struct act_file *file;
	struct place place;
	struct held held;
};

/* The file that a copy became on another file system. If further names of the copy are moved
 * directly afterwards, they become hard links of that file. One thread. A zeroed struct has no
 * file. */
struct arrived {
	bool is_known;
	struct stat original; /* attributes of the copy after one of its names was moved */
	struct held file; /* fd -1: no link to the file is possible */
	bool is_split; /* two names of the copy became two files */
	uint64_t split; /* earlier copies with a name that stayed or became another file */
};

/* Prepares for an act on a copy: closes the file unless it was made from this copy. */
void arrived_expect(struct arrived *arrived, const struct held *copy);

/* Returns the number of copies so far with a name that stayed or became another file. */
uint64_t arrived_count_split(const struct arrived *arrived);

void arrived_deinit(struct arrived *arrived);

/* What surrounds a file. Acts examine it again because it can have changed since the plan was made.
 * All zero is empty. */
struct surroundings {
	struct bytes folder; /* absolute path with a slash at its end */
	uint64_t found_ns; /* clock_monotonic_ns() */
	bool in_store; /* a folder above is a store (index/managed.h) */
	enum emptied_place place;
};

void surroundings_deinit(struct surroundings *surroundings);

/* What the acts of a process share. */
struct act_session {
	const struct act_settings *settings; /* borrowed */
	struct journal *journal; /* borrowed; NULL for a trial */
	struct durable durable;
	struct recording recording;
	int destination; /* ACT_MOVE: the folder, O_PATH; -1: none */
	struct mount_identity to_mount; /* of the destination */
	struct bytes to_mount_path;
	struct arrived arrived; /* ACT_MOVE: where earlier names of the copy were moved to */
	struct surroundings around[2]; /* of the last kept file, and of the last copy */
	struct arena memory; /* of the texts of entries */
	struct bytes links; /* of trials of folders, as in struct folder_check */
};

/* One act. */
struct one_act {
	const struct act_settings *settings;
	struct act_session *session;
	struct act_entry *entry;
	struct subject *kept; /* NULL: other hosts keep the content */
	struct subject copy;
	const char *other; /* quarantine name of the copy, or of its link */
	/* Last time when the bytes were equal and both leases unbroken, clock_monotonic_ns(). */
	uint64_t verified_ns;
	struct act_result *result;
	struct bytes *leftover; /* borrowed, holds the text of result->leftover */
	/* The bytes of the copy are in a rescue folder (one_act.c), so the journal must not record
	 * that the act is done. */
	bool is_saved_elsewhere;
};

/* Opens and holds a file. Returns 0, or fills in the result and returns 1.
 *
 * kept		true: the file is the kept file, which has outcomes of its own (ACT_KEPT_...)
 */
MUST_CHECK int subject_open(struct subject *subject, const struct act_settings *settings, bool kept,
			    struct act_result *result);
void subject_close(struct subject *subject);

/* The kept file of an act, which stays open while successive acts have it. All zeros is none. */
struct keeper {
	struct subject subject;
	bool is_open;
	struct act_file file;
	struct attributes attributes;
	struct bytes path;
};

/* Returns whether this file is open, and no program opened it for writing since. */
bool keeper_has(const struct keeper *keeper, const struct act_file *file);

/* Opens a kept file in place of the last one. Returns true, or false and fills in the result. */
MUST_CHECK bool keeper_open(struct keeper *keeper, const struct act_settings *settings,
			    const struct act_file *file, struct act_result *result);

/* Closes the file. The next act checks it anew. */
void keeper_close(struct keeper *keeper);
void keeper_deinit(struct keeper *keeper);

/* Returns why the act must leave the copy alone, whatever its bytes are, or ACT_DONE:
 *
 * ACT_OTHER_HOST, only without a kept file
 * ACT_LOWER_LINK: a rename of the copy, or a link to the kept file, would copy that file to the
 *	upper layer of an overlay. The new file would not have the other names of the file.
 * ACT_MANAGED, ACT_KEPT_MANAGED, ACT_WRITTEN_IN_PLACE: a program manages or writes a file
 * act_place_refusal(): something else empties the place of the kept file, but not that of the copy
 */
enum act_outcome one_act_examine(struct one_act *act);

/* The same for folders: ACT_MANAGED, ACT_KEPT_MANAGED, act_place_refusal() or ACT_DONE. */
enum act_outcome one_act_examine_folders(const struct one_act *act, const struct subject *kept);

/* Moves the quarantined file or folder to its destination and fills in the outcome. If a step
 * fails, it gets its own name back. */
void one_act_move(struct one_act *act);

struct trash_folder;

/* Opens the trash folder for the copy. If there is none, fills in the outcome and returns false.
 * The caller calls trash_folder_close() in any case. */
MUST_CHECK bool one_act_open_trash(struct one_act *act, struct trash_folder *trash);

/* Moves the quarantined copy to the trash and fills in the outcome. If a step fails, the copy gets
 * its own name back.
 *
 * is_valid	the last check: returns false and fills in the outcome if the copy must return
 */
void one_act_throw_away(struct one_act *act, struct trash_folder *trash,
			bool (*is_valid)(struct one_act *act));

/* Returns whether the copy's name can be removed or renamed. If not, fills in the outcome. */
MUST_CHECK bool one_act_name_can_go(struct one_act *act);

/* Each function returns true if the act is possible, as far as this can be found without a change.
 * If not, it fills in the outcome and returns false. Both files must be held. */
MUST_CHECK bool act_may_move(struct one_act *act);
MUST_CHECK bool act_may_replace(struct one_act *act);
MUST_CHECK bool act_may_dedupe(struct one_act *act);
MUST_CHECK bool act_may_trash(struct one_act *act);

/* Each function acts on the copy and fills in the result. Both files must be held. */
void act_remove_or_move(struct one_act *act); /* ACT_REMOVE, ACT_MOVE */
void act_replace(struct one_act *act); /* ACT_LINK, ACT_SYMLINK */
void act_dedupe(struct one_act *act);
void act_trash(struct one_act *act);

/* Compares both files, or the SHA-256 of the copy if there is no kept file. Returns true if they
 * are two inodes with equal bytes and one_act_still_holds() returns true. If not, fills in the
 * outcome and returns false. */
MUST_CHECK bool one_act_verify(struct one_act *act);

/* Returns true if the kept file, if there is one, still has its name, the leases are unbroken, and
 * the copy is not the kept file itself (ACT_KEPT_ITSELF). If not, fills in the outcome and returns
 * false. */
MUST_CHECK bool one_act_still_holds(struct one_act *act);

/* Checks that the quarantine name leads to the compared inode, that the copy's folder is still at
 * its path, and that one_act_still_holds() returns true. Without leases, compares the bytes once
 * more, as a program could open the copy by its path until now. If a check fails, fills in the
 * outcome and returns false. */
MUST_CHECK bool one_act_is_still_verified(struct one_act *act);

/* Renames a copy to its quarantine name. If that fails, fills in the outcome and returns false. */
MUST_CHECK bool one_act_hide(struct one_act *act);

/* Quarantines a verified copy: renames it to its quarantine name and verifies it there. If that
 * fails, gives the copy its own name back, fills in the outcome and returns false. */
MUST_CHECK bool one_act_quarantine(struct one_act *act);

/* Replaces the intent in the journal during the act, with this record. Returns 0 or -errno. */
MUST_CHECK int one_act_amend(struct one_act *act, const struct intent *intent,
			     const struct record *record);

/* Notes in the journal how an act ended. The intent stays open while the copy has its quarantine
 * name or its bytes are saved elsewhere, and after a failure: then recovery finds out how far the
 * act went. Returns 0 or -errno. */
MUST_CHECK int one_act_note_end(const struct one_act *act);

/* Fills in the outcome of a failed call: ACT_IMMUTABLE if the copy or its folder is immutable, else
 * ACT_FAILED. error is an -errno. Returns false. */
bool one_act_fail(struct one_act *act, int error);

/* Fills in an outcome. Returns false. */
bool one_act_refuse(struct one_act *act, enum act_outcome outcome);

/* Renames the file with the quarantine name back to the copy's own name. If another file has the
 * copy's own name, the copy gets the name NAME.kept-N. If the rename fails, the copy stays under
 * the quarantine name. In both cases the outcome is ACT_LEFTOVER. */
void one_act_put_back(struct one_act *act);

/* Sets the outcome ACT_LEFTOVER, unless the result of undoing an act is 0 and act->leftover is
 * empty. */
void one_act_note_undone(struct one_act *act, int result);

/* Notes the freed bytes in the result. If the file possibly still exists in a lower layer of an
 * overlay, their number is unknown. */
void one_act_note_freed(struct one_act *act, uint64_t bytes, enum layer layer);

/* Removes the quarantine name and fills in the result. If that was the last name of the copy, calls
 * is_valid for the last check, as programs could open the files meanwhile. If is_valid returns
 * false, waits for a writer of the copy, writes the copy again from its descriptor, and gives it
 * its own name back. Returns 0, or -errno if nothing was removed.
 *
 * is_valid	returns false if the copy is still needed. Then it can fill in the outcome, which is
 *		otherwise ACT_BUSY, and must remove a symbolic link at the copy's name
 */
MUST_CHECK int one_act_remove_other(struct one_act *act, bool (*is_valid)(struct one_act *act));

/* ---- folders (folder_act.c) -------------------------------------------------------------- */

/* Acts on a folder and reports the result, unless it was stopped before a change. Returns 0,
 * ACT_CANNOT_SYNC (logged), ACT_STOPPED, or -errno of the journal. */
MUST_CHECK int folder_act_run(struct act_session *session, const struct act_file *kept,
			      const struct act_file *copy);

/* Sets result to the outcome of the act as far as it can be found without a change and without a
 * comparison of bytes.
 *
 * inside	replaced by the text of result->inside
 */
void folder_act_try(struct act_session *session, const struct act_file *kept,
		    const struct act_file *copy, struct act_result *result, struct bytes *inside);

#endif
