/* SPDX-License-Identifier: MIT */
#include "ingest/early_reader.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "catalog/query.h"
#include "ingest/disk_fetch.h"
#include "ingest/lenders.h"
#include "ingest/prefixes.h"
#include "ingest/reading.h"
#include "source/source.h"

/* Number of files after which the reader judges which part of them has a size that was seen before,
 * or is in the page cache. */
#define JUDGED_FILES 16
/* Number of files that are not tried after less than half of the tried files were in the page
 * cache. */
#define SKIPPED_FILES 512

/* A file is opened before its attributes are known if at least this percentage of the files had a
 * size that was seen before. An open file is examined faster than a name. */
#define OPENED_PERCENT 75

static struct early_mark late_mark = {EARLY_LATE};

struct early_reader {
	struct early_tables *tables;
	const struct ingest *ingest;
	struct lent_files *lent; /* NULL: no other index lends a content */
	int dir;
	uint32_t filesystem; /* of the directory, as in struct attributes */
	uint32_t files, repeated; /* files that were examined; those with a size seen before */
	uint32_t tried, cached; /* files that were read; those that were in the page cache */
	uint32_t skipped; /* files that are still not tried */
	bool judged; /* a file of the directory was read */
	bool in_vain; /* the index has it or its content, so no further file is read */
	uint8_t *block; /* SMALL_BYTES */
};

struct early_reader *early_reader_new(struct early_tables *tables, const struct ingest *ingest)
{
	struct early_reader *reader = tables ? calloc(1, sizeof(*reader)) : NULL;

	if (!reader)
		return NULL;
	reader->tables = tables;
	reader->ingest = ingest;
	reader->lent = lent_files_new(ingest->settings->lenders, ingest->catalog);
	reader->block = memory_pages(SMALL_BYTES);
	if (reader->block)
		return reader;
	early_reader_free(reader);
	return NULL;
}

void early_reader_free(struct early_reader *reader)
{
	if (!reader)
		return;
	lent_files_free(reader->lent);
	free(reader->block);
	free(reader);
}

bool early_reader_enter(struct early_reader *reader, int dir, uint32_t filesystem,
			uint32_t filesystem_type)
{
	struct stat st;

	reader->dir = dir;
	reader->filesystem = filesystem;
	reader->judged = reader->in_vain = false;
	lent_files_enter(reader->lent, dir, filesystem);
	return filesystem_kind_of(filesystem_type) == FILESYSTEM_FINE &&
	       filesystem_keeps(filesystem_type, PROMISE_STORES) && fstat(dir, &st) == 0 &&
	       filesystem_leases_are_reliable(filesystem_type, st.st_dev);
}

/* ---- one file ------------------------------------------------------------------------ */

static int open_name(const struct early_reader *reader, const struct listed *listed)
{
	return open_beneath_for_reading(reader->dir, listed->name.bytes, 0,
					reader->ingest->sources->cross_mounts);
}

/* Returns whether most files have a size that was seen before, so that they will be read. */
static bool expects_read(const struct early_reader *reader)
{
	return reader->files >= JUDGED_FILES &&
	       (uint64_t)reader->repeated * 100 >= (uint64_t)reader->files * OPENED_PERCENT;
}

/* Returns whether the bytes of a file with these attributes are to be read, and can be proved, see
 * reading.h. */
static bool is_readable(const struct early_reader *reader, const struct attributes *attributes)
{
	return S_ISREG(attributes->mode) && attributes->links == 1 && attributes->size > 0 &&
	       attributes->size >= reader->ingest->settings->min_size &&
	       attributes->filesystem == reader->filesystem && reading_guard_is_over(attributes) &&
	       !lent_files_have(reader->lent, attributes);
}

/* Reads the first bytes of the file, if they are in the page cache. A read of bytes that are not
 * there makes the kernel read them ahead, which costs a seek on some disks. */
static bool read_cached(const struct early_reader *reader, int fd, size_t length)
{
	struct iovec block = {.iov_base = reader->block, .iov_len = length};

	if (reader->ingest->may_seek && !disk_fetch_is_cached(fd))
		return false;
	return preadv2(fd, &block, 1, 0, RWF_NOWAIT) == (ssize_t)length;
}

/* Tries to read a file, and judges whether the next ones are worth it. */
static bool try_read(struct early_reader *reader, int fd, size_t length)
{
	bool cached = read_cached(reader, fd, length);

	reader->cached += cached;
	if (++reader->tried < JUDGED_FILES)
		return cached;
	if (reader->cached * 2 < reader->tried)
		reader->skipped = SKIPPED_FILES;
	reader->tried = reader->cached = 0;
	return cached;
}

/* Returns the mark of a file that is not in the page cache. Several threads read such files after
 * the walk. But where a disk can seek, they stay unread, as ingest_contents() orders reads. */
static struct early_mark *mark_uncached(const struct early_reader *reader)
{
	return !reader->ingest->may_seek && early_may_read_late(reader->tables) ? &late_mark : NULL;
}

