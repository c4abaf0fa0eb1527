/* SPDX-License-Identifier: MIT */
#ifndef ACT_ACT_LOG_H
#define ACT_ACT_LOG_H

/* The log of acts: a file in the index folder with a record in each line. Records are only
 * appended. One thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "act/place.h"
#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/metadata.h"
#include "base/text.h"

/* ---- records -------------------------------------------------------------------------------- */

/* Record of what an act did to one file, as a JSON line:
 *
 *	{"act":"3fa2b1c0","file":12,"time":"2026-11-26T14:30:05Z","command":"remove",
 *	 "path":"/data/a/b.jpg","source":"/data","kept":"/data/c.jpg","kept_source":"/data",
 *	 "size":3000,"hash":"...","mode":"0644","uid":1000,"gid":1000,"mtime":1700000000,...}
 *
 * twinfs(5) describes the members. Pure code, any thread. */

/* Size of the id of an act: 8 hexadecimal digits and a NUL. */
#define ACT_ID_SIZE 9

enum record_command {
	/* the values of enum act_kind, in the same order */
	RECORD_REMOVE,
	RECORD_MOVE,
	RECORD_TRASH,
	RECORD_LINK,
	RECORD_SYMLINK,
	RECORD_DEDUPE,
	RECORD_UNDO, /* of one file of an earlier act */
};

/* Whether the act was done. */
enum record_state {
	RECORD_DONE,
	/* A kill or a power failure interrupted the act, and the file is not at its path. Another
	 * program possibly moved the file before the act began. */
	RECORD_INTERRUPTED,
	/* A kill or a power failure interrupted the act, and this file is as it was before. At most
	 * one such record is made for an act. It shows that the act was interrupted. */
	RECORD_RETURNED,
	/* The interrupted act waits in the journal for a disk that is absent. Not in a log. */
	RECORD_WAITING,
};

/* The place of an act in the order of all, see act/act_log.h. */
struct act_order {
	uint64_t series; /* 0: the act has no number */
	uint64_t number; /* from 1 */
};

struct record {
	/* all texts are borrowed; NULL: none */
	const char *act; /* id */
	uint64_t file; /* number of the file in its act, from 1 */
	enum record_command command;
	enum record_state state;
	struct timespec time;
	struct act_order order; /* of the act */
	const char *source, *path; /* of the copy, absolute */
	const char *kept_source, *kept; /* of the kept file, absolute */
	const char *kept_by; /* names of the hosts that keep the content; kept is NULL then */
	const char *to; /* absolute path of a moved or trashed file */
	const char *info; /* absolute path of the info file in the trash */
	const char *target; /* of a symbolic link */
	const char *undone; /* RECORD_UNDO: id of the act */
	uint64_t undone_file; /* RECORD_UNDO: number of the file in that act */
	uint64_t size;
	struct hash128 hash;
	uint8_t sha256[SHA256_BYTES]; /* if kept_by is not NULL */
	/* of the copy before the act */
	uint32_t type; /* S_IFREG, S_IFDIR, ...; 0 is S_IFREG */
	uint64_t device; /* st_rdev of a device */
	uint32_t mode, uid, gid;
	struct timespec mtime;
	const struct xattrs *xattrs;
	uint64_t inode;
	int64_t born_ns; /* time of birth; 0: unknown */
	uint64_t links;
	uint64_t filesystem; /* filesystem_lasting_identity() of its directory; 0: unknown */
	bool has_flags;
	uint32_t flags; /* inode_flag_bits_read() */
	/* of its directory */
	bool folder_known; /* false also if the directory has ACLs */
	uint32_t folder_mode, folder_uid, folder_gid;
	struct root_identity root; /* of its source; filesystem is not stored */
	struct mount_identity mount; /* of its directory; root.filesystem is not stored */
	uint64_t kept_inode;
	int64_t kept_born_ns;
	int64_t kept_changed_ns; /* its ctime when it was compared */
	/* the file that a copy became on another file system; 0: none */
	uint64_t made_inode;
	int64_t made_born_ns;
	uint64_t made_filesystem;
	/* How many of the last folders of the path "to" were missing. The act made them. */
	uint64_t new_folders;
};

/* Appends a record as JSON, without a line end. Returns 0 or -ENOMEM. */
MUST_CHECK int record_encode(struct bytes *line, const struct record *record);

/* A decoded record and the memory that it points to. All zeros is empty. */
struct decoded_record {
	struct record record;
	struct arena texts;
	struct xattrs xattrs;
};

/* Decodes a line and replaces *decoded. Returns 0, -EPROTO if the line is no record, or -ENOMEM. */
MUST_CHECK int record_decode(const char *line, size_t length, struct decoded_record *decoded);
void decoded_record_free(struct decoded_record *decoded);
#define CLEANUP_DECODED_RECORD CLEANUP(decoded_record_free)

/* Sets the number of the file if the line is a record of this act. Returns whether it is one. Reads
 * only the beginning of the line. */
MUST_CHECK bool record_is_of(const char *line, const char *act, uint64_t *file);

/* Makes a new random id. */
void record_make_id(char id[static ACT_ID_SIZE]);

/* Returns the command as the word in a record ("trash"), or as words for people: "remove
 * --trash". */
const char *record_command_word(enum record_command command);
const char *record_command_text(enum record_command command);

/* ---- the log -------------------------------------------------------------------------------- */

struct act_log;

