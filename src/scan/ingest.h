/* SPDX-License-Identifier: MIT */
#ifndef SCAN_INGEST_H
#define SCAN_INGEST_H

/* From disk to catalog: brings the index up to date with its sources.
 *
 * ingest_names() walks the sources. ingest_contents() then reads the files that have to be
 * compared, and commits classes of byte-equal files. A first scan and a rescan run the same code.
 * A file with known content is read again only if its signature changed, or if its bytes can have
 * changed without a change of the signature.
 *
 * Steps of the proof:
 *
 * 1. Walk: names and attributes. The content of a new file, or of one whose signature differs from
 *    the index, is unknown. Such a file is *unread*.
 * 2. Candidates: the unread files whose size another file has.
 * 3. Prefix hashes: files with different first bytes are different. They are not read further.
 * 4. Comparison: files are equal only if all their bytes were compared, block by block. The guards
 *    of reading.h prove that no file changed between its first read and its last.
 * 5. Commit: the result of a file counts only if the index still has the signature that was read.
 *
 * ingest_names() and ingest_contents() block and use threads of their own. The caller must call
 * them one after the other. If stop_requested(), they commit finished results and return early.
 *
 * While the sources are followed (struct ingest_hooks), ingest_recheck() keeps names current and
 * ingest_compare() keeps contents current. ingest_contents(), ingest_recheck() and ingest_compare()
 * may run at the same time, each with its own struct ingest. Two comparisons at the same time must
 * not have a file size in common.
 *
 * A file or directory that cannot be read is logged with its path and recorded in the catalog as an
 * error. After a lack of descriptors or memory, no error of a file is recorded; it stays unread.
 */

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "index/catalog.h"
#include "index/record.h"
#include "index/source.h"

struct cancellation;
struct lenders;
struct patterns;

/* ---- events of names ------------------------------------------------------------------------ */

/* Events of a name in a directory, from the event of the kernel to the recheck of the name.
 *
 * view/follow/queue.h sets these flags; the follower (view/follow/follower.h) and the walk evaluate
 * them. The table in recheck.c has the effects of each flag. Pure code, any thread. */

/* Flags of a name. */
enum name_event {
	EVENT_NAME = 1, /* created, removed, renamed, or to be rechecked for another reason */
	EVENT_WRITTEN = 2, /* the file was, or possibly was, written to */
	EVENT_CLOSED = 4, /* with EVENT_WRITTEN: a writer closed the file after the last write */
	EVENT_ATTRIBUTES = 8, /* the metadata changed */
	EVENT_MOVED_IN = 16, /* a rename moved the name here from a directory without a watch */
	EVENT_MOVED_HERE = 32, /* a rename moved the name here from a watched directory */
	EVENT_CREATED = 64, /* the name is new, possibly a hard link */
	EVENT_REMOVED = 128,
	EVENT_REPLACED = 256, /* the name arrived, and was removed or replaced before its recheck */
	EVENT_NEW_DIR = 512, /* a directory arrived that had no watch before */
	EVENT_MOVED_AWAY = 1024, /* a rename moved the name from here */
	/* flags of the directory itself, in a struct name_events without a name: */
	EVENT_LISTING = 2048, /* all its names have to be rechecked */
	EVENT_TREE = 4096, /* everything below it has to be rechecked */
};

#define EVENTS_ARRIVED (EVENT_MOVED_IN | EVENT_MOVED_HERE | EVENT_CREATED)

/* The events of one name. */
struct name_events {
	uint32_t events; /* enum name_event, or-ed */
	uint32_t length; /* of name in bytes; 0: the directory itself */
	uint64_t dir; /* number of the directory in the index */
	char name[]; /* NUL-terminated */
};

/* Effects of an event, as flags. */
enum event_effect {
	EFFECT_HIDES = 1, /* the index must forget the content of the file before its recheck */
	EFFECT_NEW_BYTES = 2, /* the bytes have possibly changed, though size and mtime have not */
	EFFECT_ARRIVES = 4, /* the name possibly belongs to another file now */
	EFFECT_CHANGES_FILE = 8, /* the file that had the name has possibly changed */
	EFFECT_MAY_BE_LINK = 16, /* possibly affects a file that the index has under another name */
	EFFECT_UNTRUSTS = 32, /* a write was possibly reported under a removed name */
};

/* Returns the effects of all these events together. */
uint32_t name_event_effects(uint32_t events);

/* How far a renamed file is trusted to have its indexed content. A rename changes the ctime, so
 * only the events show that nothing else changed the file. Events identify a file by a name, which
 * can belong to another file a moment later. The values are in ascending order of caution. */
