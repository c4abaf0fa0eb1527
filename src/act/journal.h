/* SPDX-License-Identifier: MIT */
#ifndef ACT_JOURNAL_H
#define ACT_JOURNAL_H

/* What is about to be done to files, on the disk before it is done, so that an act that is cut off
 * can be undone (act/undo.h). A file of JSON lines in the index folder: an intent, and after it,
 * where it came to its end, that it did.
 *
 *	{"intent":3,"kind":"away","source":"/data","path":"a/b.jpg","other":".twinfs~0123456789abcdef",
 *	 "inode":77,"born":1700000000000000000,"root inode":2,"root born":1600000000000000000,
 *	 "root file system":5,"mount":"/data/a","mount inode":2,...}
 *	{"done":3}
 *
 * Who has it open holds its lock. One thread.
 */

#include <stdint.h>

#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"

/* Under such a name a file stands in its directory while an act is under way. */
#define OTHER_NAME_PREFIX ".twinfs~"
#define OTHER_NAME_SIZE (sizeof(OTHER_NAME_PREFIX) + 16)

enum intent_kind {
	/* the copy is renamed to other, then goes, to another folder or for good */
	INTENT_AWAY,
	/* a link is made at other, then the two change their names, then other goes */
	INTENT_LINK,
	INTENT_SYMLINK,
};

struct intent {
	enum intent_kind kind;
	const char *source; /* absolute path; borrowed, as all of them */
	const char *path; /* of the copy, relative to it */
	const char *other;
	const char *to; /* absolute path that the copy moves to; NULL: to none */
	uint64_t inode; /* of the copy */
	int64_t born_ns; /* 0: the file system does not say */
	uint64_t kept_inode; /* INTENT_LINK: what the link leads to */
	/* of the file that the copy becomes on another file system; 0: there is none yet */
	uint64_t made_inode;
	int64_t made_born_ns; /* 0: the file system does not say */
	const char *target; /* INTENT_SYMLINK */
	const char *info; /* absolute path of the info file in a trash folder; NULL: none is made */
	const char *
		saved; /* absolute path of its bytes, which had no room in its directory; NULL: none */
	struct root_identity root; /* of the source */
	struct mount_identity mount; /* of the copy, if it is another one than that of the source */
	struct mount_identity to_mount; /* of the folder that the copy moves to */
	uint64_t number;
};

struct journal;

/* Opens that of an index, making it where it is missing, and locks it. 0, -EWOULDBLOCK while
 * another process has it, or -errno. */
MUST_CHECK int journal_open(struct journal **journal, const char *folder);

/* Ends it, the lock too. */
void journal_close(struct journal *journal);

/* Makes a name that no other act has. */
void journal_other_name(char name[static OTHER_NAME_SIZE]);

/* Takes note of an intent; sets its number. Nothing of it may be done before journal_sync. */
MUST_CHECK int journal_intend(struct journal *journal, struct intent *intent);
MUST_CHECK int journal_sync(struct journal *journal);

/* Writes an intent of this journal once more, with what is known of it by now. A process that is
 * killed later finds that, after a power cut perhaps the intent as it was. 0 or -errno. */
MUST_CHECK int journal_amend(struct journal *journal, const struct intent *intent);

/* An intent came to its end. Only journal_settle writes that, so that it is never on the disk
 * before what was done: until then, undoing it finds nothing to do. */
MUST_CHECK int journal_note_done(struct journal *journal, uint64_t number);

/* To be called when what was done is on the disks. Calls handle for each intent that has no end, in
 * reverse order; those for which it gives false stay in the journal, which has nothing else
 * afterwards, durably. 0 or -errno. */
MUST_CHECK int journal_settle(struct journal *journal,
			      bool (*handle)(void *context, const struct intent *intent),
			      void *context);

/* Returns 1 if an index has a journal with something in it, 0 if not, or -errno of
 * index_folder_open(). */
MUST_CHECK int journal_has_intents(const char *folder);

#endif
