/* SPDX-License-Identifier: MIT */
#ifndef SCAN_WALK_H
#define SCAN_WALK_H

/* The walk over directories of the sources. It visits each directory once, by descriptor, and
 * passes the differences to a batch writer. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/operands.h"
#include "index/record.h"
#include "index/source.h"
#include "scan/batch.h"
#include "scan/early_files.h"
#include "scan/ingest.h"

/* ---- walk dir ------------------------------------------------------------------------------- */

/* A directory of a walk that waits or is being read, or an ancestor of such a directory. Each
 * directory has a reference to its parent, so that its path can be built from the chain.
 *
 * If the budget of descriptors permits, a directory keeps its descriptor until all its
 * subdirectories are opened. Opening them from that descriptor takes a time that does not depend on
 * their depth. Any thread; only one thread at a time uses a directory that is not an ancestor.
 */

struct walk_dir {
	struct walk_dir *parent; /* holds a reference; NULL: a directory where the walk began */
	struct walk_dir *next; /* in a queue */
	atomic_uint references;
	atomic_uint unopened; /* subdirectories that will be opened from fd */
	int fd; /* -1: closed */
	uint32_t source;
	bool known; /* the index had it before the walk */
	bool is_new; /* the index had no name in it before the walk */
	/* the index has it with these attributes, without an error or a flag; only if known */
	bool recorded;
	bool expected; /* the directory must be the inode that attributes has */
	/* it is on another file system than its parent; that file system possibly never answers */
	bool crosses;
	/* it is the root of a source, or on another file system than its parent */
	bool is_root, is_top;
	/* it leads to operands (index/operands.h), so only their names are examined in it */
	bool is_on_way;
	struct operand_range operands; /* those below it, if is_on_way */
	struct attributes attributes; /* when the directory was found */
	uint64_t id;
	enum recheck_scope scope;
	const struct recheck *recheck; /* borrowed; NULL: scope and id are enough */
	uint32_t name_length;
	char name[]; /* of a directory where the walk began: its path in the source */
};

/* Whether names were possibly moved during a walk, so that it missed them: from a directory that
 * was not listed yet to one that was listed. The first of them then changed after the walk began,
 * or is gone. */
struct walk_moves {
	struct walk_start start;
	atomic_bool possible;
	/* A file system of another host was walked, whose clock sets the times. These are no proof
	 * that no name was moved. */
	atomic_bool of_other_host;
	/* when the last of them can have been moved, by the ctimes of directories; 0: unknown */
	_Atomic int64_t last_ns;
};

/* start: all zero: now */
void walk_moves_begin(struct walk_moves *moves, const struct walk_start *start);

/* Notes the result of listing a directory, which is 0 or -ENOENT, and its attributes before that.
 * type: of its file system, f_type of statfs(2); 0: unknown */
void walk_moves_note(struct walk_moves *moves, int result, const struct attributes *attributes,
		     uint32_t type);

/* Notes the file system of an open directory where a walk, or another file system, begins. fd: -1:
 * none */
void walk_moves_note_top(struct walk_moves *moves, int fd);

/* Notes a directory whose listing differs from the index: a name can have been moved after its
 * ctime was read and before it was listed. fd: -1: none */
void walk_moves_note_now(struct walk_moves *moves, int fd);

/* Sets the fields of the result that are about moved names. */
void walk_moves_report(const struct walk_moves *moves, struct ingest_result *result);

/* Number of further descriptors that the directories of a walk may keep open. */
struct walk_dir_budget {
	atomic_int left;
};

/* Sets the budget of a walk. */
void walk_dir_budget_init(struct walk_dir_budget *budget);

/* Creates a directory with one reference, which adds one to the parent (or NULL). Returns NULL if
 * memory ran out. */
struct walk_dir *walk_dir_new(struct walk_dir *parent, struct name name);

/* Returns the flags of enum dir_flag for the place of an open directory.
 *
 * tagged	the directory has, or had, a name like that of the tag of a cache */
uint32_t walk_dir_place(const struct walk_dir *dir, const struct sources *sources, int fd,
			bool tagged);

/* Sets which operands are below the directory, and whether it is only on the way to them. In a
 * directory that is an operand, all names are indexed. operands can be NULL. */
void walk_dir_set_operands(struct walk_dir *dir, const struct operands *operands);

/* Creates the directory where a recheck begins. Returns 0, -ENOENT if the index no longer has the
 * directory, or another -errno. */
MUST_CHECK int walk_dir_begin(struct walk_dir **dir, const struct sources *sources,
			      struct catalog_reader *reader, const struct recheck *recheck);

/* Drops a reference to each directory in the list. */
void walk_dir_release_list(struct walk_dir *list);

/* Sorts a list by file system and inode and returns its first directory. Without memory the list
 * stays as it is. */
struct walk_dir *walk_dir_sort(struct walk_dir *list);

