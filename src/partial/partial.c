/* SPDX-License-Identifier: MIT */
#include "partial/partial.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/extents.h"
#include "base/log.h"
#include "base/sort.h"
#include "base/stop.h"
#include "base/thread.h"
#include "choose/filter.h"
#include "index/catalog.h"
#include "index/hashes.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/source.h"
#include "partial/blocks.h"
#include "partial/files.h"
#include "scan/disk.h"

/* ---- block store ---------------------------------------------------------------------------- */

/* Writes hashes of blocks to the index, many in one transaction. Any thread. */

struct block_store {
	struct catalog *catalog; /* borrowed; NULL: nothing is stored */
	pthread_mutex_t lock;
	struct stored_blocks *waiting; /* records of the next transaction */
	size_t count, capacity;
	int failed; /* -errno of the first transaction that failed: nothing more is stored */
};

/* Each function adds records; some calls write a transaction. After a failed transaction, they do
 * nothing. Return 0 or -ENOMEM. The calling thread must have no reader of the catalog. */

/* Records of a transaction: half a megabyte. */
#define RECORDS 1024U

enum stored_kind {
	STORED_BEGIN,
	STORED_PART,
	STORED_STATE,
};

struct stored_blocks {
	enum stored_kind kind;
	uint64_t file;
	union {
		struct blocks_part part;
		struct blocks_state state;
	};
};

static void block_store_init(struct block_store *store, struct catalog *catalog)
{
	*store = (struct block_store){.catalog = catalog};
	pthread_mutex_init(&store->lock, NULL);
}

static int write_body(struct catalog_writer *w, void *context)
{
	const struct block_store *store = context;
	int r = 0;

	for (size_t i = 0; r == 0 && i < store->count; i++) {
		const struct stored_blocks *stored = &store->waiting[i];

		if (stored->kind == STORED_BEGIN)
			r = catalog_forget_blocks(w, stored->file);
		else if (stored->kind == STORED_PART)
			r = catalog_put_blocks_part(w, stored->file, &stored->part);
		else
			r = catalog_put_blocks_state(w, stored->file, &stored->state);
	}
	return r;
}

static void write_waiting(struct block_store *store)
{
	if (store->count > 0 && store->failed == 0)
		store->failed = catalog_write(store->catalog, write_body, store);
	store->count = 0;
}

/* Writes what waits, and frees the store. Returns 0, or -errno of the first failure. */
static int block_store_end(struct block_store *store)
{
	write_waiting(store);
	free(store->waiting);
	pthread_mutex_destroy(&store->lock);
	return store->failed;
}

/* Adds a record. STORED_BEGIN: what the index has of the blocks of the file is deleted.
 * STORED_STATE: the file is complete. */
static int block_store_put(struct block_store *store, const struct stored_blocks *stored)
{
	int r = 0;

	if (!store->catalog)
		return 0;
	pthread_mutex_lock(&store->lock);
	if (store->count == RECORDS)
		write_waiting(store);
	if (store->failed == 0)
		r = array_reserve(&store->waiting, &store->capacity, store->count + 1,
				  sizeof(*store->waiting));
	if (r == 0 && store->failed == 0)
		store->waiting[store->count++] = *stored;
	pthread_mutex_unlock(&store->lock);
	return r;
}

static bool has_hash(const struct blocks_part *part)
{
	for (uint32_t i = 0; i < part->count; i++) {
		if (part->hashes[i])
			return true;
	}
	return false;
}

/* first: a multiple of BLOCKS_PART */
static int block_store_add(struct block_store *store, uint64_t file, uint64_t first,
			   const uint64_t *hashes, uint32_t count)
{
	struct stored_blocks stored = {.kind = STORED_PART, .file = file};
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < count; at += BLOCKS_PART) {
		stored.part.first = first + at;
		stored.part.count = count - at < BLOCKS_PART ? count - at : BLOCKS_PART;
		memcpy(stored.part.hashes, hashes + at, stored.part.count * sizeof(*hashes));
		if (has_hash(&stored.part))
			r = block_store_put(store, &stored);
	}
	return r;
}

/* ---- shared extents ------------------------------------------------------------------------- */

/* Which blocks of a run are shared already, by FIEMAP (Documentation/filesystems/fiemap.rst in
 * Linux). One thread at a time for each struct open_files. */

/* Blocks whose extents are in memory at once. */
#define SLICE_BLOCKS 1024U

