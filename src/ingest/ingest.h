/* SPDX-License-Identifier: MIT */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

/* From disk to catalog: brings the index up to date with its sources.
 *
 * ingest_names() walks the sources. ingest_contents() then reads the files that have to be
 * compared, and commits classes of byte-equal files. A first scan and a rescan run the same code.
 * Content that the index knows is not read again while the file has the signature that was
 * recorded.
 *
 * Steps of the proof:
 *
 * 1. Walk: names and attributes. A file whose signature differs from the index is unread.
 * 2. Plan: a file is a candidate if another file has its size.
 * 3. Prefix hashes: files with different first 16 KiB are different. Such files are not read
 *    further.
 * 4. Comparison: files are equal only if all their bytes were compared, block by block. The guards
 *    of reading.h prove that no file changed between its first read and its last.
 * 5. Commit: the results of a file count only if it still has the signature that was read.
 *
 * Both functions block and use threads of their own. The caller must call ingest_names() and then
 * ingest_contents() from one thread. If stop_requested(), both return early and commit finished
 * results.
 *
 * While the sources are followed (struct ingest_hooks), ingest_recheck() keeps names current and
 * ingest_compare() keeps contents current. ingest_contents(), ingest_recheck() and ingest_compare()
 * may run at the same time, each with its own struct ingest. Two comparisons at the same time must
 * not have a file size in common.
 *
 * A file or directory that cannot be read is logged once with its path, recorded in the catalog as
 * an error, and counted.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/name_event.h"
#include "catalog/catalog.h"
#include "catalog/record.h"
#include "source/source.h"

/* Order in which files are read. */
enum ingest_disk {
	/* the user chose no order: the kind of disk and measured read times decide */
	INGEST_DISK_AUTO,
	INGEST_DISK_ROTATING, /* in the order of the disk, to avoid seeks */
	INGEST_DISK_SOLID, /* in any order */
};

struct ingest_settings {
	/* bytes; smaller files are never compared; with 0, empty files form a group */
	uint64_t min_size;
	char *const *excludes; /* NULL-terminated globs, borrowed; NULL: none */
	bool cross_mounts;
	unsigned int threads; /* 0: chosen by the number of processors and the work */
	enum ingest_disk disk;
	/* A folder that contains the index folder and is left out as a whole. NULL: only the index
	 * folder is left out. Borrowed. */
	const char *hidden;
	/* Maximum time to wait for files that were written a moment ago or are open for writing.
	 * After this time such files stay pending. */
	unsigned int patience_ms;
};

/* Figures that another thread may read while the work is in progress. */
struct ingest_progress {
	_Atomic uint64_t names; /* number of names that the walk read */
	_Atomic uint64_t candidates; /* number of files that possibly have to be read */
	_Atomic uint64_t candidate_bytes;
	_Atomic uint64_t compared; /* candidates that are done */
	_Atomic uint64_t compared_bytes;
};

/* Which names of a directory have to be rechecked, besides the directory itself. */
enum recheck_scope {
	/* the given names; if one is a new directory, its whole tree */
	RECHECK_NAMES,
	RECHECK_LISTING, /* all names; if one is a new directory, its whole tree */
	RECHECK_TREE, /* the whole tree below the directory */
};

/* A directory that has to be rechecked. */
struct recheck {
	uint64_t dir;
	enum recheck_scope scope;
	enum rename_trust trust; /* with RECHECK_NAMES: whether a renamed file keeps its content */
	const struct name_events *const *names; /* borrowed; sorted by bytes, each name once */
	size_t count;
};

struct ingest_result {
	uint64_t errors; /* files and directories that could not be read */
	uint64_t pending; /* files left for later because they are being written */
	uint64_t not_entered; /* directories on other file systems, which the settings exclude */
	uint64_t excluded; /* names that match an exclude glob */
	bool stopped;
};

/* Callbacks of the follower, while it follows the sources. Several walking or comparing threads
 * call them at the same time. Callbacks must not block or write to the catalog. */