/* Sets path to the path of the directory, relative to its source. Returns 0 or -ENOMEM. */
MUST_CHECK int walk_dir_path(const struct walk_dir *dir, struct bytes *path);

/* Opens the directory for listing, from the parent's descriptor or by its path. A directory on the
 * way to operands is opened with O_PATH, as the caller possibly may not read it. path is a buffer.
 * Returns a descriptor, which the caller closes or passes to walk_dir_keep(), or -errno. */
MUST_CHECK int walk_dir_open(struct walk_dir *dir, const struct sources *sources,
			     struct walk_dir_budget *budget, struct bytes *path);

/* Reads the attributes of a directory that cannot be opened for listing. path is a buffer. Returns
 * 0 or -errno. */
MUST_CHECK int walk_dir_examine(const struct walk_dir *dir, const struct sources *sources,
				struct bytes *path, struct attributes *attributes);

/* Checks that the file system of the directory answers. A walk calls this before it enters another
 * file system. path is a buffer. Returns 0, -ETIMEDOUT after a second without an answer, or another
 * -errno. A confined daemon cannot fork, so it gets -EPERM without a check. */
MUST_CHECK int walk_dir_ask(const struct walk_dir *dir, const struct sources *sources,
			    struct bytes *path);

/* If the budget permits, keeps *fd for opening count subdirectories and sets *fd to -1. Must be
 * called before the subdirectories are in any queue. */
void walk_dir_keep(struct walk_dir *dir, int *fd, unsigned int count,
		   struct walk_dir_budget *budget);

/* ---- queue ----------------------------------------------------------------------------- */

/* The directories of a walk that wait, and the threads that take them. The walk ends when no
 * directory waits and none is being read, when it failed, or after stop_requested(). Any thread.
 *
 *	walk_queue_push --> first ... last --walk_queue_pop--> a thread --walk_queue_finish-->
 *
 * At first as many threads work as there are processors. More would only hinder each other while
 * all that they read is cached. The other threads wait. One more is admitted whenever directories
 * in short succession had to wait for the disk.
 *
 * When WALK_WAITING directories wait, those found later are taken before them. So a tree of any
 * size takes about 8 MiB for each level of very wide directories.
 */
#define WALK_WAITING ((size_t)32 << 10)

struct walk_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the queue changed, or the walk ends */
	pthread_cond_t admission; /* another thread is admitted, or the walk ends */
	struct walk_dir *first, *last;
	struct walk_dir *sorted; /* if the disk seeks: directories to take before first */
	size_t unsorted; /* number of directories from first to last */
	size_t open_dirs; /* in the queue or being read */
	unsigned int joined; /* threads that called walk_queue_join() */
	unsigned int admitted; /* of these, the first ones may work */
	unsigned int waits; /* evidence for waits for the disk */
	bool ended;
	int error; /* of the first directory that failed, or 0 */
};

/* workers: number of threads that may work from the start. */
void walk_queue_init(struct walk_queue *queue, unsigned int workers);
/* Releases the directories that still wait. */
void walk_queue_deinit(struct walk_queue *queue);

enum walk_order {
	WALK_LAST, /* breadth first, if all directories are pushed so and few wait */
	/* Depth first, so few directories have subdirectories that wait. Each of these few can keep
	 * its descriptor, from which its subdirectories are opened without a walk of their path. */
	WALK_NEXT,
};

/* Pushes count directories, list to last, to the end of the queue or to its beginning. */
void walk_queue_push(struct walk_queue *queue, struct walk_dir *list, struct walk_dir *last,
		     size_t count, enum walk_order order);

/* Registers the calling thread. Returns when it may work or the walk ends. */
void walk_queue_join(struct walk_queue *queue);

/* Takes the next directory. Waits while the queue is empty and other threads read directories.
 * Returns NULL if the walk ends or open_dirs exceeds dirs_max.
 *
 * seeks	take directories in the order of inodes, which is nearly the order of the disk */
struct walk_dir *walk_queue_pop(struct walk_queue *queue, size_t dirs_max, bool seeks);

/* Releases a directory that was taken.
 *
 * waited	reading the directory probably had to wait for the disk
 * error	0 or -errno, which ends the walk */
void walk_queue_finish(struct walk_queue *queue, struct walk_dir *dir, bool waited, int error);

/* ---- walk ----------------------------------------------------------------------------------- */

/* Rechecks count directories, as ingest_recheck() describes. Blocks until all rechecks are done or
 * stop_requested(). A large recheck uses threads of its own. Updates ingest->progress,
 * ingest->result and ingest->may_seek.
 *
 * early	records files that the walk reads; NULL: the walk reads none
 *
 * Returns 0 or -errno. */
MUST_CHECK int walk_rechecks(struct ingest *ingest, struct batch_writer *writer,
			     struct early_tables *early, const struct recheck *rechecks,
			     size_t count);

#endif
