/* SPDX-License-Identifier: MIT */
#ifndef INGEST_WALK_QUEUE_H
#define INGEST_WALK_QUEUE_H

/* The directories of a walk that wait, and the threads that take them. The walk ends when no
 * directory waits and none is being read, when it failed, or after stop_requested(). Any thread.
 *
 *	walk_queue_push --> first ... last --walk_queue_pop--> a thread --walk_queue_finish-->
 *
 * At first as many threads work as there are processors. More would only hinder each other while
 * all that they read is cached. The other threads wait. One more is admitted whenever directories
 * in short succession had to wait for the disk.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

struct walk_dir;

struct walk_queue {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the queue changed, or the walk ends */
	pthread_cond_t admission; /* another thread is admitted, or the walk ends */
	struct walk_dir *first, *last;
	struct walk_dir *sorted; /* if the disk seeks: directories to take before first */
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
	WALK_LAST, /* breadth first, if all directories are pushed so */
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

#endif
