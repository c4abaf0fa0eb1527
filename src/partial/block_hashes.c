/* SPDX-License-Identifier: MIT */
#include "partial/block_hashes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/quote.h"
#include "base/stop.h"
#include "base/threads.h"
#include "catalog/blocks.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "ingest/disk_fetch.h"
#include "ingest/disk_seeks.h"
#include "partial/block_reader.h"
#include "partial/block_store.h"
#include "partial/file_text.h"
#include "partial/partial.h"
#include "report/filter.h"
#include "source/source.h"

/* Highest number of threads that read. More do not read large files faster. */
#define THREADS 4U

/* A selected file, before it is in the table. */
struct selected {
	struct block_file file;
	uint64_t place; /* on the disk, if it rotates; otherwise the id */
	bool fixed; /* this user cannot change the file */
};

/* What the reading threads share. */
struct hashing {
	struct partial *partial;
	struct selected *list;
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
	struct hashing *hashing;
	uint32_t index; /* in the table */
	uint64_t id;
	bool stored; /* its hashes are written to the index */
	bool first_unshareable; /* the first file of a file system that shares no blocks */
};

/* ---- selection ----------------------------------------------------------------------- */

/* Sets *excluded to whether every name of the file is excluded. */
static int find_excluded(const struct hashing *hashing, struct catalog_reader *reader,
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

static int add_selected(struct hashing *hashing, const struct file_record *file)
{
	int r = array_reserve(&hashing->list, &hashing->capacity, hashing->count + 1,
			      sizeof(*hashing->list));

	if (r < 0)
		return r;
	hashing->list[hashing->count++] = (struct selected){
		.file = {.id = file->id, .size = file->attributes.size},
		.place = file->id,
		.fixed = is_fixed(&file->attributes),
	};
	return 0;
}

static int select_files(struct hashing *hashing)
{
	const struct partial_settings *settings = hashing->partial->settings;
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	bool excluded;
	int r = catalog_read_begin(settings->catalog, &reader);

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
	int r = catalog_read_begin(settings->catalog, &reader);

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
	const struct hashing *hashing = context;

	*size = hashing->list[index].file.size;
	return open_file(hashing->partial->settings, hashing->list[index].file.id, true);
}

/* Returns whether a disk seeks, as the user says or as trials prove. Virtual disks often report
 * wrongly that they rotate. */
static bool finds_seeks(struct hashing *hashing)
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
static void find_places(struct hashing *hashing)
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
	const struct selected *a = left, *b = right;

	if (a->fixed != b->fixed)
		return a->fixed ? -1 : 1;
	return numbers_compare(a->place, b->place);
}

/* Adds the selected files to the table, in their order. */
static int list_files(struct hashing *hashing)
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

static void count_bytes(struct hashing *hashing, uint64_t bytes)
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
	struct hashing *hashing = file->hashing;
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
	struct hashing *hashing = read->hashing;
	const struct blocks_state state = {file_digest(file), blocks->block_bits};
	struct attributes now;
	int r = block_store_begin(&hashing->store, file->id);

	read->stored = true;
	if (r == 0)
		r = block_reader_read(blocks, fd, file->attributes.size);
	if (r == 0)
		r = source_attributes(hashing->partial->settings->catalog, fd, &now);
	if (r == 0 && !attributes_same_signature(&now, &file->attributes))
		r = BLOCK_READER_CHANGED;
	return r == 0 ? block_store_complete(&hashing->store, file->id, &state) : r;
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
	int r = catalog_read_begin(settings->catalog, &reader);

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
static bool take_file(struct hashing *hashing, size_t *index)
{
	bool taken;

	pthread_mutex_lock(&hashing->lock);
	*index = hashing->next;
	taken = hashing->result == 0 && hashing->next < hashing->count;
	hashing->next += taken;
	pthread_mutex_unlock(&hashing->lock);
	return taken;
}

static void end_file(struct hashing *hashing, int result)
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
	struct hashing *hashing = context;
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

static int run_threads(struct hashing *hashing, unsigned int threads)
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

int block_hashes_read(struct partial *partial)
{
	const struct partial_settings *settings = partial->settings;
	struct hashing hashing = {.partial = partial};
	unsigned int threads = threads_that_read() < THREADS ? threads_that_read() : THREADS;
	int r;

	pthread_mutex_init(&hashing.lock, NULL);
	block_store_init(&hashing.store, settings->keeps_hashes ? settings->catalog : NULL);
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