struct extent {
	uint64_t logical, physical, length;
	bool placed; /* its position is known */
};

/* The written extents of a range of a file, in the order of the file. */
struct extent_map {
	struct extent *list;
	size_t count, capacity;
	size_t next; /* the first extent that does not end before the last searched offset */
};

static void extent_map_free(struct extent_map *map)
{
	free(map->list);
}

static int add_extent(struct extent_map *map, const struct fiemap_extent *extent)
{
	int r;

	if (extent->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
		return 0;
	r = array_reserve(&map->list, &map->capacity, map->count + 1, sizeof(*map->list));
	if (r == 0)
		map->list[map->count++] =
			(struct extent){extent->fe_logical, extent->fe_physical, extent->fe_length,
					extent_is_placed(extent)};
	return r;
}

/* Gets the extents of a range. Returns 0 or -errno. */
static int load(struct extent_map *map, int fd, uint64_t offset, uint64_t length)
{
	struct extents extents = {.fd = fd,
				  .flags = FIEMAP_FLAG_SYNC,
				  .from = offset,
				  .to = offset + length};
	const struct fiemap_extent *extent;
	int r;

	map->count = 0;
	map->next = 0;
	while ((r = extents_next(&extents, &extent)) == 0 && extent) {
		r = add_extent(map, extent);
		if (r < 0)
			break;
	}
	return r;
}

/* Returns the first extent that ends behind the offset, or NULL. Offsets must ascend. */
static const struct extent *seek(struct extent_map *map, uint64_t offset)
{
	while (map->next < map->count &&
	       map->list[map->next].logical + map->list[map->next].length <= offset)
		map->next++;
	return map->next < map->count ? &map->list[map->next] : NULL;
}

/* Returns the bytes at an offset of b that need no sharing: those of a hole, or of an extent that a
 * has, too. 0: the first byte has to be shared. */
static uint64_t shared_bytes(struct extent_map *a, uint64_t a_offset, struct extent_map *b,
			     uint64_t b_offset)
{
	const struct extent *x = seek(a, a_offset), *y = seek(b, b_offset);
	uint64_t x_bytes, y_bytes;

	if (!y)
		return UINT64_MAX;
	if (y->logical > b_offset)
		return y->logical - b_offset;
	if (!x || x->logical > a_offset || !x->placed || !y->placed ||
	    x->physical + (a_offset - x->logical) != y->physical + (b_offset - y->logical))
		return 0;
	x_bytes = x->logical + x->length - a_offset;
	y_bytes = y->logical + y->length - b_offset;
	return x_bytes < y_bytes ? x_bytes : y_bytes;
}

/* Returns whether the range of b has no data but that of a. */
static bool is_shared(struct extent_map *a, uint64_t a_offset, struct extent_map *b,
		      uint64_t b_offset, uint64_t length)
{
	for (uint64_t at = 0, step; at < length; at += step) {
		step = shared_bytes(a, a_offset + at, b, b_offset + at);
		if (step == 0)
			return false;
		if (step > length - at)
			step = length - at;
	}
	return true;
}

/* Appends a block, or extends the last part. */
static int add_block(struct run_list *parts, size_t from, const struct block_run *run,
		     uint32_t block)
{
	const struct block_run one = {run->source + block, run->destination + block, 1};
	struct block_run *last = parts->count > from ? &parts->list[parts->count - 1] : NULL;

	if (!last || last->destination + last->count != one.destination)
		return run_list_add(parts, &one);
	last->count++;
	return 0;
}

/* Splits a run of at most SLICE_BLOCKS blocks. from: the first part of the whole run in the list */
static int split_slice(struct open_files *files, const struct block_run *run,
		       struct run_list *parts, size_t from)
{
	CLEANUP(extent_map_free) struct extent_map a = {0}, b = {0};
	const struct partial *partial = files->partial;
	struct block_place source = block_table_locate(&partial->table, run->source);
	struct block_place destination = block_table_locate(&partial->table, run->destination);
	uint64_t block_bytes = UINT64_C(1) << partial->table.block_bits;
	uint64_t bytes = run_bytes(&partial->table, run);
	int source_fd = open_files_get(files, source.file);
	int destination_fd = source_fd < 0 ? source_fd : open_files_get(files, destination.file);
	bool known;
	int r = 0;

	if (destination_fd < 0)
		return destination_fd;
	known = load(&a, source_fd, source.offset, bytes) == 0 &&
		load(&b, destination_fd, destination.offset, bytes) == 0;
	for (uint32_t i = 0; r == 0 && i < run->count; i++) {
		uint64_t at = i * block_bytes;
		uint64_t length = bytes - at < block_bytes ? bytes - at : block_bytes;

		if (!known ||
		    !is_shared(&a, source.offset + at, &b, destination.offset + at, length))
			r = add_block(parts, from, run, i);
	}
	return r;
}

/* Appends the parts of a run that have to be shared: the blocks for which both places have not the
 * same extents. If the extents of a file are unknown, appends the whole run. Writes recent bytes of
 * both files back first, as they have no extents yet. Returns 0, -ESTALE if a file changed, or
 * another -errno. */
static int shared_extents_split(struct open_files *files, const struct block_run *run,
				struct run_list *parts)
{
	size_t from = parts->count;
	int r = 0;

	for (uint32_t at = 0; r == 0 && at < run->count; at += SLICE_BLOCKS) {
		struct block_run slice = {run->source + at, run->destination + at, run->count - at};

		if (slice.count > SLICE_BLOCKS)
			slice.count = SLICE_BLOCKS;
		r = split_slice(files, &slice, parts, from);
	}
	return r;
}

/* ---- block hashes --------------------------------------------------------------------------- */

/* Fills the table with the hashes of all selected files. For the main thread, which starts further
 * threads.
 *
 *	main thread: selects files of the index, in a snapshot
 *	   v
 *	reading threads (one if the disk rotates): open a file, take its hashes from the index if
 *	   the file is unchanged, otherwise read it; to the table, and to the index
 *
 * Files have numbers in the order of the disk if it seeks. Files that this user cannot change have
 * the lowest numbers. So they are sources of runs, for
 * which a right to read is enough.
 */

/* Highest number of threads that read. More do not read large files faster. */
#define THREADS 4U

/* A selected file, before it is in the table. */
struct selected_file {
	struct block_file file;
	uint64_t place; /* on the disk, if it rotates; otherwise the id */
	bool fixed; /* this user cannot change the file */
};

/* What the reading threads share. */
struct block_hashing {
	struct partial *partial;
	struct selected_file *list;
	size_t count, capacity;
	struct block_store store;
	pthread_mutex_t lock; /* for the members below, and for the counts of partial */
	size_t next;
	int result;
	struct progress progress;
	struct progress_counts counts;
};

/* The file that a thread reads. */
struct hashed_file {
	struct block_hashing *hashing;
	uint32_t index; /* in the table */
	uint64_t id;
	bool stored; /* its hashes are written to the index */
	bool first_unshareable; /* the first file of a file system that shares no blocks */
};

/* ---- selection ----------------------------------------------------------------------- */

/* Sets *excluded to whether every name of the file is excluded. */
static int find_excluded(const struct block_hashing *hashing, struct catalog_reader *reader,
			 const struct file_record *file, bool *excluded)
{
	const struct filter *filter = hashing->partial->settings->filter;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	CLEANUP_BYTES struct bytes path = {0};
	uint64_t dir, cookie;
	uint32_t source;
	int r;

	*excluded = filter_excludes(filter);
	if (!*excluded)
		return 0;
	r = catalog_scan_names(reader, file, &scan);
	while (r == 0 && *excluded && (r = catalog_next_name(scan, &dir, &cookie)) == 0) {
		path.length = 0;
		r = catalog_entry_path(reader, dir, cookie, &path, &source);
		if (r == 0 && !bytes_text(&path))
			r = -ENOMEM;
		if (r == 0)
			*excluded = filter_excludes_name(filter, source, bytes_text(&path));
	}
	return r == -ENOENT ? 0 : r;
}

static bool has_size(const struct filter *filter, const struct file_record *file)
{
	return S_ISREG(file->attributes.mode) && file->names > 0 && file->attributes.size > 0 &&
	       file->attributes.size >= filter->min_size &&
	       file->attributes.size <= filter->max_size;
}

/* Returns whether the kernel would refuse to change the extents of the file. */
static bool is_fixed(const struct attributes *attributes)
{
	uid_t user = geteuid();

	return user != 0 && attributes->uid != user && !(attributes->mode & (S_IWGRP | S_IWOTH));
}

static int add_selected(struct block_hashing *hashing, const struct file_record *file)
{
	int r = array_reserve(&hashing->list, &hashing->capacity, hashing->count + 1,
			      sizeof(*hashing->list));

	if (r < 0)
		return r;
	hashing->list[hashing->count++] = (struct selected_file){
		.file = {.id = file->id, .size = file->attributes.size},
		.place = file->id,
		.fixed = is_fixed(&file->attributes),
	};
	return 0;
}

static int select_files(struct block_hashing *hashing)
{
	const struct partial_settings *settings = hashing->partial->settings;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	bool excluded;
	int r = catalog_read_begin(settings->sources->catalog, &reader);

	if (r == 0)
		r = catalog_scan_files(reader, 0, &scan);
	while (r == 0 && (r = catalog_next_file(scan, &file)) == 0) {
		if (stop_requested())
			return -EINTR;
		if (!has_size(settings->filter, &file))
			continue;
		r = find_excluded(hashing, reader, &file, &excluded);
		if (r == 0 && !excluded)
			r = add_selected(hashing, &file);
	}
	return r == -ENOENT ? 0 : r;
}

/* Returns 0 if the index has the hashes of the blocks of the file in its present state, -ENOENT if
 * not, or another -errno. */
static int find_known(struct catalog_reader *reader, const struct file_record *file,
		      unsigned int block_bits)
{
	struct blocks_state state;
	int r = catalog_get_blocks_state(reader, file->id, &state);

	if (r < 0)
		return r;
	return state.digest == file_digest(file) && state.block_bits == block_bits ? 0 : -ENOENT;
}

/* Opens a file of the index in a snapshot of its own.
 *
 * unknown	only if its blocks have to be read; if not, the result is -EALREADY
 *
 * Returns a descriptor or -errno. */
static int open_file(const struct partial_settings *settings, uint64_t id, bool unknown)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct file_record file = {.id = id};
	int r = catalog_read_begin(settings->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, &file);
	if (r == 0 && unknown) {
		r = find_known(reader, &file, settings->block_bits);
		r = r == -ENOENT ? 0 : r < 0 ? r : -EALREADY;
	}
	return r < 0 ? r : source_open_file(settings->sources, reader, &file, 0);
}

