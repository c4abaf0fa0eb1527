/* SPDX-License-Identifier: MIT */
#ifndef SCAN_CONTENTS_H
#define SCAN_CONTENTS_H

/* State of a comparison, shared by its threads. Internal to scan. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "scan/candidates.h"
#include "scan/disk_order.h"
#include "scan/ingest.h"
#include "scan/prefixes.h"
#include "scan/reading.h"
#include "scan/results.h"

/* Number of candidates that a thread takes at a time. The thread reads their prefixes in one
 * snapshot of the index. */
#define TAKEN_FILES 64

struct contents {
	struct ingest *ingest;
	struct window window;
	struct prefixes prefixes;
	pthread_mutex_t prefixes_lock; /* protects prefixes while they are read */
	struct prefix **undecided; /* prefixes that have to be compared block by block */
	size_t undecided_count, undecided_capacity;
	struct results results;
	struct disk_order order;
	uint64_t seed; /* random, see struct refinement */
	unsigned int readers; /* maximum number of threads that read prefixes */
	unsigned int comparers; /* maximum number of threads that compare */
	_Atomic uint32_t next; /* index of the next piece of work for a thread */
	uint32_t end; /* end of the work, exclusive */
	bool errors_logged; /* errors that the index already has are not logged again */
	_Atomic uint64_t errors; /* number of files that could not be read */
	bool repeats; /* the files are compared again, so the progress counts them already */
	_Atomic uint64_t postponed; /* files left for later: changed, or being written */
	_Atomic int failure; /* the first -errno that ends the work */
};

#endif
