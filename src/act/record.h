/* SPDX-License-Identifier: MIT */
#ifndef ACT_RECORD_H
#define ACT_RECORD_H

/* Record of what an act did to one file, as a JSON line:
 *
 *	{"act":"3fa2b1c0","file":12,"time":"2026-11-26T14:30:05Z","command":"remove",
 *	 "path":"/data/a/b.jpg","source":"/data","kept":"/data/c.jpg","kept_source":"/data",
 *	 "size":3000,"hash":"...","mode":"0644","uid":1000,"gid":1000,"mtime":1700000000,...}
 *
 * twinfs(5) describes the members. Pure code, any thread. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "act/place.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/xattrs.h"

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

/* The texts of a struct record. */
#define RECORD_TEXTS 11

/* A decoded record and the memory that it points to. All zeros is empty. */
struct decoded_record {
	struct record record;
	struct bytes texts[RECORD_TEXTS];
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

#endif
