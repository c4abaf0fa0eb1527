/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "scan/candidates.h"
#include "scan/disk.h"
#include "scan/early_files.h"
#include "scan/listing.h"
#include "scan/reading.h"
#include "scan/shared_contents.h"

/* Records of both tables, and bytes of contents. 24 MiB in all. */
#define RECORDS_BYTES ((uint64_t)16 << 20)
#define CONTENT_BYTES ((uint64_t)8 << 20)
#define MEMORY_PART 16

/* Maximum number of files that are read late because they were not cached. Until then a kill loses
 * what was read of them, and a mount has to wait. */
#define LATE_FILES ((int64_t)1 << 17)

/* What is known of a size. */
struct early_size {
	struct early_mark mark;
	bool wanted; /* another file has this size, so the first file has to be read */
	struct early_size *next;
	uint64_t size;
	uint64_t file; /* id of the first file; 0: not committed yet; EARLY_NO_FILE: none */
};

/* Lists of records with one hash. A list has less than three records when the tables are full. */
#define LISTS 65536
#define LOCKS 64

struct stripe {
	pthread_mutex_t lock; /* guards the lists n with n % LOCKS of its number, and memory */
	struct arena memory;
};

struct early_tables {
	struct stripe stripes[LOCKS];
	struct early_size **sizes; /* LISTS of them */
	struct early_content **contents; /* LISTS of them */
	_Atomic uint64_t records_left, content_left; /* bytes */
	_Atomic int64_t late_left; /* files */
	pthread_mutex_t lists_lock; /* guards the fields below */
	struct bytes late; /* ids of files that have to be read after the walk */
	struct bytes repeated; /* of struct early_content * */
};

struct early_tables *early_tables_new(void)
{
	struct early_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&tables->stripes[i].lock, NULL);
	pthread_mutex_init(&tables->lists_lock, NULL);
	atomic_init(&tables->records_left, memory_at_most(RECORDS_BYTES, MEMORY_PART));
	atomic_init(&tables->late_left, LATE_FILES);
	atomic_init(&tables->content_left, memory_at_most(CONTENT_BYTES, MEMORY_PART));
	tables->sizes = calloc(LISTS, sizeof(struct early_size *));
	tables->contents = calloc(LISTS, sizeof(struct early_content *));
	if (tables->sizes && tables->contents)
		return tables;
	early_tables_free(tables);
	return NULL;
}

void early_tables_free(struct early_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < LOCKS; i++) {
		pthread_mutex_destroy(&tables->stripes[i].lock);
		arena_free(&tables->stripes[i].memory);
	}
	pthread_mutex_destroy(&tables->lists_lock);
	bytes_free(&tables->late);
	bytes_free(&tables->repeated);
	free(tables->sizes);
	free(tables->contents);
	free(tables);
}

/* Takes bytes from a budget. Returns NULL if the budget or the memory is used up. */
static void *take(struct stripe *stripe, _Atomic uint64_t *left, size_t bytes)
{
	uint64_t before = atomic_load_explicit(left, memory_order_relaxed);

	do {
		if (before < bytes)
			return NULL;
	} while (!atomic_compare_exchange_weak(left, &before, before - bytes));
	return arena_take(&stripe->memory, bytes);
}

/* Locks the stripe of a hash. */
static struct stripe *lock_stripe(struct early_tables *tables, uint64_t hash)
{
	struct stripe *stripe = &tables->stripes[hash % LOCKS];

	pthread_mutex_lock(&stripe->lock);
	return stripe;
}

/* ---- sizes --------------------------------------------------------------------------- */

static uint64_t hash_size(uint64_t size)
{
	return hash64(&size, sizeof(size), 0);
}

/* Appends an item to one of the lists. */
static int add_item(struct early_tables *tables, struct bytes *list, const void *item,
		    size_t length)
{
	int r;

	pthread_mutex_lock(&tables->lists_lock);
	r = bytes_append(list, item, length);
	pthread_mutex_unlock(&tables->lists_lock);
	return r;
}

/* Moves all items of one of the lists to the end of *to. */
static int take_items(struct early_tables *tables, struct bytes *list, struct bytes *to)
{
	int r;

	pthread_mutex_lock(&tables->lists_lock);
	r = bytes_append(to, list->data, list->length);
	list->length = 0;
	pthread_mutex_unlock(&tables->lists_lock);
	return r;
}

static struct early_size *find_size(struct early_size *list, uint64_t size)
{
	while (list && list->size != size)
		list = list->next;
	return list;
}

/* Returns whether another file of this size was found. If none was found, sets *mark to the record
 * of the size. */