/* Reads a file on which this process has a lease, and which had the attributes after the lease was
 * taken. No program had the file open for writing then, and the guard time was over. So if a
 * program breaks the lease and writes before the read ends, the ctime of the file differs from the
 * attributes, and the next check of the file finds the change. */
static void read_leased(struct early_reader *reader, struct listed *listed, int fd)
{
	uint64_t size = listed->attributes.size;
	size_t length = prefix_length(size);

	if (!try_read(reader, fd, length))
		listed->mark = mark_uncached(reader);
	else
		listed->mark = early_add_content(reader->tables, size, reader->block, length);
}

static bool is_unchanged(const struct early_reader *reader, const struct listed *listed, int fd)
{
	struct attributes now;

	return source_attributes(reader->ingest->catalog, fd, &now) == 0 &&
	       attributes_equal(&now, &listed->attributes);
}

/* Reads a file whose attributes are known. */
static void read_name(struct early_reader *reader, struct listed *listed)
{
	int fd = open_name(reader, listed);

	if (fd < 0)
		return;
	if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0 && is_unchanged(reader, listed, fd))
		read_leased(reader, listed, fd);
	close(fd); /* ends the lease */
}

/* Counts a file, and returns whether another file has its size. If none has, sets *mark to the
 * record of the size. */
static bool count_size(struct early_reader *reader, uint64_t size, struct early_mark **mark)
{
	bool repeated = early_add_size(reader->tables, size, mark);

	reader->files++;
	reader->repeated += repeated;
	return repeated;
}

/* Returns whether the file has to be read now. */
static bool wants_read(struct early_reader *reader, struct listed *listed)
{
	bool repeated = count_size(reader, listed->attributes.size, &listed->mark);

	if (reader->skipped == 0)
		return repeated;
	reader->skipped--;
	if (repeated)
		listed->mark = mark_uncached(reader);
	return false;
}

static int examine_name(struct early_reader *reader, struct listed *listed)
{
	unsigned int flags = reader->ingest->sources->cross_mounts ? SOURCE_ENTERS_MOUNTS : 0;
	int r = source_attributes_at(reader->ingest->catalog, reader->dir, listed->name.bytes,
				     flags, &listed->attributes);

	if (r == 0 && !reader->in_vain && is_readable(reader, &listed->attributes) &&
	    wants_read(reader, listed))
		read_name(reader, listed);
	return r;
}

/* Reads an open file, also if it is the first one of its size. */
static void read_open(struct early_reader *reader, struct listed *listed, int fd)
{
	struct early_mark *size = NULL;

	(void)count_size(reader, listed->attributes.size, &size);
	read_leased(reader, listed, fd);
	if (size && (!listed->mark || listed->mark->kind == EARLY_LATE))
		listed->mark = size;
	else if (size)
		(void)early_set_size_file(reader->tables, (void *)size, EARLY_NO_FILE);
}

/* Opens the file before its attributes are known. */
static int examine_open(struct early_reader *reader, struct listed *listed)
{
	int fd = open_name(reader, listed), r;
	bool leased;

	if (fd < 0) /* the name is a mount point, cannot be read, or changed */
		return examine_name(reader, listed);
	leased = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
	r = source_attributes(reader->ingest->catalog, fd, &listed->attributes);
	if (r == 0 && leased && is_readable(reader, &listed->attributes))
		read_open(reader, listed, fd);
	close(fd);
	return r;
}

/* Returns whether the index has the file, which was then moved here or has another name, or has a
 * rival of its content, or another index lends one. */
static bool is_in_index(const struct early_reader *reader, struct catalog_reader *snapshot,
			const struct listed *listed)
{
	const struct attributes *attributes = &listed->attributes;
	struct file_record file;
	uint64_t id = 0;
	bool has = false;

	if (catalog_find_inode(snapshot, attributes->filesystem, attributes->inode, &id) == 0 &&
	    id && catalog_get_file(snapshot, id, &file) == 0 &&
	    attributes_same_inode(&file.attributes, attributes))
		return true;
	if (listed->mark->kind == EARLY_LATE)
		return false;
	return (early_has_rival(snapshot, early_content_of(listed->mark), &has) == 0 && has) ||
	       lenders_have_rival(reader->ingest->settings->lenders,
				  early_content_of(listed->mark));
}

/* Judges by the first file that was read whether the other files of the directory are worth it. */
static void judge_dir(struct early_reader *reader, const struct listed *listed)
{
	CLEANUP_READER struct catalog_reader *snapshot = NULL;

	reader->judged = true;
	reader->in_vain = catalog_read_begin(reader->ingest->catalog, &snapshot) == 0 &&
			  is_in_index(reader, snapshot, listed);
}

int early_reader_examine(struct early_reader *reader, struct listed *listed)
{
	int r;

	if (listed->is_file && !reader->in_vain && reader->skipped == 0 && expects_read(reader))
		r = examine_open(reader, listed);
	else
		r = examine_name(reader, listed);
	if (listed->mark && listed->mark->kind != EARLY_SIZE && !reader->judged)
		judge_dir(reader, listed);
	return r;
}
