/* SPDX-License-Identifier: MIT */
#include "backup/content_hash.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "backup/manifest.h"
#include "base/array.h"
#include "base/copier.h"
#include "base/numbers.h"
#include "base/stop.h"
#include "index/query.h"
#include "index/record.h"
#include "index/scan.h"
#include "scan/reading.h"

/* ---- known hashes --------------------------------------------------------------------------- */

void known_hashes_free(struct known_hashes *known)
{
	free(known->list);
	*known = (struct known_hashes){0};
}

int known_hashes_add(struct known_hashes *known, const struct known_hash *hash)
{
	int r = array_reserve(&known->list, &known->capacity, known->count + 1,
			      sizeof(*known->list));

	if (r == 0)
		known->list[known->count++] = *hash;
	return r;
}

static int compare_states(const struct known_hash *a, uint64_t file, uint64_t digest)
{
	if (a->file != file)
		return a->file < file ? -1 : 1;
	return (a->digest > digest) - (a->digest < digest);
}

static int compare(const void *left, const void *right)
{
	const struct known_hash *a = left;
	const struct known_hash *b = right;
	int order = compare_states(a, b->file, b->digest);

	return order != 0 ? order : (a->result != 0) - (b->result != 0);
}

void known_hashes_sort(struct known_hashes *known)
{
	if (known->count > 1)
		qsort(known->list, known->count, sizeof(*known->list), compare);
	known->sorted = known->count;
}

const struct known_hash *known_hashes_find(const struct known_hashes *known,
					   const struct file_record *file)
{
	uint64_t digest = file_digest(file);
	size_t low = 0;
	size_t high = known->sorted;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_states(&known->list[middle], file->id, digest) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < known->sorted && compare_states(&known->list[low], file->id, digest) == 0
		       ? &known->list[low]
		       : NULL;
}

static int add_name(struct known_hashes *known, const struct manifest_name *name)
{
	if (name->read.file == 0 || !name->hashed)
		return 0;
	return known_hashes_add(known, &(struct known_hash){
					       .file = name->read.file,
					       .digest = name->read.digest,
					       .hash = name->hash,
				       });
}

int known_hashes_load(struct known_hashes *known, int fd, const char *path,
		      enum manifest_format *format)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	size_t before = known->count;
	int r = manifest_reader_init(&reader, fd, path);

	*format = reader.format;
	while (r == 0 && (r = manifest_reader_next(&reader)) == 0)
		r = stop_requested() ? -EINTR : add_name(known, &reader.name);
	if (r != MANIFEST_END)
		known->count = before;
	known_hashes_sort(known);
	return r == MANIFEST_END ? 0 : r;
}

/* ---- content hash --------------------------------------------------------------------------- */

/* Number of files that are found in one snapshot. */
#define BATCH 1024

struct hash_batch {
	uint64_t files[BATCH]; /* ids in ascending order */
	size_t count;
	uint64_t last; /* the last id that was examined */
	bool at_end;
};

struct reader_of_files {
	const struct hashing *hashing;
	struct file_opener opener;
	struct copier copier;
	struct progress progress;
	struct progress_counts counts;
	bool retry; /* files that were busy or changed are read again */
};

/* ---- the hash in the index ----------------------------------------------------------- */

/* Returns 0, -ENOENT if the index does not have the hash, or another -errno. */
static int find_in_index(struct catalog_reader *reader, const struct file_record *file,
			 struct hash128 *hash)
{
	struct content_record content;
	struct group_record group;
	int r;

	if (file->attributes.size == 0) {
		*hash = hash128("", 0);
		return 0;
	}
	r = catalog_get_content(reader, file->id, &content);
	if (r < 0)
		return r;
	*hash = content.hash;
	if (content.group == 0)
		return content_has_hash(&content) ? 0 : -ENOENT;
	r = catalog_get_group(reader, content.group, &group);
	if (r == 0)
		*hash = group.hash;
	return r == -ENOENT ? -EUCLEAN : r;
}

int content_hash_find(struct catalog_reader *reader, const struct known_hashes *known,
		      const struct file_record *file, struct hash128 *hash)
{
	const struct known_hash *found;
	int r = find_in_index(reader, file, hash);

	if (r != -ENOENT)
		return r;
	found = known ? known_hashes_find(known, file) : NULL;
	if (!found)
		return READING_CHANGED;
	*hash = found->hash;
	return found->result;
}

/* ---- reading ------------------------------------------------------------------------- */

