/* SPDX-License-Identifier: MIT */
#ifndef INGEST_SEEK_WATCH_H
#define INGEST_SEEK_WATCH_H

/* Do reads take as long as the head of a disk needs to go to another place? That a disk says it
 * rotates is not enough: virtual disks say so too, and what is cached has no place. Not shared
 * between threads. */

#include <stdbool.h>
#include <stdint.h>

/* What the last reads took. All zero at first. */
struct seek_watch {
	unsigned int reads, slow;
};

/* Is that longer than any read of a cache or of a solid disk? */
bool seek_watch_is_slow(uint64_t took_ns);

/* Enters a read that took so long: true when many of the last ones were slow. */
bool seek_watch_add(struct seek_watch *watch, uint64_t took_ns);

/* The same for a read below the directory or file that fd is open on: one of a disk that does not
 * say it rotates is never slow. */
bool seek_watch_note(struct seek_watch *watch, int fd, uint64_t took_ns);

#endif
