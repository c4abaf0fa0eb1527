/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_SEEKS_H
#define INGEST_DISK_SEEKS_H

/* Do reads take as long as the head of a disk needs to go to another place? That a disk says it
 * rotates is not enough: virtual disks say so too, and what is cached has no place. Not shared
 * between threads. */

#include <stdbool.h>
#include <stdint.h>

/* What the last reads took. All zero at first. */
struct disk_seeks {
	unsigned int reads, slow;
};

/* Is that longer than any read of a cache or of a solid disk? */
bool disk_seeks_is_slow(uint64_t took_ns);

/* Enters a read that took so long: true when many of the last ones were slow. */
bool disk_seeks_add(struct disk_seeks *seeks, uint64_t took_ns);

/* The same for a read below the directory or file that fd is open on: one of a disk that does not
 * say it rotates is never slow. */
bool disk_seeks_note(struct disk_seeks *seeks, int fd, uint64_t took_ns);

#endif
