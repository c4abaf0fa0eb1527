/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_SEEKS_H
#define INGEST_DISK_SEEKS_H

/* Detects by the duration of reads whether a disk seeks. The kernel's report that a disk rotates is
 * not enough. Virtual disks often report rotation wrongly, and cached reads do not seek. Not shared
 * between threads. */

#include <stdbool.h>
#include <stdint.h>

/* Number of the last reads, and of slow ones among them. All zero at first. */
struct disk_seeks {
	unsigned int reads, slow;
};

/* Returns true if the read took longer than a read from a cache or a solid-state disk. */
bool disk_seeks_is_slow(uint64_t took_ns);

/* Adds the duration of a read. Returns true if many of the last reads were slow. */
bool disk_seeks_add(struct disk_seeks *seeks, uint64_t took_ns);

/* As disk_seeks_add(), for a read of the directory or file fd. The read counts as slow only if the
 * kernel reports that its disk rotates. */
bool disk_seeks_note(struct disk_seeks *seeks, int fd, uint64_t took_ns);

#endif