/* Opens a selected file for disk_files_seek(). */
static int open_for_trial(void *context, size_t index, uint64_t *size)
{
	const struct block_hashing *hashing = context;

	*size = hashing->list[index].file.size;
	return open_file(hashing->partial->settings, hashing->list[index].file.id, true);
}

/* Returns whether a disk seeks, as the user says or as trials prove. Virtual disks often report
 * wrongly that they rotate. */
static bool finds_seeks(struct block_hashing *hashing)
{
	const struct partial_settings *settings = hashing->partial->settings;
	const struct disk_files files = {
		.sources = settings->sources,
		.count = hashing->count,
		.open = open_for_trial,
		.context = hashing,
	};

	if (settings->disk != INGEST_DISK_AUTO)
		return settings->disk == INGEST_DISK_ROTATING;
	return disk_files_seek(&files);
}

/* Finds the places of the files on the disk. A file that cannot be opened is reported later. */
static void find_places(struct block_hashing *hashing)
{
	for (size_t i = 0; i < hashing->count && !stop_requested(); i++) {
		AUTO_CLOSE int fd =
			open_file(hashing->partial->settings, hashing->list[i].file.id, false);

		if (fd >= 0)
			hashing->list[i].place = disk_fetch_place(fd);
	}
}

static int compare_selected(const void *left, const void *right)
{
	const struct selected_file *a = left, *b = right;

	if (a->fixed != b->fixed)
		return a->fixed ? -1 : 1;
	return numbers_compare(a->place, b->place);
}

