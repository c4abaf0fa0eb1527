/* SPDX-License-Identifier: MIT */

/* Comparisons and hashes of attributes. */
#include "base/clock.h"
#include "base/hash.h"
#include "catalog/record.h"

bool attributes_same_inode(const struct attributes *a, const struct attributes *b)
{
	return a->inode == b->inode && a->filesystem == b->filesystem &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT) && clock_equal(a->btime, b->btime);
}

bool attributes_same_signature(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_inode(a, b) && a->size == b->size &&
	       clock_equal(a->mtime, b->mtime) && clock_equal(a->ctime, b->ctime);
}

uint64_t attributes_digest(const struct attributes *a)
{
	uint64_t parts[] = {
		a->filesystem,
		a->inode,
		a->mode & S_IFMT,
		(uint64_t)a->btime.tv_sec,
		(uint64_t)a->btime.tv_nsec,
		a->size,
		(uint64_t)a->mtime.tv_sec,
		(uint64_t)a->mtime.tv_nsec,
		(uint64_t)a->ctime.tv_sec,
		(uint64_t)a->ctime.tv_nsec,
	};

	return hash64(parts, sizeof(parts), 0);
}

uint64_t file_digest(const struct file_record *file)
{
	uint64_t parts[] = {attributes_digest(&file->attributes), file->content_version};

	return hash64(parts, sizeof(parts), 0);
}

bool attributes_equal(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_signature(a, b) && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && a->links == b->links && a->blocks == b->blocks &&
	       a->rdev == b->rdev;
}