static bool add_size(struct early_tables *tables, uint64_t size, struct early_mark **mark)
{
	uint64_t hash = hash_size(size);
	struct early_size **list = &tables->sizes[hash % LISTS], *found;
	struct stripe *stripe = lock_stripe(tables, hash);
	uint64_t first = 0;

	found = find_size(*list, size);
	if (found && !found->wanted) {
		found->wanted = true;
		first = found->file;
	} else if (!found) {
		struct early_size *added = take(stripe, &tables->records_left, sizeof(*added));

		if (added) {
			*added = (struct early_size){.mark = {EARLY_SIZE},
						     .next = *list,
						     .size = size};
			*list = added;
			*mark = &added->mark;
		}
	}
	pthread_mutex_unlock(&stripe->lock);
	/* If memory is short, the first file stays unread. */
	if (first && first != EARLY_NO_FILE)
		(void)add_item(tables, &tables->late, &first, sizeof(first));
	return found;
}

/* Records the id of the first file of a size. Returns whether the file has to be read. */
static bool set_size_file(struct early_tables *tables, struct early_size *size, uint64_t file)
{
	struct stripe *stripe = lock_stripe(tables, hash_size(size->size));
	bool wanted = size->wanted;

	size->file = file;
	pthread_mutex_unlock(&stripe->lock);
	return wanted;
}

int early_take_unread(struct early_tables *tables, struct early_mark *mark, uint64_t file)
{
	if (mark->kind == EARLY_SIZE && !set_size_file(tables, (void *)mark, file))
		return 0;
	return file == EARLY_NO_FILE ? 0 : add_item(tables, &tables->late, &file, sizeof(file));
}

int early_take_late(struct early_tables *tables, struct bytes *ids)
{
	return take_items(tables, &tables->late, ids);
}

/* Counts a file that is to be read after the walk although it was found now. Returns false if there
 * are too many: the file stays unread. */
static bool may_read_late(struct early_tables *tables)
{
	return atomic_load_explicit(&tables->late_left, memory_order_relaxed) > 0 &&
	       atomic_fetch_sub(&tables->late_left, 1) > 0;
}

/* ---- contents ------------------------------------------------------------------------ */

static struct early_content *find_content(struct early_content *list, uint64_t size,
					  struct hash128 hash)
{
	while (list && (list->size != size || !hash128_equal(list->hash, hash)))
		list = list->next;
	return list;
}

int early_has_rival(struct catalog_reader *reader, const struct early_content *content, bool *has)
{
	const struct size_entry from = {.size = content->size, .prefix = prefix_of(content->hash)};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(reader, &from, &scan);

	if (r == 0)
		r = catalog_next_size(scan, &entry);
	*has = r == 0 && entry.size == from.size && entry.prefix == from.prefix;
	return r == -ENOENT ? 0 : r;
}

static bool lender_has_rival(const struct lender *lender, const struct early_content *content)
{
	CLEANUP_READER struct catalog_reader *snapshot = NULL;
	bool has = false;

	return catalog_read_begin(lender->catalog, &snapshot) == 0 &&
	       early_has_rival(snapshot, content, &has) == 0 && has;
}

bool early_is_lent(const struct lenders *lenders, const struct early_content *content)
{
	for (size_t i = 0; lenders && i < lenders->count; i++) {
		if (atomic_load_explicit(&lenders->list[i].lends, memory_order_relaxed) &&
		    lender_has_rival(&lenders->list[i], content))
			return true;
	}
	return false;
}

int early_take_repeated(struct early_tables *tables, struct bytes *contents)
{
	return take_items(tables, &tables->repeated, contents);
}

bool early_is_repeated(struct early_tables *tables, const struct early_content *content)
{
	struct stripe *stripe = lock_stripe(tables, content->hash.high);
	bool repeated = content->repeated;

	pthread_mutex_unlock(&stripe->lock);
	return repeated;
}

/* Notes that another large file has this prefix. If memory is short, the first file keeps its
 * content, which is right but has no hash of all bytes. */
static void note_repeated(struct early_tables *tables, struct early_content *content)
{
	if (!content->repeated)
		(void)add_item(tables, &tables->repeated, &content, sizeof(struct early_content *));
	content->repeated = true;
}

/* Returns whether a file with the hash of the content has its bytes. The bytes of the first such
 * file become those of the content. */
static bool is_equal(struct early_tables *tables, struct stripe *stripe,
		     struct early_content *content, const uint8_t *bytes, size_t length)
{
	if (content->bytes)
		return memcmp(content->bytes, bytes, length) == 0;
	content->bytes = take(stripe, &tables->content_left, length);
	if (content->bytes)
		memcpy(content->bytes, bytes, length);
	return content->bytes;
}

