/* SPDX-License-Identifier: MIT */
#ifndef VIEW_EVENT_LOG_H
#define VIEW_EVENT_LOG_H

/* The lines of .twinfs/events: a log in memory that forgets its beginning, and how far each of its
 * readers is. Nobody who appends waits for a reader. Any thread.
 *
 * To a reader it is a file that grows. One who comes to what was forgotten gets a line that says
 * how many lines it missed, and then what is there: from then on its offsets in the file are not
 * those in the log, but shifted.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* How much is kept, but for a last line that is longer. */
#define EVENT_LOG_BYTES_MAX (UINT64_C(1) << 20)

struct event_log {
	atomic_bool wanted; /* somebody has opened it: lines are made from then on */
	pthread_mutex_t lock; /* of all below */
	struct bytes content; /* whole lines */
	uint64_t start; /* bytes that were forgotten */
	uint64_t forgotten; /* the same in lines */
	struct timespec changed; /* when the last line came; 0: none */
};

/* Of one open file. All zero: at the beginning. Only the log's functions look into it. */
struct event_reader {
	uint64_t shift; /* from an offset in the file to one in the log (modulo 2^64) */
	uint64_t next; /* offset in the log behind what was read last */
	uint64_t lines; /* that begin before next */
	bool in_line; /* next is not where a line begins */
	uint64_t note_at; /* offset in the file of the line about missed ones */
	size_t note_length; /* 0: there is none */
	char note[64];
};

void event_log_init(struct event_log *log);
void event_log_deinit(struct event_log *log);

/* Appends lines, each with its newline. 0 or -ENOMEM. */
MUST_CHECK int event_log_append(struct event_log *log, const struct bytes *lines,
				struct timespec now);

/* How many bytes there ever were, and when the last came. */
uint64_t event_log_size(struct event_log *log, struct timespec *changed);

/* Reads at an offset of the reader's file: how many bytes, 0 where nothing is there yet. Lines that
 * fit are given whole. */
size_t event_log_read(struct event_log *log, struct event_reader *reader, void *buffer, size_t size,
		      uint64_t offset);

/* Is there something behind what was read last? */
bool event_log_has_more(struct event_log *log, const struct event_reader *reader);

#endif
