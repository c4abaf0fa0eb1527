/* SPDX-License-Identifier: MIT */
#ifndef ACT_JOURNAL_H
#define ACT_JOURNAL_H

/* Journal of acts: an intent is on the disk before its act begins, so that an interrupted act can
 * be undone (act/recovery.h). The journal is a file in the index folder. Each intent is a JSON
 * line, and its end is another line:
 *
 *	{"intent":3,"kind":"away","source":"/data","path":"a/b.jpg",
 *	 "other":".twinfs~0123456789abcdef","inode":77,"born":1700000000000000000,
 *	 "root inode":2,"root born":1600000000000000000,
 *	 "root file system":5,"mount":"/data/a","mount inode":2,...}
 *	{"did":3}
 *	{"done":3}
 *
 * The protocol:
 *
 *	journal_open	locks the journal; another process gets -EWOULDBLOCK
 *	journal_intend	adds an intent
 *	journal_sync	writes and syncs all added intents; only then may their acts begin
 *	journal_amend	replaces an intent during its act
 *	journal_note_did   writes that an act did what was intended
 *	journal_note_done  notes in memory the end of an act that did nothing
 *	journal_resolve	is called after the changed names were synced: writes the records of the
 *			acts to the log (act/act_log.h), then the ends, handles the intents without
 *			an end, and empties the journal if no intent is left
 *
 * One thread.
 */

#include <stdint.h>

#include "act/act_log.h"
#include "act/place.h"
#include "base/attributes.h"
#include "index/own.h"

/* A quarantine name: the name of a file in its directory during an act. */
#define OTHER_NAME_PREFIX QUARANTINE_PREFIX
#define OTHER_NAME_SIZE QUARANTINE_NAME_SIZE

enum intent_kind {
	/* the copy is renamed to other, then removed or moved to another folder */
	INTENT_AWAY,
	/* a link is made under the name other and exchanges names with the copy; then other is
	 * removed */
	INTENT_LINK,
	INTENT_SYMLINK,
	INTENT_SHARE, /* the copy shares the blocks of the kept file; no name changes */
	/* the copy is a folder, which is renamed to other, then emptied or moved */
	INTENT_FOLDER,
};

struct intent {
	enum intent_kind kind;
	/* all texts are borrowed */
	const char *source; /* absolute path */
	const char *path; /* of the copy, relative to the source */
	const char *other; /* quarantine name, in the directory of the copy */
	const char *to; /* absolute path that the copy moves to; NULL: no move */
	uint64_t new_folders; /* how many of the last folders of that path were missing */
	uint64_t inode; /* of the copy */
	int64_t born_ns; /* time of birth of the copy; 0: unknown */
	uint64_t kept_inode; /* INTENT_LINK: inode that the link leads to */
	/* inode of the file that the copy becomes on another file system; 0: none yet */
	uint64_t made_inode;
	int64_t made_born_ns; /* time of birth of that file; 0: unknown */
	const char *target; /* INTENT_SYMLINK */
	const char *info; /* absolute path of the info file in a trash folder; NULL: none */
	/* absolute path of the copy's bytes in a rescue folder; NULL: none */
	const char *saved;
	struct mount_identity saved_mount; /* of the rescue folder; path NULL: unknown */
	/* for the log, if the act is done: act/act_log.h as JSON; NULL: the act has no record */
	const char *record;
	struct root_identity root; /* of the source */
	struct mount_identity mount; /* of the copy; path NULL: the copy is on the source's mount */
	struct mount_identity to_mount; /* of the folder that the copy moves to */
	/* INTENT_FOLDER: 1 if the folder is being emptied. It was checked under its quarantine
	 * name, and the log has records of all names in it. */
	uint64_t is_emptied;
	/* 1 if undo makes the file at its path, where it is incomplete until the intent ends */
	uint64_t is_direct;
	uint64_t number; /* set by journal_intend() */
	uint64_t did; /* 1 after journal_note_did() */
};

struct journal;

/* Opens or creates the journal of an index and locks it. Returns 0, -EWOULDBLOCK if another process
 * has it open, or -errno. */
MUST_CHECK int journal_open(struct journal **journal, const char *folder);

/* Closes the journal and releases its lock. Accepts NULL. */
void journal_close(struct journal *journal);

/* Makes a new random quarantine name. */
void journal_other_name(char name[static OTHER_NAME_SIZE]);

/* Adds an intent in memory and sets its number. Its act must not begin before journal_sync().
 * Returns 0 or -errno. */
MUST_CHECK int journal_intend(struct journal *journal, struct intent *intent);

/* Returns a number for an intent that journal_amend() adds only if it is needed. */
uint64_t journal_reserve(struct journal *journal);

/* Writes and syncs all added intents. Blocks on the disk. Returns 0 or -errno. */
MUST_CHECK int journal_sync(struct journal *journal);

/* Replaces an intent of this journal, with data that became known during the act. Writes the new
 * version without a sync: it survives a kill of the process, but a power failure can restore the
 * old version. Returns 0 or -errno. */
MUST_CHECK int journal_amend(struct journal *journal, const struct intent *intent);

/* Writes that an act did what was intended, without a sync. journal_resolve() then writes its
 * record to the log and ends its intent. So the record of an act is never on the disk before its
 * changed names are. Returns 0 or -errno. */
MUST_CHECK int journal_note_did(struct journal *journal, uint64_t number);

/* Notes in memory that an act has ended without a change. journal_resolve() writes this. If the
 * process is killed before, recovery finds nothing to restore. Returns 0 or -errno. */
MUST_CHECK int journal_note_done(struct journal *journal, uint64_t number);

/* Writes what journal_note_done() noted, without a sync. The caller must have synced the changed
 * names before. Returns 0 or -errno. */
MUST_CHECK int journal_write_ends(struct journal *journal);

/* Adds the record of an act to the log, and to that of journal_copy_records(), in memory.
 * journal_sync_records() writes and syncs them. Both return 0 or -errno. */
MUST_CHECK int journal_add_record(struct journal *journal, const char *record);
MUST_CHECK int journal_sync_records(struct journal *journal);

/* Returns the log of the index, borrowed. The lock of the journal protects it. */
struct act_log *journal_log(struct journal *journal);

/* Makes journal_resolve() also write the records of the acts of this process to another log.
 *
 * log		borrowed until journal_close()
 */
void journal_copy_records(struct journal *journal, struct act_log *log);

/* Resolves the intents. The caller must have synced the changed names before. Writes the records of
 * the acts that this process did to the log. Calls handle for each other intent without an end,
 * last one first; handle can add records to the log. If handle returns false, the intent stays in
 * the journal. If handle returns true, the intent ends. If no intent is left, the journal is
 * emptied. The result is synced. Returns 0 or -errno. */
MUST_CHECK int journal_resolve(struct journal *journal,
			       bool (*handle)(void *context, const struct intent *intent),
			       void *context);

/* Returns 1 if the journal of an index is not empty, 0 if the journal is empty or missing, or
 * -errno of index_folder_open(). */
MUST_CHECK int journal_has_intents(const char *folder);

#endif
