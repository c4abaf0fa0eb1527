/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

/* The parts of `check`. They compare an index with a new index of the same sources, which was built
 * just now (cmd_check.c), and print the differences. For the main thread; everything is borrowed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/output.h"
#include "index/record.h"
#include "index/source.h"

struct catalog_reader;
struct check_printing;

/* ---- contents -------------------------------------------------------------------------------- */

/* Wrong records of file contents. Only files with the same signature in both indexes are compared;
 * other files have changed. So the cause of a difference is a disk that returns other bytes than
 * before, or a wrong record. */

enum content_difference {
	CONTENT_NOT_EQUAL, /* files of a group differ */
	CONTENT_NOT_GROUPED, /* equal files are in no group, or in several */
	CONTENT_OTHER, /* the bytes of a file in no group changed */
	CONTENT_NOT_KEPT, /* the keep rules choose another copy than the kept one: this file */
};

enum content_state {
	CONTENT_AS_RECORDED, /* the same bytes as in the index */
	CONTENT_CHANGED, /* other bytes than in the index */
	CONTENT_UNKNOWN, /* the file could not be read */
};

/* Why the bytes of a file could not be verified, or only in part. */
enum unverified_reason {
	UNVERIFIED_NO_HASH, /* the index has no hash of the whole file */
	UNVERIFIED_BUSY, /* a program has the file open for writing, or wrote to it recently */
	UNVERIFIED_UNREADABLE, /* the file could not be read */
};

struct unverified {
	uint64_t file; /* id in the index */
	enum unverified_reason reason;
	uint64_t checked; /* bytes at the beginning of the file that were verified */
};

struct content_sides {
	struct catalog_reader *indexed, *fresh;
	const struct sources *sources; /* of the index */
	struct check_printing *printing;
	struct bytes *touched; /* ids of the files of differences are appended */
};

struct content_figures {
	uint64_t groups; /* visible groups of the index, all of which were compared */
	uint64_t differences;
	uint64_t unverified; /* files */
};

/* Finds and prints all differences, then the unverified files. Reads the files that were not read
 * completely for the new index, and again those of groups that differ. Returns 0 or -errno. */
MUST_CHECK int content_differences_print(const struct content_sides *sides,
					 struct content_figures *figures);

/* ---- names ----------------------------------------------------------------------------------- */

/* Differences between an index and the disk in names, and in the attributes of files and
 * directories. Files can change while the indexes are compared. So each difference is rechecked on
 * the disk until it is confirmed or disappears. */

enum name_difference_kind {
	NAME_NOT_INDEXED, /* on the disk, but not in the index */
	NAME_MISSING, /* not on the disk; includes everything below it in the index */
	NAME_DIFFERS, /* another type or other attributes */
};

struct name_difference {
	enum name_difference_kind kind;
	uint32_t source; /* number of the source */
	size_t path; /* offset in name_differences.paths; the path is relative to the source */
	uint64_t seen; /* digest of the state on the disk at the last check */
	/* number of successive checks with the same state on the disk, different from the index */
	unsigned int confirmations;
	bool confirmed; /* a real difference, not a change in progress */
};

/* All zero: empty. */
struct name_differences {
	struct name_difference *list;
	size_t count, capacity;
	struct bytes paths; /* each followed by a NUL */
	uint64_t compared; /* number of compared names */
	bool cut_off; /* the search stopped at the limit */
};

/* Two snapshots of the same sources. */
struct name_sides {
	struct catalog_reader *indexed, *fresh;
	const struct sources *sources, *fresh_sources;
};

void name_differences_free(struct name_differences *differences);

static inline const char *name_difference_path(const struct name_differences *differences,
					       const struct name_difference *difference)
{
	return (const char *)differences->paths.data + difference->path;
}

/* Finds the differences. Returns 0 or -errno. */
MUST_CHECK int name_differences_find(struct name_differences *differences,
				     const struct name_sides *sides);

/* Reads the state on the disk for all differences that are not confirmed. */
void name_differences_read_disk(struct name_differences *differences,
				const struct sources *sources);

/* Rechecks the differences that are not confirmed, against the disk and a later snapshot of the
 * index. The snapshot must have all changes that happened before the last check. Removes the
 * differences that have disappeared. Confirms those that were found three times in a row with the
 * same state on the disk. Sets *left to the number of differences that are still not confirmed.
 * Returns 0 or -errno. */
MUST_CHECK int name_differences_recheck(struct name_differences *differences,
					struct catalog_reader *indexed,
					const struct sources *sources, size_t *left);

/* ---- printing -------------------------------------------------------------------------------- */

/* Output of `check`, as text or JSON. The caller must call the functions in this order:
 *
 *	begin -> name ... -> contents -> (content -> file ...) ... -> unverified ->
 *	unverified_file ... -> end
 *
 * Write errors are stored in the output. The functions return other failures as -errno.
 */

struct check_printing {
	struct output *output;
	const struct sources *sources;
	bool json;
	bool grouped; /* the following files are indented below the line of their group */
	/* Numbers of printed elements. */
	uint64_t names, contents, files, unverified;
};

struct check_figures {
	const char *folder; /* of the index */
	const char *structure; /* state of the tables: "sound" or what is wrong */
	bool names_checked;
	bool names_cut_off;
	bool contents_compared;
	uint64_t names_compared, names_different;
	struct content_figures contents;
};

void check_print_begin(struct check_printing *printing);
MUST_CHECK int check_print_name(struct check_printing *printing,
				const struct name_differences *differences,
				const struct name_difference *difference);
void check_print_contents(struct check_printing *printing);
void check_print_content(struct check_printing *printing, enum content_difference what,
			 const struct group_record *group);
/* path: absolute */
MUST_CHECK int check_print_file(struct check_printing *printing, const struct bytes *path,
				enum content_state state);
/* Begins the list of unverified files in JSON. Text output has only the number of these files. */
void check_print_unverified(struct check_printing *printing);
MUST_CHECK int check_print_unverified_file(struct check_printing *printing,
					   const struct bytes *path,
					   const struct unverified *unverified);
MUST_CHECK int check_print_end(struct check_printing *printing,
			       const struct check_figures *figures);

#endif
