/* SPDX-License-Identifier: MIT */
#include "act/held.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "index/source.h"

/* Interval at which held_wait_for_writer() checks for a writer, and its longest wait. */
#define WRITER_PAUSE_MS 20
#define WRITER_WAIT_MS_MAX 60000

#define BLOCK_BYTES ((size_t)256 << 10)
/* Bytes that are compared between two checks of the leases, in a fraction of a second. */
#define CHECK_BYTES ((off_t)64 << 20)

void held_release_lease(struct held *held)
{
	if (held->leased)
		(void)fcntl(held->fd, F_SETLEASE, F_UNLCK);
	held->leased = false;
}

void held_wait_for_writer(struct held *held)
{
	held_release_lease(held);
	for (int waited = 0; waited < WRITER_WAIT_MS_MAX; waited += WRITER_PAUSE_MS) {
		if (fcntl(held->fd, F_SETLEASE, F_RDLCK) == 0 || errno != EAGAIN)
			return;
		clock_sleep_ms(WRITER_PAUSE_MS);
	}
}

static bool lease_is_reliable(const struct held *held)
{
	struct statfs fs;

	return fstatfs(held->fd, &fs) == 0 &&
	       filesystem_leases_are_reliable((uint32_t)fs.f_type, held->status.st_dev);
}

static int take_lease(struct held *held, bool without_leases)
{
	held->leased = fcntl(held->fd, F_SETLEASE, F_RDLCK) == 0;
	if (!held->leased && errno == EAGAIN)
		return HELD_BUSY;
	if (held->leased && lease_is_reliable(held))
		return 0;
	held_release_lease(held);
	return without_leases ? 0 : HELD_NO_LEASE;
}

/* Holds an open file. Takes fd, or returns it if it is an -errno of opening the file. */
static int hold(struct held *held, int fd, bool without_leases)
{
	int r = 0;

	*held = (struct held){.fd = fd};
	if (fd < 0)
		return fd;
	if (fstat(fd, &held->status) < 0)
		r = -errno;
	else
		r = S_ISREG(held->status.st_mode) ? take_lease(held, without_leases) : HELD_CHANGED;
	/* a program could write after the first fstat() and before the lease was taken */
	if (r == 0 && fstat(fd, &held->status) < 0)
		r = -errno;
	if (r != 0)
		held_close(held);
	return r;
}

int held_open(struct held *held, const struct place *place, const struct sources *sources,
	      const struct attributes *expected, bool without_leases)
{
	int fd = open_beneath_for_reading(place->directory, place->name, 0, sources->cross_mounts);
	int r = hold(held, fd, without_leases);
	struct attributes attributes;

	if (r == -ELOOP || r == -ENXIO || r == -EISDIR)
		return HELD_CHANGED;
	if (r == 0)
		r = source_attributes(sources->catalog, fd, &attributes);
	if (r == 0 && !attributes_same_inode(&attributes, expected))
		r = HELD_CHANGED;
	if (r != 0)
		held_close(held);
	return r;
}

enum act_outcome held_outcome(int result, bool kept)
{
	if (result == HELD_BUSY)
		return kept ? ACT_KEPT_BUSY : ACT_BUSY;
	if (result == HELD_CHANGED)
		return kept ? ACT_KEPT_CHANGED : ACT_CHANGED;
	if (result == HELD_NO_LEASE)
		return ACT_NO_LEASE;
	if (result == -ENOENT || result == -ENOTDIR || result == -ENODEV || result == -ELOOP)
		return kept ? ACT_KEPT_MISSING : ACT_MISSING;
	return ACT_FAILED;
}

int held_open_any(struct held *held, const struct place *place)
{
	int fd = open_beneath_for_reading(place->directory, place->name, 0, false);

	return hold(held, fd, true);
}

