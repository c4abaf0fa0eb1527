/* SPDX-License-Identifier: MIT */
#include "scan/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/filesystem.h"
#include "base/memory.h"
#include "base/stop.h"
#include "index/source.h"

/* A seek takes at least 4 ms: the move of the head and half a turn of the platter. A cache answers
 * in 0.01 ms, a solid-state disk in 0.2 ms. */
#define SLOW_NS (2 * MS_NS)

/* A thread waits for a disk if this many of its last reads, at most 64, were slow. */
#define SLOW_READS 8
#define WATCHED_READS 64

/* Maximum number of pairs of a trial. */
#define PAIRS 32

/* A disk seeks if this many pairs show it. If load makes either read of a pair the slower one with
 * equal probability, fewer than 1 in 2,000 trials reach this number. A disk that seeks reaches it
 * even while another program makes it seek all the time: 9 of 10 pairs show it then. */
#define PAIRS_SEEKING 26

/* A disk does not seek if this many pairs were quick, as PAIRS_SEEKING is then out of reach. */
#define PAIRS_QUICK (PAIRS - PAIRS_SEEKING + 1)

/* No seek takes less than this. */
#define QUICK_NS MS_NS

/* Maximum number of blocks of a trial with files, and of those of one file. */
#define TRIAL_BLOCKS 64U
#define TRIAL_BLOCKS_OF_FILE 8U

/* Minimum distance of two blocks of a file, in bytes. */
#define TRIAL_DISTANCE (UINT64_C(128) << 10)

/* A multiple of the block size of all usual disks, which O_DIRECT needs. */
#define BLOCK_BYTES 4096

/* ---- kind ----------------------------------------------------------------------------- */

/* Outcome: the next layer below decides. */
enum {
	DEVICE_BELOW = -1
};

static int kind_of_device(const struct storage_places *places, struct storage *layer)
{
	AUTO_FREE char *rotating = NULL, *file = NULL;

	/* A partition has no queue. The parent directory belongs to the disk of the partition. */
	if (!storage_read_line(places, layer->device, "queue/rotational", &rotating) &&
	    !storage_read_line(places, layer->device, "../queue/rotational", &rotating))
		return DISK_UNKNOWN;
	if (strcmp(rotating, "1") == 0)
		return DISK_ROTATING;
	/* A loop device has the value of the disk below its backing file. It has no such value if
	 * the file system of that file has no device. */
	if (storage_read_line(places, layer->device, "loop/backing_file", &file) &&
	    storage_descend(places, layer))
		return DEVICE_BELOW;
	return DISK_SOLID;
}

enum disk_kind disk_kind_by(const struct storage_places *places, int fd)
{
	struct storage layer;
	int kind = DEVICE_BELOW;

	if (!storage_of(fd, &layer))
		return DISK_UNKNOWN;
	for (int i = 0; kind == DEVICE_BELOW && i < STORAGE_LAYERS_MAX; i++) {
		if (major(layer.device) != 0)
			kind = kind_of_device(places, &layer);
		else if (!storage_descend(places, &layer))
			kind = DISK_UNKNOWN;
	}
	return kind == DEVICE_BELOW ? DISK_UNKNOWN : (enum disk_kind)kind;
}

enum disk_kind disk_kind(int fd)
{
	return disk_kind_by(&storage_places, fd);
}

/* ---- suspicion ------------------------------------------------------------------------ */

bool disk_waits_is_slow(uint64_t took_ns)
{
	return took_ns >= SLOW_NS;
}

bool disk_waits_add(struct disk_waits *waits, uint64_t took_ns)
{
	if (waits->reads == WATCHED_READS) {
		waits->reads /= 2;
		waits->slow /= 2;
	}
	waits->reads++;
	waits->slow += disk_waits_is_slow(took_ns);
	return waits->slow >= SLOW_READS;
}

/* Returns true if the thread has read from a disk since its last slow read. A thread that only
 * waited for a processor has not. */
