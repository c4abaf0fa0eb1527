/* SPDX-License-Identifier: MIT */
#include "base/copier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"

#define BLOCK_BYTES ((size_t)256 << 10)

/* Number of files whose hash is remembered, in 5 MiB. The hash of a kept copy is needed again for
 * each other copy of its group. */
#define VERIFIED_COUNT ((size_t)1 << 15)

static const uint8_t zeros[64 << 10];

/* The hash of a file, valid while the file has this signature. */
struct verified {
	struct stat status;
	struct hash128 hash;
};

/* A file that is being read, in pieces of data and of holes. */
struct copy_source {
	int fd;
	struct stat before;
	off_t at;
	off_t data_end; /* no hole before this offset */
};

struct copied_piece {
	off_t length; /* 0 at the end of the file */
	bool hole; /* false: the bytes are in the block of the copier */
};

int copier_init(struct copier *copier)
{
	memset(copier, 0, sizeof(*copier));
	copier->block = memory_pages(BLOCK_BYTES);
	copier->hash = hash_state_new();
	copier->verified = calloc(VERIFIED_COUNT, sizeof(*copier->verified));
	return copier->block && copier->hash && copier->verified ? 0 : -ENOMEM;
}

void copier_deinit(struct copier *copier)
{
	free(copier->block);
	hash_state_free(copier->hash);
	free(copier->verified);
	memset(copier, 0, sizeof(*copier));
}

bool copy_same_signature(const struct stat *a, const struct stat *b)
{
	return is_same_inode(a, b) && a->st_size == b->st_size &&
	       clock_equal(a->st_mtim, b->st_mtim) && clock_equal(a->st_ctim, b->st_ctim);
}

static int unreadable(struct copier *copier, int error)
{
	copier->read_error = error;
	return COPY_UNREADABLE;
}

static int begin(struct copier *copier, int fd, struct copy_source *reading)
{
	*reading = (struct copy_source){.fd = fd};
	if (fstat(fd, &reading->before) < 0)
		return unreadable(copier, -errno);
	if (reading->before.st_blocks * 512 >= reading->before.st_size)
		reading->data_end = reading->before.st_size;
	return 0;
}

static int read_data(struct copier *copier, struct copy_source *reading, struct copied_piece *piece)
{
	off_t length = reading->data_end - reading->at;
	long got;

	if (length > (off_t)BLOCK_BYTES)
		length = (off_t)BLOCK_BYTES;
	got = read_fully_at(reading->fd, copier->block, (unsigned long)length, reading->at);
	if (got < 0)
		return unreadable(copier, (int)got);
	if (got != length)
		return COPY_CHANGED;
	*piece = (struct copied_piece){.length = length};
	reading->at += length;
	return 0;
}

static int next_piece(struct copier *copier, struct copy_source *reading,
		      struct copied_piece *piece)
{
	struct data_range data = {.from = reading->at};

	*piece = (struct copied_piece){0};
	if (stop_requested() && !copier->to_the_end)
		return -EINTR;
	if (reading->at >= reading->before.st_size)
		return 0;
	if (reading->at >= reading->data_end) {
		data = data_range_at(reading->fd, reading->at, reading->before.st_size);
		reading->data_end = data.to;
	}
	if (data.from == reading->at)
		return read_data(copier, reading, piece);
	*piece = (struct copied_piece){.length = data.from - reading->at, .hole = true};
	reading->at = data.from;
	return 0;
}

static int check_unchanged(struct copier *copier, const struct copy_source *reading)
{
	struct stat after;

	if (fstat(reading->fd, &after) < 0)
		return unreadable(copier, -errno);
	return copy_same_signature(&reading->before, &after) ? 0 : COPY_CHANGED;
}

static int hash_hole(struct copier *copier, off_t length)
{
	while (length > 0) {
		size_t count = length < (off_t)sizeof(zeros) ? (size_t)length : sizeof(zeros);

		if (stop_requested() && !copier->to_the_end)
			return -EINTR;
		hash_state_update(copier->hash, zeros, count);
		length -= (off_t)count;
	}
	return 0;
}

static int hash_piece(struct copier *copier, const struct copied_piece *piece)
{
	if (piece->hole)
		return hash_hole(copier, piece->length);
	hash_state_update(copier->hash, copier->block, (size_t)piece->length);
	return 0;
}

static int write_piece(const struct copier *copier, int to, const struct copied_piece *piece)
{
	if (piece->hole)
		return lseek(to, piece->length, SEEK_CUR) < 0 ? -errno : 0;
	return write_fully(to, copier->block, (unsigned long)piece->length);
}

/* Reads the whole file. Writes it to the descriptor `to` unless that is negative, and hashes it if
 * hashed is set.
 */
static int pass_through(struct copier *copier, struct copy_source *reading, int to, bool hashed)
{
	struct copied_piece piece;
	int r;

	if (hashed)
		hash_state_reset(copier->hash);
	while ((r = next_piece(copier, reading, &piece)) == 0 && piece.length > 0) {
		if (hashed)
			r = hash_piece(copier, &piece);
		if (r == 0 && to >= 0)
			r = write_piece(copier, to, &piece);
		if (r != 0)
			return r;
		if (copier->progress)
			copier->progress(copier->context, (uint64_t)piece.length);
	}
	return r == 0 ? check_unchanged(copier, reading) : r;
}

int copy_bytes(struct copier *copier, int from, int to, struct hash128 *hash)
{
	struct copy_source reading;
	int r = begin(copier, from, &reading);

	if (r == 0)
		r = pass_through(copier, &reading, to, hash);
	/* the file can end with a hole */
	if (r == 0 && ftruncate(to, reading.before.st_size) < 0)
		r = -errno;
	if (r == 0 && hash)
		*hash = hash_state_digest(copier->hash);
	return r;
}

static struct verified *verified_slot(const struct copier *copier, const struct stat *status)
{
	const uint64_t key[] = {status->st_dev, status->st_ino};

	return &copier->verified[hash64(key, sizeof(key), 0) % VERIFIED_COUNT];
}

int copy_hash_anew(struct copier *copier, int fd, struct hash128 *hash)
{
	struct copy_source reading;
	int r = begin(copier, fd, &reading);

	if (r == 0)
		r = pass_through(copier, &reading, -1, true);
	if (r == 0)
		*hash = hash_state_digest(copier->hash);
	return r;
}

int copy_hash(struct copier *copier, int fd, struct hash128 *hash)
{
	struct verified *known;
	struct stat status;
	int r = 0;

	if (fstat(fd, &status) < 0)
		return unreadable(copier, -errno);
	known = verified_slot(copier, &status);
	if (!copy_same_signature(&known->status, &status)) {
		r = copy_hash_anew(copier, fd, hash);
		if (r == 0)
			*known = (struct verified){.status = status, .hash = *hash};
	}
	if (r == 0)
		*hash = known->hash;
	return r;
}

void copy_hash_linked(const struct copier *copier, int fd)
{
	struct verified *known;
	struct stat now;

	if (fstat(fd, &now) < 0)
		return;
	known = verified_slot(copier, &now);
	if (is_same_inode(&known->status, &now))
		known->status.st_ctim = now.st_ctim;
}