enum rename_trust {
	RENAME_TRUSTED, /* every write was reported under a name that the index knows */
	/* A write was possibly reported under a name that the file had only between two rechecks.
	 * Applies until every name was rechecked without a further event. */
	RENAME_UNTRUSTED,
	RENAME_NEEDS_WALK, /* events were lost or do not suffice: the source must be walked */
};

/* Returns whether a file of this name has the bytes that the index knows if its size and mtime are
 * the same. */
static inline bool name_events_keep_bytes(uint32_t events, enum rename_trust trust)
{
	return trust == RENAME_TRUSTED && !(name_event_effects(events) & EFFECT_NEW_BYTES);
}

/* Returns whether a rename within the watched directories brought the name. */
static inline bool name_events_are_rename(uint32_t events)
{
	return events & EVENT_MOVED_HERE && !(events & EVENT_CREATED);
}

/* Returns whether a file that the index has under another name was possibly written to under this
 * name. A recheck of this name does not find that file.
 *
 * known	the index had the name
 * exists	the name exists now */
bool name_events_may_hide_link(uint32_t events, enum rename_trust trust, bool known, bool exists);

/* ---- a scan --------------------------------------------------------------------------------- */

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
	const struct patterns *excludes; /* names to leave out, borrowed; NULL: none */
	bool cross_mounts;
	unsigned int threads; /* 0: chosen by the number of processors and the work */
	enum ingest_disk disk;
	bool names_only; /* ingest_names() reads no file */
	/* Other indexes: ingest_names() leaves files unread whose contents they lend. NULL: none.
	 * Borrowed. */
	struct lenders *lenders;
	/* ingest_names() repeats the walk of a scan that has just ended: it does not log errors
	 * that the index has, and trusts contents on file systems that hide stores. */
	bool repeats;
	/* Maximum time that ingest_contents() waits for files that were written a moment ago or are
	 * open for writing. After this time they stay unread. */
	unsigned int patience_ms;
};

/* Figures that another thread may read while the work is in progress. */
struct ingest_progress {
	_Atomic uint64_t names; /* number of names that the walk read */
	_Atomic uint64_t candidates; /* number of unread files whose size is not unique */
	_Atomic uint64_t candidate_bytes;
	_Atomic uint64_t compared; /* candidates that are done */
	_Atomic uint64_t compared_bytes;
};

/* Which names of a directory have to be rechecked, besides the directory itself. */
enum recheck_scope {
	/* the given names; if one is a new directory, its whole tree */
	RECHECK_NAMES,
	RECHECK_LISTING, /* all names; if one is a new directory, its whole tree */
	/* As RECHECK_LISTING, a part of a poll. No event led to it, so targets of symlinks are not
	 * read again. Names that are gone stay in the index if the hooks hold them. */
	RECHECK_POLL,
	RECHECK_TREE, /* the whole tree below the directory */
};

/* A directory that has to be rechecked. */
struct recheck {
	uint64_t dir;
	enum recheck_scope scope;
	/* with RECHECK_NAMES: whether the content of a renamed file stays known */
	enum rename_trust trust;
	const struct name_events *const *names; /* borrowed; sorted by bytes, each name once */
	size_t count; /* of names */
};

/* When walks began that look together for names that were moved past them. All zero: each walk
 * looks for itself. */
struct walk_start {
	int64_t file_ns; /* by clock_file_ns() */
	int64_t monotonic_ns, wall_ns; /* the same by clock_monotonic_ns() and clock_now() */
};

static inline struct walk_start walk_start_now(void)
{
	return (struct walk_start){clock_file_ns(), (int64_t)clock_monotonic_ns(),
				   clock_ns(clock_now())};
}

struct ingest_result {
	/* files and directories that could not be read; ingest_compare() counts none */
	uint64_t errors;
	uint64_t pending; /* files left unread, mostly because they are being written */
	uint64_t not_entered; /* directories on other mounts, which the settings exclude */
	uint64_t excluded; /* names that match an exclude glob */
	bool moved; /* names were possibly moved past the walk, which then lacks them */
	int64_t moved_ns; /* until when, at the latest, by clock_file_ns(); 0: unknown */
	bool of_other_host; /* a file system of another host was walked, which sets its times */
	bool stopped; /* stop_requested() ended the work */
};

