/* SPDX-License-Identifier: MIT */
#ifndef INGEST_INGEST_H
#define INGEST_INGEST_H

/* From disk to catalog: brings the index up to date with its sources.
 *
 * First ingest_names, which walks the sources, then ingest_contents, which reads what has to be
 * compared and commits the classes of byte-equal files. A first scan and a rescan are the same:
 * what the index knows already, and the file system does not contradict, is not read again.
 *
 * Both block for as long as it takes and use threads of their own; call them one after the other
 * from one thread. They return early, with what is done committed, when stop_requested().
 *
 * While sources are followed (struct ingest_hooks) ingest_recheck then keeps the names current and
 * ingest_compare the contents. All of them may run at the same time, each with a struct ingest of its own,
 * if no two compare files of one size.
 *
 * Everything that cannot be read is logged once with its path, noted in the catalog as an error,
 * and counted.
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

/* How the disks are read. */
enum ingest_disk {
	INGEST_DISK_AUTO, /* as they say, and as the time tells that reading takes */
	INGEST_DISK_ROTATING, /* in the order of the disk: a head has to move from file to file */
	INGEST_DISK_SOLID, /* in any order */
};

struct ingest_settings {
	uint64_t min_size; /* smaller files are never compared; 0: empty files are groups too */
	char *const *excludes; /* NULL-terminated globs, borrowed; NULL: none */
	bool cross_mounts;
	unsigned int threads; /* 0: as many as there is use for */
	enum ingest_disk disk;
	/* A folder that is left out instead of that of the index, which lies within; borrowed; NULL:
	 * none. */
	const char *hidden;
	/* Waits for files that were written a moment ago, or are open for writing, to come to rest
	 * for at most this long, then leaves them pending. */
	unsigned int patience_ms;
};

/* Figures that another thread may read while the work goes on. */
struct ingest_progress {
	_Atomic uint64_t names; /* seen by the walk */
	_Atomic uint64_t candidates; /* files that may have to be read */
	_Atomic uint64_t candidate_bytes;
	_Atomic uint64_t compared; /* of these, done */
	_Atomic uint64_t compared_bytes;
};

/* What has to be rechecked in a directory of the index, besides the directory itself. */
enum recheck_scope {
	RECHECK_NAMES, /* the names given; everything below the new directories among them */
	RECHECK_LISTING, /* all its names, and everything below the new directories among them */
	RECHECK_TREE, /* everything below it */
};

/* One directory that has to be rechecked. */
struct recheck {
	uint64_t dir;
	enum recheck_scope scope;
	enum rename_trust trust; /* with RECHECK_NAMES: what a renamed file is taken for */
	const struct name_events *const *names; /* borrowed; sorted by bytes, each once */
	size_t count;
};

struct ingest_result {
	uint64_t errors; /* could not be read */
	uint64_t pending; /* left for later: being written */
	uint64_t not_entered; /* directories on other file systems, left out as asked */
	uint64_t excluded; /* names left out by a glob */
	bool stopped;
};

/* Who follows the sources while they change. All are called from threads that walk or compare,
 * several at a time; none may block or write to the catalog. */
