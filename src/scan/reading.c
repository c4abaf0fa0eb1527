/* SPDX-License-Identifier: MIT */
#include "scan/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "scan/disk.h"

/* Guard time: two changes within this time can leave the same time stamp. Kernels use the time of
 * the last tick, which is at most 10 ms ago. FAT stores times in steps of two seconds, and other
 * hosts use clocks of their own. */
#define GUARD_FINE_NS (20 * MS_NS)
#define GUARD_COARSE_NS (2 * SECOND_NS + GUARD_FINE_NS)

/* A ctime further in the future than this was set before the clock was set back. */
#define CLOCK_JUMP_NS (2 * SECOND_NS)

void file_opener_deinit(struct file_opener *opener)
{
	if (opener->fd >= 0)
		close(opener->fd);
	opener->fd = -1;
}

/* Opens a directory. If the parent is open, opens the directory from the parent, in a time that
 * does not depend on the depth. */
static int open_dir(const struct file_opener *opener, struct catalog_reader *reader, uint64_t dir)
{
	char name[NAME_BYTES_MAX + 1];
	struct dir_record record;
	int r;

	if (opener->fd < 0)
		return source_open_dir(opener->sources, reader, dir);
	r = catalog_get_dir(reader, dir, &record);
	if (r < 0)
		return r;
	if (record.parent != opener->dir)
		return source_open_dir(opener->sources, reader, dir);
	memcpy(name, record.name.bytes, record.name.length);
	name[record.name.length] = '\0';
	return open_beneath(opener->fd, name, O_PATH | O_DIRECTORY, opener->sources->cross_mounts);
}

static int enter_dir(struct file_opener *opener, struct catalog_reader *reader, uint64_t dir)
{
	struct attributes attributes;
	int fd, r;

	if (opener->fd >= 0 && opener->dir == dir)
		return 0;
	fd = open_dir(opener, reader, dir);
	if (fd < 0)
		return fd;
	file_opener_deinit(opener);
	r = source_attributes(opener->sources->catalog, fd, &attributes);
	if (r < 0) {
		close(fd);
		return r;
	}
	opener->fd = fd;
	opener->dir = dir;
	opener->filesystem = attributes.filesystem;
	opener->kind = filesystem_kind_at(opener->fd);
	return 0;
}

int file_opener_open(struct file_opener *opener, struct catalog_reader *reader,
		     const struct file_record *file)
{
	char name[NAME_BYTES_MAX + 1];
	struct entry_record entry;
	int r = catalog_entry_at(reader, file->dir, file->cookie, &entry);

	if (r == 0)
		r = enter_dir(opener, reader, file->dir);
	if (r < 0)
		return r;
	memcpy(name, entry.name.bytes, entry.name.length);
	name[entry.name.length] = '\0';
	return open_beneath_for_reading(opener->fd, name, 0, opener->sources->cross_mounts);
}

/* Checks that no process has the file open for writing or mapped writable. Returns 0 or
 * READING_BUSY. */
static int take_lease(struct reading *reading)
{
	if (reading->lease_refused)
		return 0;
	if (fcntl(reading->fd, F_SETLEASE, F_RDLCK) == 0) {
		reading->leased = true;
		return 0;
	}
	reading->lease_refused = errno != EAGAIN;
	return errno == EAGAIN ? READING_BUSY : 0;
}

static void release_lease(struct reading *reading)
{
	if (reading->leased)
		(void)fcntl(reading->fd, F_SETLEASE, F_UNLCK);
	reading->leased = false;
}

static int64_t age_ns(struct timespec then)
{
	struct timespec now = clock_now();

	/* A difference of centuries would overflow in nanoseconds. */
	if (now.tv_sec - then.tv_sec > 3600)
		return INT64_MAX;
	if (then.tv_sec - now.tv_sec > 3600)
		return INT64_MIN;
	return (now.tv_sec - then.tv_sec) * SECOND_NS + now.tv_nsec - then.tv_nsec;
}

/* Returns true if two changes within seconds can have the same time stamp. On a file system with
 * fine times, a ctime of whole seconds is rare. The inode then probably has no room for
 * nanoseconds, as on ext4 with inodes of 128 bytes. */
