/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/fuse/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <uthash.h>

#include "base/filesystem.h"

struct backing {
	uint64_t node;
	int id; /* backing id, or 0 if reads are requests */
	unsigned int uses;
	UT_hash_handle hh;
};

void backings_init(struct backings *backings)
{
	*backings = (struct backings){.choice = BACKING_NONE};
	pthread_mutex_init(&backings->lock, NULL);
}

/* The kernel closes the backing ids with the connection. */
void backings_deinit(struct backings *backings)
{
	struct backing *backing, *next;

	HASH_ITER(hh, backings->table, backing, next)
	{
		HASH_DEL(backings->table, backing);
		free(backing);
	}
	pthread_mutex_destroy(&backings->lock);
}

/* A file can never be written if it has fs-verity, or if its file system is only created as a
 * whole. Read-only mounts and immutable files (chattr(1)) do not count, as both can be made
 * writable. */
bool backing_is_sealed(int fd)
{
	struct statx status;

	return (statx(fd, "", AT_EMPTY_PATH, 0, &status) == 0 &&
		status.stx_attributes & STATX_ATTR_VERITY) ||
	       filesystem_has(filesystem_type_at(fd), TRAIT_IMAGE);
}

static int open_backing(fuse_req_t request, int fd)
{
#if PASSTHROUGH_KNOWN
	int id = fuse_passthrough_open(request, fd);

	return id > 0 ? id : 0;
#else
	(void)request;
	(void)fd;
	return 0;
#endif
}

static void close_backing(fuse_req_t request, int id)
{
#if PASSTHROUGH_KNOWN
	(void)fuse_passthrough_close(request, id);
#else
	(void)request;
	(void)id;
#endif
}

static void release_backing(struct backings *backings, fuse_req_t request, struct backing *backing)
{
	if (backing->id)
		close_backing(request, backing->id);
	HASH_DEL(backings->table, backing);
	free(backing);
}

static void release_idle(struct backings *backings, fuse_req_t request)
{
	struct backing *backing, *next;

	if (backings->idle == 0)
		return;
	HASH_ITER(hh, backings->table, backing, next)
	{
		if (backing->uses == 0)
			release_backing(backings, request, backing);
	}
	backings->idle = 0;
}

/* Adds the entry of a node that is not open yet. Returns NULL if memory is short. */
static struct backing *add_backing(struct backings *backings, fuse_req_t request,
				   const struct view_file *file)
{
	struct backing *backing = calloc(1, sizeof(*backing));

	if (!backing)
		return NULL;
	backing->node = file->node;
	HASH_ADD(hh, backings->table, node, sizeof(backing->node), backing);
	if (!backing->hh.tbl) {
		free(backing);
		return NULL;
	}
	if (!backings->refused && ((backings->choice == BACKING_ALL && !file->times_unreliable) ||
				   backing_is_sealed(file->fd))) {
		backing->id = open_backing(request, file->fd);
		backings->refused = backing->id == 0;
	}
	return backing;
}

int backing_begin(struct backings *backings, fuse_req_t request, const struct view_file *file)
{
	struct backing *backing;
	int id;

	if (backings->choice == BACKING_NONE)
		return 0;
	pthread_mutex_lock(&backings->lock);
	release_idle(backings, request);
	HASH_FIND(hh, backings->table, &file->node, sizeof(file->node), backing);
	if (!backing)
		backing = add_backing(backings, request, file);
	if (backing)
		backing->uses++;
	id = backing ? backing->id : -ENOMEM;
	pthread_mutex_unlock(&backings->lock);
	return id;
}

void backing_end(struct backings *backings, fuse_req_t request, uint64_t node)
{
	struct backing *backing;

	if (backings->choice == BACKING_NONE)
		return;
	pthread_mutex_lock(&backings->lock);
	HASH_FIND(hh, backings->table, &node, sizeof(node), backing);
	if (backing && --backing->uses == 0) {
		if (request || backing->id == 0)
			release_backing(backings, request, backing);
		else
			backings->idle++;
	}
	pthread_mutex_unlock(&backings->lock);
}

bool backing_was_refused(struct backings *backings)
{
	bool refused;

	pthread_mutex_lock(&backings->lock);
	refused = backings->refused;
	pthread_mutex_unlock(&backings->lock);
	return refused;
}