struct ingest_hooks {
	/* The open directory is listed next as number dir: watch it. */
	void (*enter)(void *context, uint32_t source, int fd, uint64_t dir);
	/* An open directory stands at a name where the index has none: watches it, and gives the
	 * number of that directory if it is known and only came from elsewhere, else new_dir. */
	uint64_t (*identify)(void *context, uint32_t source, int fd, uint64_t new_dir);
	/* This could not be looked at: what stands there is not, or no more, what the index has, or
	 * descriptors or memory ran out. Look again when more is known. */
	void (*again)(void *context, const struct recheck *recheck);
	/* A known directory below may be readable now, or not, or other names in it are to be left
	 * out: look at it, but not in this walk, in which it may have a look of its own. */
	void (*also)(void *context, const struct recheck *recheck);
	/* Something may happen in this source, or has happened, that no event tells enough of. A
	 * name that came and went again before anybody looked may have been a hard link to any
	 * file, and so may one in a directory that was not watched yet; of a directory that is
	 * mounted at two places only one is watched. */
	void (*needs_walk)(void *context, uint32_t source);
	/* This name is a mount point that is not entered. No event tells of its attributes, as they
	 * are those of the root of another mount. */
	void (*not_entered)(void *context, uint64_t dir, struct name name);
	/* How far are renames trusted, given every event until now? RENAME_TRUSTED only if nothing was
	 * written to since the events that led to the recheck. */
	enum rename_trust (*trust)(void *context);
	/* The file is not what the index has: look at it. From ingest_contents and ingest_compare,
	 * which then leave the index as it is. */
	void (*recheck_file)(void *context, uint64_t file);
	/* Has a file of this size, whose content was known, come back into the index since the
	 * comparison began? Nothing was compared with it. */
	bool (*has_new_rival)(void *context, uint64_t size);
	/* This directory, or names in it, could not be read, for a reason that may pass: try again
	 * after a while. */
	void (*failed)(void *context, uint64_t dir);
	/* Nanoseconds since 1970: what changed in a directory before that was seen by the first
	 * walk. */
	int64_t since_ns;
	void *context;
};

/* Sizes of files, bytes. */
struct ingest_range {
	uint64_t from;
	uint64_t below; /* 0: no limit */
};

static inline bool ingest_range_has(struct ingest_range range, uint64_t size)
{
	return size >= range.from && (range.below == 0 || size < range.below);
}

struct ingest {
	struct catalog *catalog; /* these four borrowed */
	const struct sources *sources;
	const struct ingest_settings *settings;
	const struct ingest_hooks *hooks; /* NULL: nobody follows the sources */
	struct ingest_range range; /* of the sizes that ingest_contents compares; zero: all */
	struct ingest_progress progress;
	struct ingest_result result;
	_Atomic bool seeks; /* the last walk saw a disk seek, see disk_seeks.h */
};

/* Makes directories, names and attributes of the index those of the sources. When it returns 0
 * every name is there; -errno when the index could not be written. */
MUST_CHECK int ingest_names(struct ingest *ingest);

/* Compares the content of all files whose size is in ingest->range and not theirs alone, and that are not
 * known, and commits the result bit by bit. */
MUST_CHECK int ingest_contents(struct ingest *ingest);

/* ---- while sources are followed ------------------------------------------------------- */

/* Looks at what is in these directories now, and makes the index say so; ingest->hooks is set. What
 * moved within a source keeps its number. A directory that the index does not have any more is passed
 * over. Files that lost their last name are kept until ingest_purge, as they may turn up under another
 * one.
 *
 * looks	count of them, borrowed; each directory once, and none below one that is looked at
 *		deeply
 *
 * 0; -ESTALE or -ELOOP: moves that do not fit together: look at everything (RECHECK_TREE); or another
 * -errno when the index could not be written. */
MUST_CHECK int ingest_recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count);

/* Forgets files without a name; not while something looks, which may find them. */
MUST_CHECK int ingest_purge(struct catalog *catalog);

struct ingest_sizes {
	const uint64_t *list; /* borrowed; ascending, each once */
	size_t count;
	/* Is the file to be left alone for now? NULL: none is. */
	bool (*waits)(void *context, uint64_t file);
	/* It could not be read before: is it to be tried again? NULL: none is. */
	bool (*again)(void *context, uint64_t file);
	void *context;
};

/* Compares files of these sizes that are not known, once: what is being written is left as it is,
 * without patience: result.pending says how many. What fails again as it did before is not logged
 * again. 0 or -errno. */
MUST_CHECK int ingest_compare(struct ingest *ingest, const struct ingest_sizes *sizes);

/* May what failed with this positive errno succeed another time, though nothing changes that an
 * event or a walk would tell of? Rights do not come back by themselves, and what is too much for a
 * comparison stays so. */
static inline bool ingest_may_pass(int error)
{
	return error && error != EACCES && error != EPERM && error != EFBIG && error != E2BIG;
}

#endif
