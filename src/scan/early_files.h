/* SPDX-License-Identifier: MIT */
#ifndef SCAN_EARLY_FILES_H
#define SCAN_EARLY_FILES_H

/* Reads files in new directories during a walk, while the directory is open and the inode is
 * cached.
 *
 *	walkers: early_reader_examine
 *	   |  sizes: is there another file of this size?
 *	   |  read under a lease
 *	   v  contents: which files have these bytes?
 *	struct early_mark, in a struct name_change
 *	   |
 *	   v  batch writer: commits the names with their ids, then early_writer_resolve
 *	contents of files, written with the next batch by early_writer_commit
 *	   ^
 *	   |  after the walk, early_writer_finish: reads files that were not cached, or were the
 *	   |  first of their size, in several threads
 *
 * A file that is not read here stays unread, and ingest_contents() reads it. So every unusual file
 * is left to ingest_contents(): a file with several names, a large file whose prefix another file
 * has, a file whose hash another content has, a file that a program has open for writing, a file
 * that was changed a moment ago, a file that is not in the page cache of a disk that seeks, and a
 * file on a file system with unreliable times or leases.
 *
 * Only files that are new to the index, in directories where the index has no name yet, get a
 * content here: a file that was moved there keeps the content that the index has of it. Every
 * content that this walk records is in the table of contents. Every other content of the index is
 * in its list by size: when the walk begins, no file is deferred. So no equal file is missed. If a
 * listed file has the size and prefix of a content, its *rival*, the files of the content stay
 * unread, and ingest_contents() compares them with the rival. If the first file that is read in a
 * directory has a rival or is not new, no further file is read there: the directory is probably a
 * copy, or was moved. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "index/change.h"
#include "scan/ingest.h"

struct listed;

/* What is known of a listed file: how it was found. The kind is the first field of the record that
 * the file belongs to, if any. */
struct early_mark {
	enum early_kind {
		EARLY_SIZE, /* the first file of its size; not read */
		EARLY_LATE, /* another file has its size; to be read after the walk */
		EARLY_FIRST, /* the first file of a content */
		EARLY_EQUAL, /* a file whose bytes are equal to the cached bytes of a content */
	} kind;
};

/* No file: its name was not added, or the index has the file under another name. */
#define EARLY_NO_FILE UINT64_MAX

struct early_content {
	struct early_mark first_mark;
	struct early_mark equal_mark;
	struct early_content *next;
	uint64_t size;
	struct hash128 hash;
	/* The bytes of the first file that is called equal, set before it gets its mark. NULL: no
	 * file is called equal, as always for files larger than SMALL_BYTES. */
	uint8_t *bytes;
	bool repeated; /* a large file: another file has this prefix, so both stay unread */
	/* fields of the batch writer */
	uint64_t first; /* id of the first file; 0: not committed yet; EARLY_NO_FILE: none */
	uint64_t group; /* id of its group in the transaction in progress, or committed; 0: none */
	enum {
		EARLY_UNPROVED, /* whether the first file has the bytes is not known yet */
		EARLY_PROVED, /* it has, or there is no first file */
		/* It has not, or could not be read, or the content has a rival: files of the
		 * content stay unread. */
		EARLY_REFUTED,
	} proof;
	uint64_t searched; /* number of commits when a rival was searched; 0: never */
	bool written; /* a committed transaction recorded the content of the first file */
	bool grouped; /* a committed transaction made the group */
	bool listed; /* is in a list of this batch */
};

static inline struct early_content *early_content_of(struct early_mark *mark)
{
	size_t offset = mark->kind == EARLY_FIRST ? offsetof(struct early_content, first_mark)
						  : offsetof(struct early_content, equal_mark);

	return (void *)((char *)mark - offset);
}

/* The sizes and contents of files that a walk has found. A record never moves and is never
 * removed. Its memory is bounded: if the tables are full, further sizes and contents are not added,
 * and their files stay unread. */
struct early_tables;

/* Returns NULL if memory is short. */
struct early_tables *early_tables_new(void);
void early_tables_free(struct early_tables *tables); /* accepts NULL */