/* Why events are possibly missing. */
enum walk_cause {
	/* A name existed only for a moment: it was possibly a hard link to any file. */
	WALK_FOR_NAME,
	/* Names possibly existed in a new directory before it was watched: hard links, too. */
	WALK_FOR_NEW_DIR,
	/* A directory is mounted twice, and is watched at one mount only. */
	WALK_FOR_MOUNT,
	/* A new name is a hard link of a file of a lower layer, which has other attributes now. */
	WALK_FOR_COPY_UP,
};

/* Callbacks of the follower, while it follows the sources. Several threads of ingest call them at
 * the same time. Callbacks must not block or write to the catalog. */
struct ingest_hooks {
	/* The directory with the id dir, open as fd, is listed next. The callback adds an inotify
	 * watch to it. */
	void (*enter)(void *context, uint32_t source, int fd, uint64_t dir);
	/* The index does not have the directory fd under its present name. The callback adds a
	 * watch. If the follower knows the directory under another name, the callback returns its
	 * id, else new_dir. */
	uint64_t (*identify)(void *context, uint32_t source, int fd, uint64_t new_dir);
	/* The recheck failed: a path leads to another directory than before or to none, or
	 * descriptors or memory ran out. The callback schedules the recheck again. */
	void (*retry)(void *context, const struct recheck *recheck);
	/* A known directory needs a recheck of its own: its attributes changed (it possibly became
	 * readable or unreadable), or it was moved (globs with a slash possibly match other names
	 * in it). The callback schedules the recheck. */
	void (*add_recheck)(void *context, const struct recheck *recheck);
	/* Events of this source are possibly missing, now or later, so a walk is needed. */
	void (*needs_walk)(void *context, uint32_t source, enum walk_cause cause);
	/* A recheck with RECHECK_POLL found a name in the directory dir to be gone, or to refer to
	 * another inode. child: the directory that had the name; 0: a file had it. Returns whether
	 * the index keeps the name, as the callback schedules another recheck of dir. */
	bool (*holds_gone)(void *context, uint64_t dir, uint64_t child);
	/* The name in the directory dir is a directory on another mount or file system, which is
	 * not entered. No event reports changes of its attributes. */
	void (*not_entered)(void *context, uint64_t dir, struct name name);
	/* Returns whether renames are trusted, based on all events until now. RENAME_TRUSTED: no
	 * write was reported since the events that led to the recheck, and no source needs a walk.
	 */
	enum rename_trust (*trust)(void *context);
	/* Returns whether the index possibly has names that are gone, or has a name twice, apart
	 * from what the recheck removes. */
	bool (*may_miscount_names)(void *context);
	/* Returns whether events report all writes to the files of a source, whichever of their
	 * names in the sources is used. */
	bool (*reports_writes)(void *context, uint32_t source);
	/* The attributes of the file differ from the index. The callback schedules a recheck of the
	 * file. The comparison does not record the attributes. */
	void (*recheck_file)(void *context, uint64_t file);
	/* Returns true if a file of this size with known content was possibly added to the index
	 * after the comparison began. Nothing was compared with that file. */
	bool (*has_new_rival)(void *context, uint64_t size);
	/* The directory dir, or names in it, could not be read for a temporary reason. The callback
	 * schedules a retry. */
	void (*failed)(void *context, uint64_t dir);
	/* A time before the first walk, in nanoseconds since 1970. That walk found all changes of
	 * directories from before this time. */
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
	struct catalog *catalog; /* borrowed, like the next three fields */
	const struct sources *sources;
	const struct ingest_settings *settings;
	const struct ingest_hooks *hooks; /* NULL: the sources are not followed */
	struct ingest_range range; /* sizes that ingest_contents() compares; all zero: every size */
	struct ingest_progress progress;
	struct ingest_result result;
	/* ingest_recheck() walks because time has passed: where ctime is absent, a file with the
	 * same signature keeps its content. Other walks make the content unknown. */
	bool trusts_signatures;
	struct walk_start start; /* of walks that look together for names that were moved */
	/* Comparisons wait until files that were written a moment ago can be read, some seconds
	 * where times are coarse. Otherwise such files stay unread. */
	bool patient;
	/* the last walk waited for a disk that can seek (disk.h), or the settings say so */
	_Atomic bool may_seek;
};

/* Updates the directories, names and attributes in the index to those of the sources. Returns 0 or
 * -errno. After 0 the index has every name that could be read, unless result.stopped is set. */
MUST_CHECK int ingest_names(struct ingest *ingest);

/* Number of ids whose files are sorted and added at a time. They take at most 22 MiB, and 24 MiB
 * more during the sort. */
#define SIZES_RUN_IDS ((size_t)1 << 18)