static bool has_coarse_times(enum filesystem_kind kind, const struct attributes *attributes)
{
	return kind != FILESYSTEM_FINE || attributes->ctime.tv_nsec == 0;
}

/* Returns the remaining guard time. Only ctime is used, as every change sets ctime and no user can
 * choose its value. */
static int64_t guard_left_ns(const struct attributes *attributes, bool coarse)
{
	int64_t guard = coarse ? GUARD_COARSE_NS : GUARD_FINE_NS;
	int64_t age = age_ns(attributes->ctime);

	if (age >= guard || age < -CLOCK_JUMP_NS)
		return 0;
	return age < 0 ? guard : guard - age;
}

bool reading_guard_is_over(const struct attributes *attributes)
{
	return guard_left_ns(attributes, has_coarse_times(FILESYSTEM_FINE, attributes)) == 0;
}

static void wait_for_guard(int64_t left_ns)
{
	clock_sleep_ms((unsigned int)(left_ns / MS_NS) + 1);
}

/* Checks that the signature did not change. Returns 0, READING_CHANGED, READING_GONE or -errno. */
static int examine_again(struct reading *reading, struct catalog *catalog)
{
	struct attributes before = reading->attributes;
	int r = source_attributes(catalog, reading->fd, &reading->attributes);

	if (r < 0 || attributes_same_signature(&reading->attributes, &before))
		return r;
	return attributes_same_inode(&reading->attributes, &before) ? READING_CHANGED
								    : READING_GONE;
}

/* If a short guard time has not passed, waits for its end and examines the file again. patient:
 * also if it is long. No lease is held during a long wait, as it would stop a writer. Returns 0, an
 * enum reading_outcome or -errno; READING_BUSY: a long guard time has not passed. */
static int await_guard(struct reading *reading, struct catalog *catalog, enum filesystem_kind kind,
		       bool patient)
{
	bool coarse = has_coarse_times(kind, &reading->attributes);
	int64_t left_ns = guard_left_ns(&reading->attributes, coarse);
	bool leased = reading->leased;
	int r = 0;

	if (left_ns == 0)
		return 0;
	if (coarse && !patient)
		return READING_BUSY;
	if (coarse)
		release_lease(reading);
	wait_for_guard(left_ns);
	if (coarse && leased)
		r = take_lease(reading);
	return r ? r : examine_again(reading, catalog);
}

/* Returns the kind of the open file's file system. A file can be a mount point. */
static enum filesystem_kind kind_of(const struct file_opener *opener, const struct reading *reading,
				    const struct file_record *file)
{
	return file->attributes.filesystem == opener->filesystem ? opener->kind
								 : filesystem_kind_at(reading->fd);
}

/* Without leases, dirty pages are written before the file is examined. Afterwards a store through
 * an existing mapping causes a page fault, which sets the times. With a lease the pages are not
 * written: no writable mapping exists, and the first store through a new mapping causes a page
 * fault. Writing the pages would halve the speed of a program that writes many files (measured). */
static int examine(struct reading *reading, struct catalog *catalog, enum filesystem_kind kind,
		   bool patient)
{
	int r;

	if (reading->lease_refused)
		(void)sync_file_range(reading->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
	r = source_attributes(catalog, reading->fd, &reading->attributes);
	return r == 0 ? await_guard(reading, catalog, kind, patient) : r;
}

static int check_open(struct reading *reading, const struct file_opener *opener,
		      const struct file_record *file, bool hold)
{
	enum filesystem_kind kind = kind_of(opener, reading, file);
	int r = take_lease(reading);

	if (r)
		return r;
	if (!hold)
		release_lease(reading);
	/* With a lease one check at the end is enough, unless other hosts can ignore the lease, or
	 * the end is too late to wait without a lease. */
	if (reading->leased && kind == FILESYSTEM_FINE &&
	    !(opener->patient && has_coarse_times(kind, &file->attributes))) {
		reading->unexamined = true;
		reading->attributes = file->attributes;
		return 0;
	}
	r = examine(reading, opener->sources->catalog, kind, opener->patient);
	if (r < 0)
		return r;
	/* READING_CHANGED can be about another file, which changed while it was examined */
	if (!attributes_same_inode(&reading->attributes, &file->attributes))
		return READING_GONE;
	if (r)
		return r;
	return attributes_same_signature(&reading->attributes, &file->attributes) ? 0
										  : READING_CHANGED;
}

int reading_open_unchecked(struct reading *reading, struct file_opener *opener,
			   struct catalog_reader *reader, const struct file_record *file)
{
	int r;

	*reading = (struct reading){.fd = file_opener_open(opener, reader, file)};
	if (reading->fd >= 0)
		return 0;
	r = reading->fd;
	/* the name or the source is missing, or the name is now a mount point or another type of
	 * file */
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EXDEV || r == -ENXIO ||
	    r == -ENODEV)
		r = READING_GONE;
	return r;
}

