/* SPDX-License-Identifier: MIT */
#ifndef INGEST_CONTENTS_STATE_H
#define INGEST_CONTENTS_STATE_H

/* The comparison of one window, shared by the threads that do it. Internal to ingest/. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/attributes.h"
#include "ingest/disk_order.h"
#include "ingest/ingest.h"
#include "ingest/plan.h"
#include "ingest/prefixes.h"
#include "ingest/reading.h"
#include "ingest/results.h"

/* Candidates that a thread takes at a time, reading their heads in one snapshot of the index. */
#define TAKEN_FILES 64

struct contents {
	struct ingest *ingest;
	struct window window;
	struct prefixes prefixes;
	pthread_mutex_t prefixes_lock;
	struct prefix **undecided; /* what is left to be compared block by block */
	size_t undecided_count;
	struct results results;
	struct disk_order order;
	uint64_t seed; /* random, see struct refinement */
	unsigned int readers; /* threads for heads, where there is work for so many */
	unsigned int comparers; /* the same for what is undecided */
	_Atomic uint32_t next; /* the next piece of work for a thread */
	uint32_t end; /* of the work */
	bool told; /* what was noted as an error before was told then, too */
	_Atomic uint64_t errors;
	bool repeats; /* all that is to be done was counted before */
	_Atomic uint64_t postponed; /* files left for later: changed, or being written */
	_Atomic int failure; /* first -errno that ends the work */
};

/* Notes what became of a file that could not be read to its end.
 *
 * what		enum reading_outcome or -errno
 * reading	where its new attributes are after READING_CHANGED
 */
void contents_note_problem(struct contents *contents, struct catalog_reader *reader,
			   const struct file_record *file, int what, const struct reading *reading);

/* Adds to what is done, for those who watch. A small file counts when its head is read, a longer
 * one when its class is known, its bytes as they are read. */
void contents_count_done(struct contents *contents, uint64_t files, uint64_t bytes);

/* The first one stays. */
void contents_fail(struct contents *contents, int failure);

#endif