/* Adds the selected files to the table, in their order. */
static int list_files(struct block_hashing *hashing)
{
	struct block_table *table = &hashing->partial->table;

	if (hashing->count > 1)
		qsort(hashing->list, hashing->count, sizeof(*hashing->list), compare_selected);
	hashing->counts.files_total = hashing->count;
	for (size_t i = 0; i < hashing->count; i++) {
		long index = block_table_add_file(table, &hashing->list[i].file);

		if (index < 0)
			return (int)index;
		hashing->counts.bytes_total += hashing->list[i].file.size;
	}
	return 0;
}

/* ---- a file -------------------------------------------------------------------------- */

static void count_bytes(struct block_hashing *hashing, uint64_t bytes)
{
	pthread_mutex_lock(&hashing->lock);
	hashing->counts.bytes_done += bytes;
	progress_update(&hashing->progress, &hashing->counts);
	pthread_mutex_unlock(&hashing->lock);
}

static void count_read(void *context, uint64_t bytes)
{
	const struct hashed_file *file = context;

	count_bytes(file->hashing, bytes);
}

/* Takes hashes of the file that is read, or of its parts in the index. */
static int take_hashes(void *context, uint64_t first, const uint64_t *hashes, uint32_t count)
{
	const struct hashed_file *file = context;
	struct block_hashing *hashing = file->hashing;
	int r = block_table_add(&hashing->partial->table, file->index, first, hashes, count);

	if (r < 0 || !file->stored)
		return r;
	return block_store_add(&hashing->store, file->id, first, hashes, count);
}

