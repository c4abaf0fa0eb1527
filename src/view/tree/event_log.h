/* SPDX-License-Identifier: MIT */
#ifndef VIEW_TREE_EVENT_LOG_H
#define VIEW_TREE_EVENT_LOG_H

/* The lines of .twinfs/events: a bounded log in memory and the position of each reader. A writer
 * never waits for readers. Any thread.
 *
 * For a reader, the log is a file that grows. If the lines at a reader's position were discarded,
 * the reader gets a line with the number of missed lines, then the remaining lines. From then on,
 * the file offsets of this reader are shifted against those of the log.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"

/* Size limit of the log. Only a single longer line can exceed it. */
#define EVENT_LOG_BYTES_MAX (UINT64_C(1) << 20)

struct event_log {
	/* a program has opened .twinfs/events; lines are produced from then on */
	atomic_bool wanted;
	pthread_mutex_t lock; /* protects all fields below */
	struct bytes content; /* complete lines */
	uint64_t discarded_bytes; /* bytes discarded before the content */
	uint64_t discarded_lines; /* lines discarded before the content */
	struct timespec changed; /* time of the last line, or 0 */
};

/* Position of one open file. All zero: at the beginning. Private to event_log.c. */
struct event_reader {
	uint64_t shift; /* log offset minus file offset (modulo 2^64) */
	uint64_t next; /* log offset after the last read */
	uint64_t lines; /* lines that begin before next */
	bool in_line; /* next is inside a line */
	uint64_t note_at; /* file offset of the line about missed lines */
	size_t note_length; /* 0: there is no such line */
	char note[64];
};

void event_log_init(struct event_log *log);
void event_log_deinit(struct event_log *log);

/* Appends lines, each with its newline. Returns 0 or -ENOMEM. */
MUST_CHECK int event_log_append(struct event_log *log, const struct bytes *lines,
				struct timespec now);

/* Returns how many bytes were appended in total. Sets changed to the time of the last append. */
uint64_t event_log_size(struct event_log *log, struct timespec *changed);

/* Reads at an offset of the reader's file. Returns the number of bytes, 0 if there are none yet. If
 * a line fits, it is returned whole. */
size_t event_log_read(struct event_log *log, struct event_reader *reader, void *buffer, size_t size,
		      uint64_t offset);

/* Returns whether there is data after the last read. */
bool event_log_has_more(struct event_log *log, const struct event_reader *reader);

#endif