static bool has_read_disk(struct disk_waits *waits)
{
	long before = waits->blocks;
	struct rusage usage;

	if (getrusage(RUSAGE_THREAD, &usage) < 0)
		return false;
	waits->blocks = usage.ru_inblock;
	return waits->blocks != before;
}

bool disk_waits_note(struct disk_waits *waits, int fd, uint64_t took_ns)
{
	/* The blocks and the kind of disk cost calls, so they are checked for slow reads only. */
	if (disk_waits_is_slow(took_ns) &&
	    (!has_read_disk(waits) || disk_kind(fd) != DISK_ROTATING))
		took_ns = 0;
	return disk_waits_add(waits, took_ns);
}

/* ---- trial ---------------------------------------------------------------------------- */

void disk_trial_add(struct disk_trial *trial, uint64_t first_ns, uint64_t again_ns)
{
	trial->pairs++;
	trial->seeks += first_ns >= again_ns + SLOW_NS;
	trial->quick += first_ns < QUICK_NS;
}

/* Reads the block and sets *took_ns. */
static int read_block(int fd, uint8_t *block, uint64_t offset, uint64_t *took_ns)
{
	uint64_t begun = clock_monotonic_ns();
	ssize_t got = pread(fd, block, BLOCK_BYTES, (off_t)offset);

	*took_ns = clock_monotonic_ns() - begun;
	return got < 0 ? -errno : got == 0 ? -ENODATA : 0;
}

int disk_trial_read(struct disk_trial *trial, int fd, uint64_t offset)
{
	AUTO_FREE uint8_t *block = memory_pages(BLOCK_BYTES);
	int flags = fcntl(fd, F_GETFL);
	uint64_t first_ns, again_ns;
	int r;

	if (!block)
		return -ENOMEM;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_DIRECT) < 0)
		return -errno;
	offset -= offset % BLOCK_BYTES;
	r = read_block(fd, block, offset, &first_ns);
	if (r == 0)
		r = read_block(fd, block, offset, &again_ns);
	if (r == 0)
		disk_trial_add(trial, first_ns, again_ns);
	return r;
}

bool disk_trial_is_over(const struct disk_trial *trial)
{
	return trial->pairs >= PAIRS || trial->seeks >= PAIRS_SEEKING ||
	       trial->quick >= PAIRS_QUICK;
}

bool disk_trial_seeks(const struct disk_trial *trial, bool before)
{
	if (trial->seeks >= PAIRS_SEEKING)
		return true;
	return trial->quick < PAIRS_QUICK && before;
}

/* ---- files to read ---------------------------------------------------------------------- */

static bool is_reported_to_rotate(const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (disk_kind(sources->list[i].fd) == DISK_ROTATING)
			return true;
	}
	return false;
}

/* Reads blocks of a file for the trial. */
static void try_file(const struct disk_files *files, size_t index, struct disk_trial *trial,
		     unsigned int *tried)
{
	uint64_t size = 0, step;
	AUTO_CLOSE int fd = files->open(files->context, index, &size);

	step = size / TRIAL_BLOCKS_OF_FILE;
	if (step < TRIAL_DISTANCE)
		step = TRIAL_DISTANCE;
	for (unsigned int i = 0; fd >= 0 && i < TRIAL_BLOCKS_OF_FILE; i++, (*tried)++) {
		if (step * i > size || disk_trial_read(trial, fd, step * i) < 0)
			return;
	}
}

bool disk_files_seek(const struct disk_files *files)
{
	struct disk_trial trial = {0};
	unsigned int tried = 0;

	if (!is_reported_to_rotate(files->sources))
		return false;
	for (size_t i = 0; i < files->count && tried < TRIAL_BLOCKS; i++) {
		if (disk_trial_is_over(&trial) || stop_requested())
			break;
		try_file(files, i, &trial, &tried);
	}
	return disk_trial_seeks(&trial, false);
}

/* ---- positions and prefetching -------------------------------------------------------------- */

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
