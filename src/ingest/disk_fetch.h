/* SPDX-License-Identifier: MIT */
#ifndef INGEST_DISK_FETCH_H
#define INGEST_DISK_FETCH_H

/* Where a file lies on its disk, and having the kernel read it into its page cache before it is
 * wanted. What is fetched is only a promise of speed: who compares reads it again, from the
 * cache. Any thread. */

#include <stdbool.h>
#include <stdint.h>

/* The offset on the device of the first byte of an open file, as FS_IOC_FIEMAP tells it; where it
 * does not, the inode number, which many file systems give in the order of the disk. 0: it has no
 * place (yet). */
uint64_t disk_fetch_place(int fd);

/* Has the kernel read this range of an open file. Returns when all is asked for, not when it is
 * there; waits only while the disk's queue is full. */
void disk_fetch_range(int fd, uint64_t offset, uint64_t length);

/* Is the page at offset in the cache? True where that cannot be told. */
bool disk_fetch_is_cached(int fd, uint64_t offset);

/* How many bytes may be fetched ahead of their use: a part of the memory of this machine. */
uint64_t disk_fetch_budget(void);

#endif
