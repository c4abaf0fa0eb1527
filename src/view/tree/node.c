/* SPDX-License-Identifier: MIT */
#include "view/tree/node.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "twinfs/format.h"
#include "view/tree/view.h"

/* ---- numbers that programs see ------------------------------------------------------ */

#define ROUNDS 4

static uint64_t mask_of(unsigned int half_bits)
{
	return (UINT64_C(1) << half_bits) - 1;
}

static uint64_t mix(uint64_t secret, uint64_t round, uint64_t half)
{
	const uint64_t input[] = {round, half};

	return hash64(input, sizeof(input), secret);
}

uint64_t permute(uint64_t secret, unsigned int half_bits, uint64_t number)
{
	uint64_t mask = mask_of(half_bits), left = number >> half_bits, right = number & mask;

	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t next = left ^ (mix(secret, round, right) & mask);

		left = right;
		right = next;
	}
	return left << half_bits | right;
}

uint64_t permute_back(uint64_t secret, unsigned int half_bits, uint64_t permuted)
{
	uint64_t mask = mask_of(half_bits), left = permuted >> half_bits, right = permuted & mask;

	for (uint64_t round = ROUNDS; round-- > 0;) {
		uint64_t previous = right ^ (mix(secret, round, left) & mask);

		right = left;
		left = previous;
	}
	return left << half_bits | right;
}

#define SMALL_HALF_BITS 13

uint64_t permute_id(uint64_t secret, uint64_t id)
{
	unsigned int half_bits = SMALL_HALF_BITS;
	uint64_t smallest = 0;

	while (id >> 2 * half_bits) {
		smallest = UINT64_C(1) << 2 * half_bits;
		half_bits++;
	}
	/* the number that leads out of the range is permuted again (cycle walking) */
	do
		id = permute(secret, half_bits, id);
	while (id < smallest);
	return id;
}

/* ---- kinds -------------------------------------------------------------------------- */

bool node_is_folder(uint64_t node)
{
	switch ((enum node_kind)node_kind(node)) {
	case NODE_FIXED:
		return node < FIXED_FILES;
	case NODE_DIR:
	case NODE_REDUNDANT:
	case NODE_GROUP:
	case NODE_RANKS:
	case NODE_FOLDER_RANKS:
	case NODE_EQUALS:
	case NODE_FOLDER:
		return true;
	case NODE_FILE:
	case NODE_LINK:
	case NODE_DEEP_LINK:
	case NODE_PLACEHOLDER:
		break;
	}
	return false;
}

/* ---- listing cookie ----------------------------------------------------------------- */

#define HALF_BITS 31

uint64_t listing_cookie(uint64_t secret, uint64_t id)
{
	return VIEW_COOKIE_MIN + permute(secret, HALF_BITS, id);
}

uint64_t listing_id(uint64_t secret, uint64_t cookie)
{
	uint64_t number = cookie - VIEW_COOKIE_MIN, id;

	if (cookie < VIEW_COOKIE_MIN)
		return 0;
	if (number >> 2 * HALF_BITS)
		return UINT64_MAX - 1;
	id = permute_back(secret, HALF_BITS, number);
	return id > TWINFS_ID_MAX ? UINT64_MAX - 1 : id;
}

/* ---- attributes --------------------------------------------------------------------- */

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

void stat_set_file_record(struct stat *stat, const struct file_record *file,
			  const struct caller *caller)
{
	stat_set_record(stat, node_make_file(file->id, file->content_version), &file->attributes);
	stat->st_dev = file->content_version;
	if (!caller)
		stat->st_ctim = clock_latest(stat->st_ctim, file->shown_since);
	if (file->names == 0)
		stat->st_nlink = 0;
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