/* Completes the lists of files by size and by group after a walk that deferred them
 * (catalog_defer_lists()): adds the files of run_ids ids at a time. All processors read and sort
 * them, and one transaction adds them in the order of the lists, so that pages of the lists are
 * written only a few times. After a stop or a failure, the next call continues. Returns 0, also
 * after a stop, or -errno. */
MUST_CHECK int ingest_list_sizes(struct catalog *catalog, size_t run_ids);

/* Compares the unread files whose size is in ingest->range and is not unique. Commits results step
 * by step. Ranges are compared in ascending order: the one without a limit ends the scan. Returns
 * 0, also after a stop, or -errno. */
MUST_CHECK int ingest_contents(struct ingest *ingest);

/* ---- while sources are followed ------------------------------------------------------- */

/* Rechecks these directories and updates the index; ingest->hooks must be set. The id of a
 * directory or file that was moved within a source stays the same. A directory that the index no
 * longer has is skipped. A file that lost its last name stays in the index until ingest_purge(), as
 * it can get another name.
 *
 * rechecks	borrowed; each directory once, and no directory below one with RECHECK_TREE
 *
 * Returns 0, -ESTALE or -ELOOP if the moves do not fit together, or another -errno if the index
 * could not be written. After -ESTALE or -ELOOP the caller must recheck everything with
 * RECHECK_TREE. */
MUST_CHECK int ingest_recheck(struct ingest *ingest, const struct recheck *rechecks, size_t count);

/* Deletes files without a name from the index. Must not run during a recheck, as the recheck can
 * find a new name of such a file. A file that is deleted too early gets a new id later. Returns 0
 * or -errno. */
MUST_CHECK int ingest_purge(struct catalog *catalog);

/* Sets *many to whether the index has more files without a name than with one, and very many of
 * them. If so, they must be deleted, as they make the index large. Returns 0 or -errno. */
MUST_CHECK int ingest_has_many_orphans(struct catalog *catalog, bool *many);

/* Lets another copy be kept where a move of a directory put the kept copy into a trash. Other
 * changes do that in their own transactions. Returns 0 or -errno. */
MUST_CHECK int ingest_choose_kept(struct catalog *catalog);

struct ingest_sizes {
	const uint64_t *list; /* borrowed; ascending, each once */
	size_t count;
	/* Returns true if the file must not be read now. NULL: all files may be read. */
	bool (*waits)(void *context, uint64_t file);
	/* Returns true if a file that could not be read must be tried again. NULL: none. */
	bool (*again)(void *context, uint64_t file);
	void *context;
};

/* Compares the unread files of these sizes, each at most once. result.pending counts the files that
 * stay unread because they are being written. An error that was recorded before is not logged
 * again. Returns 0, also after a stop, or -errno. */
MUST_CHECK int ingest_compare(struct ingest *ingest, const struct ingest_sizes *sizes);

/* The content of a larger file becomes unknown without a comparison. */
#define RECHECK_BYTES_MAX (UINT64_C(256) << 20)

/* Updates one file whose ctime changed without an event. chattr(1), or another host on a remote
 * file system, can change the ctime without an event.
 *
 * The bytes of the file possibly changed, too. So the file is compared with a member of its group.
 * If both are equal, the file stays in its group. If they differ, or no comparison is possible, the
 * content of the file becomes unknown.
 *
 * The calling thread must hold no snapshot. Any thread. Blocks on the source, and
 * commits. SIGIO must be ignored (scan/reading.h).
 *
 * until_ns	on the monotonic clock: no more blocks are compared after this time
 * cancellation	ends the comparison and the wait for other transactions; NULL: none
 *
 * Returns 0 if the record in the index is current. Returns -ESTALE if more than the ctime changed,
 * a process is possibly writing the file, or its record changed meanwhile. The caller must then
 * have the file rechecked. Returns -ETIMEDOUT if the comparison did not end in time, -ECANCELED
 * after stop_requested(), -EINTR if cancellation was requested, or another -errno.
 */
MUST_CHECK int ingest_recheck_file(struct catalog *catalog, const struct sources *sources,
				   uint64_t file, uint64_t until_ns,
				   const struct cancellation *cancellation);

/* Returns true if an operation that failed with this positive errno can succeed later without an
 * event. After EACCES and EPERM, an event reports new rights. After EFBIG (holes too long to be
 * hashed) and E2BIG (too many equal hashes), a file can be compared only after it changes. */
static inline bool ingest_error_is_temporary(int error)
{
	return error && error != EACCES && error != EPERM && error != EFBIG && error != E2BIG;
}

#endif
