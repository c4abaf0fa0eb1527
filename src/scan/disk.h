/* SPDX-License-Identifier: MIT */
#ifndef SCAN_DISK_H
#define SCAN_DISK_H

/* Detects whether a disk seeks. The kernel's report that a disk rotates is not enough, as virtual
 * disks often report rotation wrongly. Slow reads are not enough either, as load slows all reads.
 *
 *   suspicion   struct disk_waits: many reads of a thread waited for a disk that reports rotation.
 *               Costs nothing while reads are quick. A loaded disk that does not seek causes it
 *               too.
 *   trial       struct disk_trial: reads of a block directly followed by another read of the same
 *               block, both from the device. A disk that seeks needs longer for the first read by
 *               a seek, as its buffer serves the second one. Load delays either read with equal
 *               probability, so it cannot make the first one slower in nearly all pairs.
 *
 * A reader that needs to know whether a disk seeks calls disk_trial_read() with open files of that
 * disk until disk_trial_is_over(), then disk_trial_seeks(). While files are compared,
 * disk_order_is_on() (contents.h) has the result. Not shared between threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sources;
struct storage_places;

/* ---- kind ----------------------------------------------------------------------------- */

/* The kind of disk that holds a file, as the kernel reports it. */
enum disk_kind {
	DISK_UNKNOWN, /* not a local disk, or not found */
	DISK_SOLID,
	DISK_ROTATING, /* as reported: virtual disks often report this wrongly */
};

/* Returns the kind of the disk below the file system of fd, which may be O_PATH. Finds the disk of
 * a partition and the disk below a loop device. For device mapper and RAID, the kernel reports one
 * value for the whole stack. For btrfs, the device that was mounted decides. For overlayfs, the
 * upper layer decides, or the highest lower layer if there is no upper one. Reads files of /sys and
 * /proc. Any thread. */
enum disk_kind disk_kind(int fd);

/* As disk_kind(), with other paths. */
enum disk_kind disk_kind_by(const struct storage_places *places, int fd);

/* ---- suspicion ------------------------------------------------------------------------ */

/* The last reads of the calling thread. All zero at first. */
struct disk_waits {
	unsigned int reads, slow;
	long blocks; /* read from disks for the thread until its last slow read */
};

/* Returns true if the read took longer than a read from a cache or a solid-state disk. */
bool disk_waits_is_slow(uint64_t took_ns);

/* Adds the duration of a read. Returns true if many of the last reads were slow. */
bool disk_waits_add(struct disk_waits *waits, uint64_t took_ns);

/* As disk_waits_add(), for a read of the directory or file fd. The read counts as slow only if the
 * thread has read from a disk since its last slow read, and if the kernel reports that the disk
 * of fd rotates. */
bool disk_waits_note(struct disk_waits *waits, int fd, uint64_t took_ns);

/* ---- trial ---------------------------------------------------------------------------- */

/* Pairs of reads of one disk. All zero at first. */
struct disk_trial {
	unsigned int pairs;
	unsigned int seeks; /* pairs in which the first read took longer by a seek */
	unsigned int quick; /* pairs in which the first read was quicker than any seek */
};

/* Adds the durations of two reads of the same block, one directly after the other. */
void disk_trial_add(struct disk_trial *trial, uint64_t first_ns, uint64_t again_ns);

/* Reads a block of an open file twice from the device (O_DIRECT), and adds the durations. Sets
 * O_DIRECT for fd. The block should not be near another one of the trial, or recently read. Blocks.
 * Returns 0, or -errno if the block was not read and nothing was added: the file system does not
 * support such reads, or the file is shorter than offset. */
int disk_trial_read(struct disk_trial *trial, int fd, uint64_t offset);

/* Returns true if further pairs cannot change the result. */
bool disk_trial_is_over(const struct disk_trial *trial);

/* Returns true if the disk seeks. before: the result if the pairs prove neither. */
bool disk_trial_seeks(const struct disk_trial *trial, bool before);

/* ---- files to read ---------------------------------------------------------------------- */

/* Files of an index that will be read, for a trial before the first one is. */
struct disk_files {
	const struct sources *sources; /* borrowed */
	size_t count;
	/* Opens a file for reading and sets *size to its bytes. Returns a descriptor, which the
	 * caller closes, or -errno. */
	int (*open)(void *context, size_t index, uint64_t *size);
	void *context;
};

/* Returns whether the disk of the files seeks, as trials prove. No file is opened unless the kernel
 * reports that the disk of a source rotates, or after stop_requested(). Blocks on the disk. */
bool disk_files_seek(const struct disk_files *files);

/* ---- positions and prefetching -------------------------------------------------------------- */

/* The position of a file on its disk, and prefetching into the page cache of the kernel.
 * Prefetching only saves time. The comparison still reads the file, from the cache. Any thread. */

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