/* Sets *wanted to whether the file has to be read. */
static int is_wanted(const struct reader_of_files *state, struct catalog_reader *reader,
		     const struct file_record *file, bool *wanted)
{
	const struct known_hash *found;
	struct hash128 hash;
	int r;

	*wanted = false;
	if (!S_ISREG(file->attributes.mode) || file->names == 0)
		return 0;
	r = find_in_index(reader, file, &hash);
	if (r != -ENOENT)
		return r;
	found = known_hashes_find(state->hashing->known, file);
	*wanted = !found || (state->retry && found->result > 0);
	return 0;
}

static int find_batch(const struct reader_of_files *state, struct hash_batch *batch)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	bool wanted;
	int r = catalog_read_begin(state->hashing->sources->catalog, &reader);

	batch->count = 0;
	if (r == 0)
		r = catalog_scan_files(reader, batch->last, &scan);
	while (r == 0 && batch->count < BATCH && (r = catalog_next_file(scan, &file)) == 0) {
		batch->last = file.id;
		r = is_wanted(state, reader, &file, &wanted);
		if (r == 0 && wanted)
			batch->files[batch->count++] = file.id;
	}
	batch->at_end = r == -ENOENT;
	return batch->at_end ? 0 : r;
}

/* Opens a file in a snapshot of its own. Returns 0, -ENOENT if the index has forgotten it, an enum
 * reading_outcome, or another -errno. */
static int open_file(struct reader_of_files *state, uint64_t id, struct file_record *file,
		     struct reading *reading)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(state->hashing->sources->catalog, &reader);

	if (r == 0)
		r = catalog_get_file(reader, id, file);
	if (r == 0 && file->names == 0)
		r = -ENOENT;
	return r < 0 ? r : reading_open(reading, &state->opener, reader, file, false);
}

static int read_bytes(struct reader_of_files *state, struct reading *reading, struct hash128 *hash)
{
	int r = copy_hash_anew(&state->copier, reading->fd, hash);

	if (r == 0)
		return reading_close(reading, state->hashing->sources->catalog);
	reading_abandon(reading);
	if (r == COPY_UNREADABLE)
		return state->copier.read_error;
	return r == COPY_CHANGED ? (int)READING_CHANGED : r;
}

static int read_file(struct reader_of_files *state, uint64_t id)
{
	struct reading reading = {.fd = -1};
	struct file_record file = {.id = 0};
	struct known_hash known = {0};
	int r = open_file(state, id, &file, &reading);

	if (file.id == 0 || file.names == 0)
		return r == -ENOENT ? 0 : r;
	if (r == 0)
		r = read_bytes(state, &reading, &known.hash);
	if (r == -EINTR || r == -ENOMEM || r == -EUCLEAN || r == -EMFILE || r == -ENFILE)
		return r;
	state->counts.files_done++;
	progress_update(&state->progress, &state->counts);
	known.file = file.id;
	known.digest = file_digest(&file);
	known.result = r;
	return known_hashes_add(state->hashing->known, &known);
}

/* Reads all files that are wanted now. */
static int read_round(struct reader_of_files *state)
{
	struct hash_batch batch = {.count = 0};
	int r = 0;

	known_hashes_sort(state->hashing->known);
	while (r == 0 && !batch.at_end) {
		r = stop_requested() ? -EINTR : find_batch(state, &batch);
		for (size_t i = 0; r == 0 && i < batch.count; i++)
			r = read_file(state, batch.files[i]);
	}
	known_hashes_sort(state->hashing->known);
	return r;
}

static void count_bytes(void *context, uint64_t bytes)
{
	struct reader_of_files *state = context;

	state->counts.bytes_done = size_add(state->counts.bytes_done, bytes);
	progress_update(&state->progress, &state->counts);
}

int content_hash_read_all(const struct hashing *hashing)
{
	struct reader_of_files state = {
		.hashing = hashing,
		.opener = FILE_OPENER_INIT(hashing->sources),
	};
	int r = copier_init(&state.copier);

	state.copier.progress = count_bytes;
	state.copier.context = &state;
	progress_start(&state.progress, hashing->progress, "hashing");
	if (r == 0)
		r = read_round(&state);
	state.retry = state.opener.patient = true;
	if (r == 0)
		r = read_round(&state);
	progress_end(&state.progress, &state.counts);
	file_opener_deinit(&state.opener);
	copier_deinit(&state.copier);
	return r;
}