/* Takes the parts of an unchanged file from the index. Returns -ENOENT if the index does not have
 * all of them. */
static int take_known(struct hashed_file *taken, struct block_reader *blocks,
		      struct catalog_reader *reader, const struct file_record *file)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct blocks_part part;
	int r = find_known(reader, file, blocks->block_bits);

	if (r == 0)
		r = catalog_scan_blocks(reader, file->id, &scan);
	if (r < 0)
		return r;
	taken->stored = false;
	while ((r = catalog_next_blocks(scan, &part)) == 0) {
		for (uint32_t i = 0; r == 0 && i < part.count; i++)
			r = block_reader_add(blocks, part.first + i, part.hashes[i]);
		if (r < 0)
			return r;
	}
	return r == -ENOENT ? block_reader_flush(blocks) : r;
}

/* Reads the blocks of an open file. Returns 0, BLOCK_READER_CHANGED or -errno. */
static int read_blocks(struct hashed_file *read, struct block_reader *blocks, int fd,
		       const struct file_record *file)
{
	struct block_hashing *hashing = read->hashing;
	struct block_store *store = &hashing->store;
	struct stored_blocks stored = {.kind = STORED_BEGIN, .file = file->id};
	struct attributes now;
	int r = block_store_put(store, &stored);

	read->stored = true;
	if (r == 0)
		r = block_reader_read(blocks, fd, file->attributes.size);
	if (r == 0)
		r = source_attributes(hashing->partial->settings->sources->catalog, fd, &now);
	if (r == 0 && !attributes_same_signature(&now, &file->attributes))
		r = BLOCK_READER_CHANGED;
	stored.kind = STORED_STATE;
	stored.state = (struct blocks_state){file_digest(file), blocks->block_bits};
	return r == 0 ? block_store_put(store, &stored) : r;
}

/* Finds the volume of an open file. Returns 0, or -EOPNOTSUPP if the file system shares no
 * blocks. */
static int find_volume(struct hashed_file *found, int fd)
{
	struct partial *partial = found->hashing->partial;
	struct volume *volume;
	long index;
	int r;

	pthread_mutex_lock(&found->hashing->lock);
	index = volumes_find(&partial->volumes, fd);
	r = index < 0 ? (int)index : 0;
	if (r == 0) {
		volume = &partial->volumes.list[index];
		partial->table.files[found->index].volume = (uint32_t)index;
		found->first_unshareable = !volume->can_share && !volume->reported;
		volume->reported |= found->first_unshareable;
		r = volume->can_share ? 0 : -EOPNOTSUPP;
	}
	pthread_mutex_unlock(&found->hashing->lock);
	return r;
}

/* Opens a file, and takes its hashes from the index or from its blocks. */
static int hash_file(struct hashed_file *hashed, struct block_reader *blocks)
{
	const struct partial_settings *settings = hashed->hashing->partial->settings;
	struct block_file *table_file = &hashed->hashing->partial->table.files[hashed->index];
	struct partial_count *count = &hashed->hashing->partial->known;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	AUTO_CLOSE int fd = -1;
	struct file_record file = {.id = hashed->id};
	int r = catalog_read_begin(settings->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, hashed->id, &file);
	if (r < 0)
		return r;
	fd = source_open_file(settings->sources, reader, &file, 0);
	r = fd < 0 ? fd : find_volume(hashed, fd);
	if (r == 0)
		r = take_known(hashed, blocks, reader, &file);
	catalog_read_end(TAKE(reader)); /* the store writes */
	if (r == 0)
		count_bytes(hashed->hashing, file.attributes.size);
	if (r == -ENOENT && fd >= 0) {
		count = &hashed->hashing->partial->read;
		r = read_blocks(hashed, blocks, fd, &file);
	}
	if (r == 0) {
		pthread_mutex_lock(&hashed->hashing->lock);
		table_file->digest = file_digest(&file);
		table_file->size = file.attributes.size;
		count->count++;
		count->bytes += file.attributes.size;
		pthread_mutex_unlock(&hashed->hashing->lock);
	}
	return r;
}