/* Opens or creates the log of the index in this folder for appending. Cuts off an incomplete last
 * line, which a power failure can leave. The caller must hold the lock of the journal
 * (act/journal.h). Returns 0 or -errno. */
MUST_CHECK int act_log_open(struct act_log **log, int folder);

/* Opens or creates a file of the user for appending. Its bytes stay as they are. Returns 0 or
 * -errno. */
MUST_CHECK int act_log_open_file(struct act_log **log, const char *path);

/* Closes the log. Records that were not synced are possibly lost. Accepts NULL. */
void act_log_close(struct act_log *log);

/* Adds a record in memory. Returns 0 or -ENOMEM.
 *
 * line		the record without a line end
 */
MUST_CHECK int act_log_append(struct act_log *log, const char *line);

/* As act_log_append(), for a record that is not encoded yet. */
MUST_CHECK int act_log_add(struct act_log *log, const struct record *record);

/* Writes and syncs the added records. After a failure none of them is in the log of an index, and
 * they stay added. Blocks on the disk. Returns 0 or -errno. */
MUST_CHECK int act_log_sync(struct act_log *log);

/* Returns a mark for act_log_drop(). */
size_t act_log_mark(const struct act_log *log);

/* Drops the records that were added since the mark and not synced. */
void act_log_drop(struct act_log *log, size_t mark);

/* Returns 1 if the log has a record of this file, 0 if not, or -errno. Reads the whole log when it
 * is asked about another act than the last time. */
MUST_CHECK int act_log_contains(struct act_log *log, const char *act, uint64_t file);

/* Highest number of corrupt lines of which a pass has the line numbers, for a message. */
#define ACT_LOG_CORRUPT_NAMED 8

/* A pass over the records of a log. */
struct act_log_pass {
	/* Receives each record. The line is valid during the call. Returns 0 to continue, or a
	 * result of the pass. */
	int (*record)(void *context, const struct record *record, const char *line);
	void *context;
	const char *act; /* only the records of this act; NULL: all records */
	const char *containing; /* only lines that contain this text; NULL: all lines */
	/* set: the number of lines that are no record, and the numbers of the first ones, from 1 */
	uint64_t corrupt;
	uint64_t corrupt_lines[ACT_LOG_CORRUPT_NAMED];
};

/* Reads the log of an index. A missing log has no record. Returns 0, the result of
 * pass->record(), or -errno. */
MUST_CHECK int act_log_read(const char *folder, struct act_log_pass *pass);

/* As act_log_read(), for an open log of an index, without the records that were not synced. Records
 * that are synced during the pass can be in it. */
MUST_CHECK int act_log_reread(struct act_log *log, struct act_log_pass *pass);

/* ---- files that were brought back -------------------------------------------------------- */

/* Reads the numbers of the files of an act that were brought back from the log, without records
 * that were not synced. Returns 0 or -errno. */
MUST_CHECK int undone_read(struct number_set *undone, struct act_log *log, const char *act);

/* Adds the record that a file was brought back, in memory. Returns 0 or -ENOMEM.
 *
 * undo		has the id, number and order of the record
 * record	of the act on the file
 */
MUST_CHECK int undone_add(struct act_log *log, const struct record *undo,
			  const struct record *record);

/* Adds records for all names in a folder that the act recorded, and that exist. For a folder that
 * has its name again. Returns 0 or -errno.
 *
 * folder	record of the act on the folder
 * was_emptied	whether the act possibly removed some of the names
 */
MUST_CHECK int undone_add_names(struct act_log *log, const struct record *folder, bool was_emptied);

/* ---- the order of acts -------------------------------------------------------------------- */

/* The order of the acts of all indexes in the default folder, or of one index in another place.
 * Clocks can be set back, and two acts can begin within a second. So each act gets a number, which
 * is in its records.
 *
 * The file TWINFS_ACT_ORDER beside the indexes has the last number, and the random id of its
 * series. For an index in another place, the file is in its folder. Numbers of different series
 * cannot be compared: another user or machine gave them. If the file is lost, the series of the
 * logs goes on. The file also lists the last act of each log when the file was made, and the number
 * of the next act: it and all later ones are after that act. An act that did nothing is in no log.
 * So the file has the number of the last act with a record apart. It shows whether a log is lost.
 *
 *	series 0123456789abcdef last 00000000000000000012
 *	before 3fa2b1c0 1
 *	logged 00000000000000000011
 *
 * Any thread. */

/* Takes the next number for an act of this index. The caller must hold the lock of the journal.
 * Waits for other processes that take a number. Blocks on the disk.
 *
 * folder	of the index
 * is_default	whether the folder above is the default one, which is then marked as one of twinfs.
 *		If not, its file is used only if it has a series.
 *
 * Returns 0 or -errno; then the act has no number. */
MUST_CHECK int act_order_take(const char *folder, bool is_default, struct act_order *order);

/* The content of the file. All zeros: there is no file. */
struct act_order_series {
	uint64_t id;
	struct text_list before; /* "ID NUMBER": the act is before those from this number on */
	uint64_t logged; /* number of the last act with a record that is no undo; 0: unknown */
};

/* Reads the file for the default folder, or for the folder of an index in any place. A missing or
 * corrupt file is none. The caller must call act_order_series_free() in any case. Returns 0 or
 * -errno. */
MUST_CHECK int act_order_read(const char *folder, bool is_index, struct act_order_series *series);
void act_order_series_free(struct act_order_series *series);

#endif
