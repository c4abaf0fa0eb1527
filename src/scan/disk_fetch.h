/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DISK_FETCH_H
#define SCAN_DISK_FETCH_H

/* The position of a file on its disk, and prefetching into the page cache of the kernel.
 * Prefetching only saves time. The comparison still reads the file, from the cache. Any thread. */

#include <stdbool.h>
#include <stdint.h>

/* Returns the device offset of the first byte of an open file, from FS_IOC_FIEMAP. If that ioctl
 * fails, returns the inode number, which often follows the order of the disk. Returns 0 if the
 * bytes have no position on the disk (yet). */
uint64_t disk_fetch_place(int fd);

/* Asks the kernel to read this range of an open file into the page cache. Returns when the range is
 * requested, not when it is read. Blocks only while the queue of the disk is full. */
void disk_fetch_range(int fd, uint64_t offset, uint64_t length);

/* Returns true if the first page of an open file is cached, or if that is unknown. */
bool disk_fetch_is_cached(int fd);

#endif