/* ---- threads ------------------------------------------------------------------------- */

/* Returns whether a failure concerns all files, so that no further one is read. */
static bool ends_all(int result)
{
	return result == -EINTR || result == -ENOMEM || result == -EUCLEAN || result == -EMFILE ||
	       result == -ENFILE || result == -ENOSPC || result == -EDQUOT;
}

/* Logs and counts a file that is left out. */
static void leave_out(const struct hashed_file *file, int result)
{
	struct partial *partial = file->hashing->partial;
	bool changed = result == BLOCK_READER_CHANGED || result == -ESTALE || result == -ENOENT;

	if (changed)
		file_text_warn_changed(partial, file->id);
	else if (file->first_unshareable)
		file_text_warn(partial, file->id, "share blocks of",
			       "its file system cannot share blocks between files; btrfs, XFS and "
			       "bcachefs can");
	else if (result != -EOPNOTSUPP)
		file_text_warn(partial, file->id, "read", error_text(result));
	pthread_mutex_lock(&file->hashing->lock);
	partial->table.files[file->index].dropped = true;
	*(changed ? &partial->changed : &partial->failed) += 1;
	pthread_mutex_unlock(&file->hashing->lock);
}

/* Takes the next file. Returns false if none is left or the threads must end. */
static bool take_file(struct block_hashing *hashing, size_t *index)
{
	bool taken;

	pthread_mutex_lock(&hashing->lock);
	*index = hashing->next;
	taken = hashing->result == 0 && hashing->next < hashing->count;
	hashing->next += taken;
	pthread_mutex_unlock(&hashing->lock);
	return taken;
}

static void end_file(struct block_hashing *hashing, int result)
{
	pthread_mutex_lock(&hashing->lock);
	if (result < 0 && hashing->result == 0)
		hashing->result = result;
	hashing->counts.files_done++;
	progress_update(&hashing->progress, &hashing->counts);
	pthread_mutex_unlock(&hashing->lock);
}

static void *hash_files(void *context)
{
	struct block_hashing *hashing = context;
	struct block_reader blocks;
	size_t index;
	int r = block_reader_init(&blocks, hashing->partial->settings->block_bits);

	blocks.take = take_hashes;
	blocks.progress = count_read;
	while (r == 0 && take_file(hashing, &index)) {
		struct hashed_file file = {.hashing = hashing,
					   .index = (uint32_t)index,
					   .id = hashing->list[index].file.id};

		blocks.context = &file;
		r = stop_requested() ? -EINTR : hash_file(&file, &blocks);
		if (r != 0 && !ends_all(r)) {
			leave_out(&file, r);
			r = 0;
		}
		end_file(hashing, r);
	}
	if (r < 0)
		end_file(hashing, r);
	block_reader_deinit(&blocks);
	return NULL;
}

static int run_threads(struct block_hashing *hashing, unsigned int threads)
{
	int stored, r;

	progress_start(&hashing->progress, hashing->partial->settings->progress, "hashing");
	r = threads_run(threads, hash_files, hashing);
	stored = block_store_end(&hashing->store);
	progress_end(&hashing->progress, &hashing->counts);
	if (stored < 0)
		log_warning("cannot write hashes of blocks to the index: %s; the next run reads "
			    "the files again",
			    error_text(stored));
	return r < 0 ? r : hashing->result;
}

/* Returns 0, -EINTR if stop_requested(), or another -errno. Files that cannot be read, or that
 * change meanwhile, are logged and counted. */
static int block_hashes_read(struct partial *partial)
{
	const struct partial_settings *settings = partial->settings;
	struct block_hashing hashing = {.partial = partial};
	unsigned int threads = threads_that_read() < THREADS ? threads_that_read() : THREADS;
	int r;

	pthread_mutex_init(&hashing.lock, NULL);
	block_store_init(&hashing.store,
			 settings->keeps_hashes ? settings->sources->catalog : NULL);
	r = select_files(&hashing);
	partial->seeks = r == 0 && finds_seeks(&hashing);
	if (partial->seeks) {
		find_places(&hashing);
		threads = 1;
	}
	if (r == 0)
		r = list_files(&hashing);
	if (r == 0)
		r = run_threads(&hashing, threads);
	pthread_mutex_destroy(&hashing.lock);
	free(hashing.list);
	return r;
}

