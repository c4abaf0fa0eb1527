/* SPDX-License-Identifier: MIT */
#include "backup/known_hashes.h"

#include <errno.h>
#include <stdlib.h>

#include "backup/manifest_reader.h"
#include "base/array.h"
#include "base/stop.h"
#include "catalog/record.h"

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