struct ingest_hooks {
	/* The open directory dir is listed next. The callback adds an inotify watch to it. */
	void (*enter)(void *context, uint32_t source, int fd, uint64_t dir);
	/* An open directory has a name that the index does not have. The callback adds a watch. If
	 * the follower knows the directory under another name, returns the known id; otherwise
	 * returns new_dir. */
	uint64_t (*identify)(void *context, uint32_t source, int fd, uint64_t new_dir);
	/* The recheck failed: the path now leads to another directory than the index has, or
	 * descriptors or memory ran out. The callback schedules it again. */
	void (*retry)(void *context, const struct recheck *recheck);
	/* A known directory possibly became readable or unreadable, or different names in it are
	 * excluded now. The callback schedules a recheck of its own, outside of this walk. */
	void (*add_recheck)(void *context, const struct recheck *recheck);
	/* Events of this source are possibly missing, now or later, so a walk is needed. One cause
	 * is a name that existed only for a moment or in an unwatched directory: it was possibly a
	 * hard link to any file. Another cause is a directory that is mounted twice, as it is
	 * watched at one mount only. */
	void (*needs_walk)(void *context, uint32_t source);
	/* The name is a mount point that is not entered. Its attributes are those of the root of
	 * another mount, so no event reports their changes. */
	void (*not_entered)(void *context, uint64_t dir, struct name name);
	/* Returns whether renames are trusted, based on all events until now. RENAME_TRUSTED: no
	 * write was reported since the events that led to the recheck. */
	enum rename_trust (*trust)(void *context);
	/* The attributes of the file differ from the index, so the file has to be rechecked.
	 * ingest_contents() and ingest_compare() then do not record the attributes. */
	void (*recheck_file)(void *context, uint64_t file);
	/* Returns true if a file of this size with known content was added to the index after the
	 * comparison began. Nothing was compared with that file. */
	bool (*has_new_rival)(void *context, uint64_t size);
	/* The directory, or names in it, could not be read for a temporary reason. The callback
	 * schedules a retry. */
	void (*failed)(void *context, uint64_t dir);
	/* Nanoseconds since 1970. The first walk found all changes of directories from before this
	 * time. */
	int64_t since_ns;
	void *context;
};

/* A range of file sizes in bytes. */
struct ingest_range {
	uint64_t from;
	uint64_t below; /* exclusive; 0: no limit */
};

static inline bool ingest_range_has(struct ingest_range range, uint64_t size)
{
	return size >= range.from && (range.below == 0 || size < range.below);
}

struct ingest {
	struct catalog *catalog; /* this and the next three are borrowed */
	const struct sources *sources;
	const struct ingest_settings *settings;
	const struct ingest_hooks *hooks; /* NULL: the sources are not followed */
	struct ingest_range range; /* sizes that ingest_contents compares; zero: all */
	struct ingest_progress progress;
	struct ingest_result result;
	_Atomic bool seeks; /* the last walk measured seeks, see disk_seeks.h */
};

/* Updates the directories, names and attributes in the index to those of the sources. Returns 0 if
 * the index has every name, or -errno if the index could not be written. */
MUST_CHECK int ingest_names(struct ingest *ingest);

/* Compares the files whose size is in ingest->range and whose content is not known, if another file
 * has the same size. Commits results step by step. */
MUST_CHECK int ingest_contents(struct ingest *ingest);

/* ---- while sources are followed ------------------------------------------------------- */

/* Rechecks these directories and updates the index; ingest->hooks must be set. A directory or file
 * that was moved within a source keeps its id. A directory that the index no longer has is skipped.
 * A file that lost its last name stays in the index until ingest_purge(), as it can get another
 * name.
 *
 * rechecks	count of them, borrowed; each directory once, and none below one that is rechecked
 *		with RECHECK_TREE
 *
 * Returns 0, -ESTALE or -ELOOP if the moves do not fit together, or another -errno if the index
 * could not be written. After -ESTALE or -ELOOP the caller must recheck everything with
 * RECHECK_TREE. */
MUST_CHECK int ingest_recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count);

/* Deletes files without a name from the index. Must not run during a recheck, as the recheck can
 * find a new name of such a file. */
MUST_CHECK int ingest_purge(struct catalog *catalog);

struct ingest_sizes {
	const uint64_t *list; /* borrowed; ascending, each once */
	size_t count;
	/* Returns true if the file must not be read now. NULL: all files may be read. */
	bool (*waits)(void *context, uint64_t file);
	/* Returns true if a file that could not be read must be tried again. NULL: none. */
	bool (*again)(void *context, uint64_t file);
	void *context;
};

/* Compares the files of these sizes whose content is unknown, each once. A file that is being
 * written is skipped, and result.pending counts it. An error that was recorded before is not logged
 * again. Returns 0 or -errno. */
MUST_CHECK int ingest_compare(struct ingest *ingest, const struct ingest_sizes *sizes);

/* Returns true if an operation that failed with this positive errno can succeed later without an
 * event or walk that reports a change. If rights are missing, only an event can end that. A file
 * that is too large to compare stays too large. */
static inline bool ingest_error_is_temporary(int error)
{
	return error && error != EACCES && error != EPERM && error != EFBIG && error != E2BIG;
}

#endif