int reading_check(struct reading *reading, const struct file_opener *opener,
		  const struct file_record *file, bool hold)
{
	int r = check_open(reading, opener, file, hold);

	if (r)
		reading_abandon(reading);
	return r;
}

int reading_open(struct reading *reading, struct file_opener *opener, struct catalog_reader *reader,
		 const struct file_record *file, bool hold)
{
	int r = reading_open_unchecked(reading, opener, reader, file);

	return r ? r : reading_check(reading, opener, file, hold);
}

int reading_take(struct reading *reading, struct catalog *catalog, int fd)
{
	int r;

	*reading = (struct reading){.fd = fd};
	r = take_lease(reading);
	if (r == 0)
		r = examine(reading, catalog, filesystem_kind_at(fd), false);
	if (r)
		reading_abandon(reading);
	return r;
}

bool reading_is_unbroken(const struct reading *reading)
{
	return !reading->leased || fcntl(reading->fd, F_GETLEASE) == F_RDLCK;
}

int reading_close(struct reading *reading, struct catalog *catalog)
{
	int r = examine_again(reading, catalog);

	if (r == 0 && reading->unexamined)
		r = await_guard(reading, catalog, FILESYSTEM_FINE, false);
	if (r == 0 && reading->leased)
		r = reading_is_unbroken(reading) ? 0 : READING_BUSY;
	else if (r == 0)
		r = take_lease(reading);
	reading_abandon(reading);
	return r;
}

void reading_abandon(struct reading *reading)
{
	if (reading->fd >= 0)
		close(reading->fd); /* closing ends the lease */
	reading->fd = -1;
	reading->leased = false;
}

/* ---- several files -------------------------------------------------------------------------- */

size_t reading_window(unsigned int threads)
{
	uint64_t most = descriptors_max() / 4 / threads;

	return most > READING_WINDOW ? READING_WINDOW : most < 1 ? 1 : most;
}

/* A larger file is probably read beyond its first bytes. The readahead of the kernel fetches it in
 * fewer and larger pieces if these are not cached. */
#define FETCHED_FILE_MAX (UINT64_C(256) << 10)

static bool wants_fetch(const struct reading_ahead *file)
{
	return file->wanted && file->result == 0 && file->file.attributes.size <= FETCHED_FILE_MAX;
}

/* Number of files of a window that are_cached() examines. */
#define SAMPLED_FILES 4

static bool are_cached(const struct reading_ahead *list, size_t count)
{
	for (size_t i = 0; i < count; i += (count + SAMPLED_FILES - 1) / SAMPLED_FILES) {
		if (wants_fetch(&list[i]) && !disk_fetch_is_cached(list[i].reading.fd))
			return false;
	}
	return true;
}

void readings_open(struct reading_ahead *list, size_t count, struct file_opener *opener,
		   struct catalog_reader *reader)
{
	for (size_t i = 0; i < count; i++) {
		list[i].reading.fd = -1;
		if (list[i].wanted)
			list[i].result = reading_open_unchecked(&list[i].reading, opener, reader,
								&list[i].file);
	}
	/* a file that is alone is read as quickly without */
	if (count < 2 || are_cached(list, count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (wants_fetch(&list[i]))
			disk_fetch_range(list[i].reading.fd, 0, list[i].length);
	}
}