/* Finds or adds the content of a file whose first length bytes are these. Returns the mark of the
 * file; NULL: the file stays unread. Any thread. */
struct early_mark *early_add_content(struct early_tables *tables, uint64_t size,
				     const uint8_t *bytes, size_t length);

/* Takes the mark of a file that was not read, after its name was committed. If the file has to be
 * read after the walk, notes it.
 *
 * file		its id; EARLY_NO_FILE: it cannot be read here
 *
 * Any thread. Returns 0 or -ENOMEM. */
MUST_CHECK int early_take_unread(struct early_tables *tables, struct early_mark *mark,
				 uint64_t file);

/* Sets *has to whether the content has a rival in the snapshot. Any thread. Returns 0 or -errno. */
MUST_CHECK int early_has_rival(struct catalog_reader *reader, const struct early_content *content,
			       bool *has);

/* Returns whether a lender whose contents will be taken has a rival of the content. If so, the
 * content must not be recorded before, or the lent files would have to be read. Any thread.
 *
 * lenders	can be NULL */
bool early_is_lent(const struct lenders *lenders, const struct early_content *content);

/* Moves the contents of large files that became repeated to the end of *contents (struct
 * early_content *). Any thread. Returns 0 or -ENOMEM. */
MUST_CHECK int early_take_repeated(struct early_tables *tables, struct bytes *contents);

/* Returns whether the content is repeated. Any thread. */
bool early_is_repeated(struct early_tables *tables, const struct early_content *content);

/* Moves the ids of files that have to be read after the walk to the end of *ids. Any thread.
 * Returns 0 or -ENOMEM. */
MUST_CHECK int early_take_late(struct early_tables *tables, struct bytes *ids);

/* ---- during the walk ------------------------------------------------------------------- */

/* Examines the names of directories and reads files in them. Not shared between threads. */
struct early_reader;

/* Returns NULL if tables is NULL or memory is short: names are then examined without reading files.
 * Both arguments are borrowed. */
struct early_reader *early_reader_new(struct early_tables *tables, const struct ingest *ingest);
void early_reader_free(struct early_reader *reader); /* accepts NULL */

/* Begins an open directory, on the file system with this number of the catalog and this type
 * (f_type of statfs(2)). Returns false if no file in it can be proved here: early_reader_examine()
 * must not be called. */
bool early_reader_enter(struct early_reader *reader, int dir, uint32_t filesystem,
			uint32_t filesystem_type);

/* Sets the attributes of a name in the directory. If the name is a file, and another file has its
 * size, reads the file. Sets listed->mark. Returns what source_attributes_at() returns. */
MUST_CHECK int early_reader_examine(struct early_reader *reader, struct listed *listed);

/* ---- after the names were committed --------------------------------------------------------- */

/* Records the contents of files that a walk has read. One thread. */
struct early_writer;

/* Returns NULL if memory is short. Both arguments are borrowed. */
struct early_writer *early_writer_new(struct early_tables *tables, const struct ingest *ingest);
void early_writer_free(struct early_writer *writer); /* accepts NULL */

/* Collects the contents of files whose names were committed. The context of each change is a struct
 * early_mark or NULL, and the id is that of its file or 0. Reads the first file of each content
 * that another file has, too. Returns 0 or -errno. */
MUST_CHECK int early_writer_resolve(struct early_writer *writer, const struct name_change *changes,
				    size_t count);

/* Collects the remaining contents after the walk, whose names were all committed. Several threads
 * read files that the walk did not read: they were the first of their size, or not in the page
 * cache. Returns 0 or -errno. */
MUST_CHECK int early_writer_finish(struct early_writer *writer);

/* Writes the collected contents, inside a transaction. The transaction can be repeated. */
MUST_CHECK int early_writer_commit(struct early_writer *writer, struct catalog_writer *w);

/* Forgets the contents that early_writer_commit() wrote, after the transaction was committed. */
void early_writer_committed(struct early_writer *writer);

#endif