struct early_mark *early_add_content(struct early_tables *tables, uint64_t size,
				     const uint8_t *bytes, size_t length)
{
	struct hash128 hash = hash128(bytes, length);
	struct early_content **list = &tables->contents[hash.high % LISTS], *found;
	struct stripe *stripe = lock_stripe(tables, hash.high);
	struct early_mark *mark = NULL;

	found = find_content(*list, size, hash);
	if (found && !is_small(size)) {
		note_repeated(tables, found);
	} else if (found) {
		if (is_equal(tables, stripe, found, bytes, length))
			mark = &found->equal_mark;
	} else {
		found = take(stripe, &tables->records_left, sizeof(*found));
		if (found) {
			*found = (struct early_content){.first_mark = {EARLY_FIRST},
							.equal_mark = {EARLY_EQUAL},
							.next = *list,
							.size = size,
							.hash = hash};
			*list = found;
			mark = &found->first_mark;
		}
	}
	pthread_mutex_unlock(&stripe->lock);
	return mark;
}

/* ---- during the walk ------------------------------------------------------------------- */

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
	/* The number of the file system of the directory in each lender; 0: it lends nothing there.
	 * NULL: no other index lends a content. */
	uint32_t *lent;
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
	const struct lenders *lenders = ingest->settings->lenders;
	struct early_reader *reader = tables ? calloc(1, sizeof(*reader)) : NULL;

	if (!reader)
		return NULL;
	reader->tables = tables;
	reader->ingest = ingest;
	if (lenders && lenders->count > 0)
		reader->lent = calloc(lenders->count, sizeof(*reader->lent));
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
	free(reader->lent);
	free(reader->block);
	free(reader);
}

/* Finds out what the lenders have of the file system of an open directory. */
static void find_lent(struct early_reader *reader, int dir, uint32_t filesystem)
{
	const struct lenders *lenders = reader->ingest->settings->lenders;
	bool may = lenders_may_lend(dir);

	for (size_t i = 0; i < lenders->count; i++)
		reader->lent[i] = may ? catalog_filesystem_in(reader->ingest->catalog, filesystem,
							      lenders->list[i].catalog)
				      : 0;
}

bool early_reader_enter(struct early_reader *reader, int dir, uint32_t filesystem,
			uint32_t filesystem_type)
{
	struct stat st;

	if (reader->lent && filesystem != reader->filesystem)
		find_lent(reader, dir, filesystem);
	reader->dir = dir;
	reader->filesystem = filesystem;
	reader->judged = reader->in_vain = false;
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

/* Looks in a snapshot of its own, as a thread that waits for another index must not hold one. */
static bool lender_has(struct lender *lender, uint32_t filesystem,
		       const struct attributes *attributes)
{
	CLEANUP_READER struct catalog_reader *snapshot = NULL;
	struct content_record content;

	if (catalog_read_begin(lender->catalog, &snapshot) < 0 ||
	    !lender_get(lender, snapshot, filesystem, attributes, &content))
		return false;
	atomic_store_explicit(&lender->lends, true, memory_order_relaxed);
	return true;
}

/* Returns whether a lender probably has the content of a file of the directory: what the lender
 * knows can change until the contents are taken. */
static bool is_lent(const struct early_reader *reader, const struct attributes *attributes)
{
	const struct lenders *lenders = reader->ingest->settings->lenders;

	for (size_t i = 0; reader->lent && i < lenders->count; i++) {
		if (reader->lent[i] && lender_has(&lenders->list[i], reader->lent[i], attributes))
			return true;
	}
	return false;
}

/* Returns whether the bytes of a file with these attributes are to be read, and can be proved, see
 * reading.h. */
static bool is_readable(const struct early_reader *reader, const struct attributes *attributes)
{
	return S_ISREG(attributes->mode) && attributes->links == 1 && attributes->size > 0 &&
	       attributes->size >= reader->ingest->settings->min_size &&
	       attributes->filesystem == reader->filesystem && reading_guard_is_over(attributes) &&
	       !is_lent(reader, attributes);
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
	return !reader->ingest->may_seek && may_read_late(reader->tables) ? &late_mark : NULL;
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
	bool repeated = add_size(reader->tables, size, mark);

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
		(void)set_size_file(reader->tables, (void *)size, EARLY_NO_FILE);
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
	       early_is_lent(reader->ingest->settings->lenders, early_content_of(listed->mark));
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
