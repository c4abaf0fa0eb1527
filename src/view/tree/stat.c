/* SPDX-License-Identifier: MIT */
#include "view/tree/stat.h"

#include <unistd.h>

#include "view/tree/node.h"

/* Preferred read size. The index does not store that of the source. */
#define BLOCK_SIZE 4096

void stat_set_record(struct stat *stat, uint64_t node, const struct attributes *attributes)
{
	*stat = (struct stat){
		.st_ino = node,
		.st_mode = attributes->mode,
		.st_nlink = S_ISDIR(attributes->mode) ? 1 : attributes->links,
		.st_uid = attributes->uid,
		.st_gid = attributes->gid,
		.st_rdev = attributes->rdev,
		.st_size = (off_t)attributes->size,
		.st_blksize = BLOCK_SIZE,
		.st_blocks = (blkcnt_t)attributes->blocks,
		.st_atim = attributes->atime,
		.st_mtim = attributes->mtime,
		.st_ctim = attributes->ctime,
	};
}

void stat_set_file_record(struct stat *stat, const struct file_record *file)
{
	stat_set_record(stat, node_make_file(file->id, file->content_version), &file->attributes);
	stat->st_dev = file->content_version;
}

static void fill_own(struct stat *stat, uint64_t node, mode_t mode, struct timespec changed)
{
	*stat = (struct stat){
		.st_ino = node,
		.st_mode = mode,
		.st_nlink = 1,
		.st_uid = geteuid(),
		.st_gid = getegid(),
		.st_blksize = BLOCK_SIZE,
		.st_atim = changed,
		.st_mtim = changed,
		.st_ctim = changed,
	};
}

void stat_set_directory(struct stat *stat, uint64_t node, struct timespec changed)
{
	fill_own(stat, node, S_IFDIR | 0555, changed);
}

void stat_set_file(struct stat *stat, uint64_t node, struct timespec changed)
{
	fill_own(stat, node, S_IFREG | 0444, changed);
}

void stat_set_symlink(struct stat *stat, uint64_t node, size_t target_length,
		      struct timespec changed)
{
	fill_own(stat, node, S_IFLNK | 0777, changed);
	stat->st_size = (off_t)target_length;
}
