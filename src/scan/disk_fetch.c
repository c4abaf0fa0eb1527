/* SPDX-License-Identifier: MIT */
#include "scan/disk_fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum that the kernel reads for one posix_fadvise(2) call: the usual size of its readahead
 * (read_ahead_kb). */
#define PIECE_BYTES (UINT64_C(128) << 10)

/* Extents without a device offset, or with an offset unrelated to seeks. */
#define PLACELESS                                                                     \
	(FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_DATA_INLINE | \
	 FIEMAP_EXTENT_NOT_ALIGNED)

uint64_t disk_fetch_place(int fd)
{
	union {
		struct fiemap map;
		uint8_t room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} answer = {.map = {.fm_length = FIEMAP_MAX_OFFSET, .fm_extent_count = 1}};
	const struct fiemap_extent *first = answer.map.fm_extents;
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	if (ioctl(fd, FS_IOC_FIEMAP, &answer) < 0)
		return status.st_ino;
	if (answer.map.fm_mapped_extents == 0 || (first->fe_flags & PLACELESS))
		return 0;
	return first->fe_physical;
}

void disk_fetch_range(int fd, uint64_t offset, uint64_t length)
{
	for (uint64_t at = offset; at < offset + length; at += PIECE_BYTES) {
		uint64_t left = offset + length - at;

		if (posix_fadvise(fd, (off_t)at, (off_t)(left < PIECE_BYTES ? left : PIECE_BYTES),
				  POSIX_FADV_WILLNEED) != 0)
			break;
	}
}

bool disk_fetch_is_cached(int fd)
{
	unsigned char pages = 1;
	void *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);

	/* preadv2(2) with RWF_NOWAIT reports this, too, but begins to read what is not cached */
	if (page == MAP_FAILED)
		return true;
	if (mincore(page, 1, &pages) < 0)
		pages = 1;
	munmap(page, 1);
	return pages & 1;
}