int held_open_linked(struct held *held, const struct place *place)
{
	AUTO_CLOSE int there = openat(place->directory, place->name, O_PATH | O_CLOEXEC);
	struct stat status;
	int fd;

	*held = (struct held){.fd = -1};
	if (there < 0 || fstat(there, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return HELD_CHANGED;
	fd = open(fd_path(there).text, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return hold(held, fd < 0 ? -errno : fd, true);
}

/* Compares size and mtime. ctime is not compared, as each rename and link of the act changes it. */
static bool same_times(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && clock_equal(a->st_mtim, b->st_mtim);
}

bool held_is_unbroken(const struct held *held)
{
	struct stat now;

	if (held->leased)
		return fcntl(held->fd, F_GETLEASE) == F_RDLCK;
	return fstat(held->fd, &now) == 0 && same_times(&now, &held->status);
}

bool held_is_itself(const struct held *kept, const struct held *copy)
{
	const struct stat *before = &kept->status;
	struct statx now;

	if (before->st_dev == copy->status.st_dev)
		return false;
	/* AT_STATX_FORCE_SYNC reads ctime without caches */
	return statx(kept->fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_CTIME, &now) < 0 ||
	       now.stx_ctime.tv_sec != before->st_ctim.tv_sec ||
	       now.stx_ctime.tv_nsec != before->st_ctim.tv_nsec;
}

/* The kernel removes a broken lease after lease-break-time seconds (0: never), and the writer
 * continues. F_GETLEASE does not show whether a broken lease was removed, so only half of that time
 * is trusted. */
bool held_blocks_writer(const struct held *held, uint64_t since_ns)
{
	uint64_t patience_s = number_read_file("/proc/sys/fs/lease-break-time");

	if (!held->leased || patience_s == UINT64_MAX)
		return false;
	return patience_s == 0 || clock_monotonic_ns() - since_ns < patience_s * SECOND_NS / 2;
}

void held_close(struct held *held)
{
	if (held->fd >= 0)
		close(held->fd); /* ends the lease */
	*held = (struct held){.fd = -1};
}

/* ---- comparing ----------------------------------------------------------------------- */

/* Returns the first offset, not below the given one, at which either file has data. */
static off_t next_data(const struct held *a, const struct held *b, off_t offset)
{
	off_t p = lseek(a->fd, offset, SEEK_DATA), q;

	if (p < 0)
		p = errno == ENXIO ? a->status.st_size : offset;
	if (p == offset)
		return offset;
	q = lseek(b->fd, offset, SEEK_DATA);
	if (q < 0)
		q = errno == ENXIO ? b->status.st_size : offset;
	return p < q ? p : q;
}

static bool has_holes(const struct held *held)
{
	return held->status.st_blocks < held->status.st_size / 512;
}

static int compare_blocks(const struct held *a, const struct held *b, uint8_t *memory, off_t size)
{
	bool holes = has_holes(a) && has_holes(b);
	off_t check_at = CHECK_BYTES;
	long got, other;

	for (off_t at = 0; at < size; at += got) {
		if (at >= check_at && !(held_is_unbroken(a) && held_is_unbroken(b)))
			return -EBUSY;
		check_at = at >= check_at ? at + CHECK_BYTES : check_at;
		if (holes)
			at = next_data(a, b, at);
		got = read_fully_at(a->fd, memory, BLOCK_BYTES, at);
		other = read_fully_at(b->fd, memory + BLOCK_BYTES, BLOCK_BYTES, at);
		if (got < 0 || other < 0)
			return (int)(got < 0 ? got : other);
		if (got != other || memcmp(memory, memory + BLOCK_BYTES, (size_t)got) != 0)
			return 0;
		if (got == 0 && at < size)
			return 0; /* truncated meanwhile */
	}
	return 1;
}

int held_same_bytes(const struct held *a, const struct held *b)
{
	AUTO_FREE uint8_t *memory = memory_pages(2 * BLOCK_BYTES);

	if (!memory)
		return -ENOMEM;
	if (a->status.st_size != b->status.st_size)
		return 0;
	return compare_blocks(a, b, memory, a->status.st_size);
}

/* What the reader of a held file knows about its lease. */
struct lease_check {
	const struct held *held;
	uint64_t unchecked; /* bytes that were read since the last check */
};

static int check_lease(void *context, uint64_t bytes)
{
	struct lease_check *check = context;

	check->unchecked += bytes;
	if (check->unchecked < CHECK_BYTES)
		return 0;
	check->unchecked = 0;
	return held_is_unbroken(check->held) ? 0 : -EBUSY;
}

int held_same_sha256(const struct held *held, const uint8_t sha256[SHA256_BYTES])
{
	struct lease_check check = {.held = held};
	struct file_sha256 reader;
	uint8_t found[SHA256_BYTES];
	int r = file_sha256_init(&reader);

	reader.progress = check_lease;
	reader.context = &check;
	if (r == 0)
		r = file_sha256_read(&reader, held->fd, (uint64_t)held->status.st_size,
				     has_holes(held), found);
	file_sha256_deinit(&reader);
	if (r < 0)
		return r;
	return r == 0 && memcmp(found, sha256, sizeof(found)) == 0;
}

/* ---- what is on the disk -------------------------------------------------------------------- */

/* Coarsest resolution of time stamps on a file system with leases (FAT). If a file changes twice
 * within this time, its ctime can be that of the first change. */
#define COARSEST_TIME_NS (2 * SECOND_NS)

/* ---- the kept file ------------------------------------------------------------------------- */

/* Finds or adds the entry of a file system. A new entry replaces the oldest one if the list is
 * full. */
static struct durable_kept *find_kept(struct durable *durable, dev_t device)
{
	struct durable_kept *found;

	for (size_t i = 0; i < durable->kept_count; i++) {
		if (durable->kept[i].device == device)
			return &durable->kept[i];
	}
	if (durable->kept_count == DURABLE_FILE_SYSTEMS) {
		durable->kept_count--;
		memmove(&durable->kept[0], &durable->kept[1],
			durable->kept_count * sizeof(durable->kept[0]));
	}
	found = &durable->kept[durable->kept_count++];
	*found = (struct durable_kept){.device = device};
	return found;
}

/* Returns 1 if the file did not change since the last syncfs began, 0 if it possibly did, or
 * -errno. An act is planned before its first syncfs, so an unchanged signature is enough in most
 * cases. ctime is checked as well, because a second change in the same clock tick does not move
 * it. */
static int is_synced(const struct durable_kept *kept, const struct held *held,
		     const struct sources *sources, const struct attributes *planned)
{
	struct attributes now;
	int r = source_attributes(sources->catalog, held->fd, &now);

	if (r < 0)
		return r;
	return kept->synced_at.tv_sec > 0 && attributes_same_signature(&now, planned) &&
	       clock_ns(now.ctime) <= clock_ns(kept->synced_at) - COARSEST_TIME_NS;
}

int durable_ensure_kept(struct durable *durable, const struct held *held,
			const struct sources *sources, const struct attributes *planned)
{
	struct durable_kept *kept = find_kept(durable, held->status.st_dev);
	struct timespec now = clock_now();
	int r = is_synced(kept, held, sources, planned);

	if (r != 0)
		return r < 0 ? r : 0;
	if (syncfs(held->fd) < 0)
		return -errno;
	kept->synced_at = now;
	return 0;
}

/* ---- changed names ------------------------------------------------------------------------- */

void durable_note_directory(struct durable *durable, int directory, dev_t device)
{
	int opened;

	for (size_t i = 0; i < durable->changed_count; i++) {
		if (durable->changed[i].device == device)
			return;
	}
	opened = durable->changed_count < DURABLE_FILE_SYSTEMS
			 ? open_beneath(directory, "", O_RDONLY | O_DIRECTORY, true)
			 : -EMFILE;
	if (opened < 0)
		durable->more_changed = true;
	else
		durable->changed[durable->changed_count++] =
			(struct durable_changed){.device = device, .directory = opened};
}

int durable_sync_changed(const struct durable *durable)
{
	if (durable->more_changed)
		sync();
	for (size_t i = 0; i < durable->changed_count; i++) {
		if (syncfs(durable->changed[i].directory) < 0)
			return -errno;
	}
	return 0;
}

void durable_deinit(struct durable *durable)
{
	for (size_t i = 0; i < durable->changed_count; i++)
		close(durable->changed[i].directory);
	*durable = (struct durable){0};
}