/* ---- partial -------------------------------------------------------------------------------- */

int partial_init(struct partial *partial, const struct partial_settings *settings)
{
	*partial = (struct partial){.settings = settings};
	return block_table_init(&partial->table, settings->block_bits);
}

void partial_deinit(struct partial *partial)
{
	run_list_free(&partial->runs);
	volumes_free(&partial->volumes);
	block_table_deinit(&partial->table);
}

static uint64_t sum_bytes(const struct partial *partial, const struct run_list *runs, size_t from)
{
	uint64_t bytes = 0;

	for (size_t i = from; i < runs->count; i++)
		bytes += run_bytes(&partial->table, &runs->list[i]);
	return bytes;
}

/* Appends the parts of a run that are not shared yet. If its files changed, appends the whole run,
 * so that its failure is reported once, when it is shared. */
static int split_run(struct partial *partial, struct open_files *files, const struct block_run *run)
{
	struct run_list *parts = &partial->runs;
	size_t before = parts->count;
	uint64_t rest;
	int r = stop_requested() ? -EINTR : shared_extents_split(files, run, parts);

	if (r < 0 && r != -EINTR && r != -ENOMEM) {
		parts->count = before;
		r = run_list_add(parts, run);
	}
	rest = run_bytes(&partial->table, run) - sum_bytes(partial, parts, before);
	partial->already.count += rest > 0;
	partial->already.bytes += rest;
	return r;
}

/* Replaces the runs by their parts that are not shared yet. */
static int leave_out_shared(struct partial *partial)
{
	CLEANUP_RUN_LIST struct run_list all = partial->runs;
	struct progress_counts counts = {.bytes_total = sum_bytes(partial, &all, 0)};
	struct progress progress;
	struct open_files files;
	int r = 0;

	partial->runs = (struct run_list){0};
	open_files_init(&files, partial);
	progress_start(&progress, partial->settings->progress, "finding shared blocks");
	for (size_t i = 0; r == 0 && i < all.count; i++) {
		r = split_run(partial, &files, &all.list[i]);
		counts.bytes_done += run_bytes(&partial->table, &all.list[i]);
		progress_update(&progress, &counts);
	}
	progress_end(&progress, &counts);
	open_files_deinit(&files);
	return r;
}

static uint32_t blocks_of(const struct partial_settings *settings)
{
	uint64_t block_bytes = UINT64_C(1) << settings->block_bits;
	uint64_t blocks = (settings->min_run + block_bytes - 1) / block_bytes;

	return blocks > BLOCKS_MAX ? BLOCKS_MAX : (uint32_t)blocks;
}

static int find_runs(struct partial *partial)
{
	int r = block_table_classify(&partial->table);

	run_list_free(&partial->runs);
	if (r == 0)
		r = runs_find(&partial->table, blocks_of(partial->settings), &partial->runs);
	if (r == 0)
		r = leave_out_shared(partial);
	if (r < 0)
		return r;
	if (!partial->seeks)
		runs_sort(&partial->runs);
	partial->planned.count = partial->runs.count;
	partial->planned.bytes = sum_bytes(partial, &partial->runs, 0);
	return 0;
}

int partial_plan_again(struct partial *partial)
{
	struct partial_count already = partial->already;
	int r = find_runs(partial);

	partial->already = already; /* without what was shared since */
	return r;
}

int partial_plan(struct partial *partial)
{
	int r = block_hashes_read(partial);

	if (r == 0)
		r = find_runs(partial);
	if (r == -ENOSPC || r == -EDQUOT)
		log_error("cannot write the temporary file with the hashes: %s; set TMPDIR to a "
			  "folder on another disk",
			  error_text(r));
	else if (r == -EOVERFLOW)
		log_error("cannot compare the blocks: the files have more than 2^32 blocks; give a "
			  "larger block size with --partial=SIZE");
	else if (r == -EINTR)
		log_error("cannot compare the blocks: interrupted; run the command again to "
			  "continue");
	else if (r < 0)
		log_error("cannot compare the blocks: %s", error_text(r));
	return r;
}
