/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "view/fuse/features.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <uthash.h>

#include "base/attributes.h"
#include "base/confine.h"
#include "base/filesystem.h"
#include "view/fuse/fuse.h"

#define SWITCH_FILE "/sys/module/fuse/parameters/enable_uring"

const char *features_no_passthrough(const struct features *facts)
{
	if (!facts->library_passthrough)
		return "it needs libfuse 3.17, or twinfs built with -Dfuse=newer";
	if (!facts->kernel_passthrough)
		return "it needs Linux 6.9";
	return facts->privileged ? NULL : "only root can mount with it";
}

const char *features_no_io_uring(const struct features *facts)
{
	if (!facts->library_io_uring)
		return "it needs libfuse 3.18 with liburing, or twinfs built with "
		       "-Dfuse=newer and liburing";
	switch (facts->kernel_io_uring) {
	case FEATURE_MISSING:
		return "it needs Linux 6.14";
	case FEATURE_OFF:
		return facts->privileged ? "it is disabled in the kernel; run: echo Y >" SWITCH_FILE
					 : "it is disabled in the kernel";
	case FEATURE_ON:
		break;
	}
	return NULL;
}

enum backing_choice features_backing(const struct features *facts)
{
	if (features_no_passthrough(facts) || !facts->can_open_backing)
		return BACKING_NONE;
	return facts->wants_passthrough ? BACKING_ALL : BACKING_SEALED;
}

const char *features_read_mode(enum backing_choice choice)
{
	static const char *const names[] = {
		[BACKING_NONE] = "copy",
		[BACKING_SEALED] = "copy, passthrough of sealed files",
		[BACKING_ALL] = "passthrough",
	};

	return names[choice];
}

/* Only root can use passthrough. */
static const char *advise_reading(const struct features *facts)
{
	if (!facts->privileged)
		return NULL;
	if (facts->wants_passthrough && !features_no_passthrough(facts))
		return NULL;
	if (!facts->library_passthrough)
		return "build with -Dfuse=newer, for passthrough and io_uring";
	if (!facts->kernel_passthrough)
		return "run Linux 6.9 or later, for passthrough";
	return "mount with -o passthrough, if no program writes to files while the view reads them";
}

static const char *advise_transport(const struct features *facts)
{
	if (!facts->privileged && facts->kernel_io_uring != FEATURE_ON)
		return NULL; /* only root can change this */
	if (!facts->library_io_uring)
		return facts->library_passthrough || !facts->privileged
			       ? "build with -Dfuse=newer and liburing, for io_uring"
			       : NULL;
	if (facts->kernel_io_uring == FEATURE_MISSING)
		return "run Linux 6.14 or later, for io_uring";
	if (facts->kernel_io_uring == FEATURE_OFF)
		return "echo Y >" SWITCH_FILE " and mount with -o io_uring";
	return facts->wants_io_uring ? NULL : "mount with -o io_uring";
}

void features_advise(const struct features *facts, const char *advice[FEATURE_ADVICE_MAX])
{
	const char *all[] = {advise_reading(facts), advise_transport(facts)};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i])
			advice[count++] = all[i];
	}
	advice[count] = NULL;
}

/* Reads the kernel's parameter for io_uring. */
static enum feature_switch kernel_switch(void)
{
	AUTO_FCLOSE FILE *file = fopen(SWITCH_FILE, "re");
	int word = file ? fgetc(file) : EOF;

	if (word == EOF)
		return FEATURE_MISSING;
	return word == 'Y' || word == '1' ? FEATURE_ON : FEATURE_OFF;
}

bool features_kernel_is(const char *release, unsigned int major, unsigned int minor)
{
	char *rest;
	unsigned long first = strtoul(release, &rest, 10);
	unsigned long second = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;

	return first > major || (first == major && second >= minor);
}

void features_gather(struct features *facts)
{
	struct utsname system = {.release = ""};

	(void)uname(&system);
	*facts = (struct features){
		.library_passthrough = PASSTHROUGH_KNOWN,
		.library_io_uring = RINGS_KNOWN,
		.kernel_passthrough = features_kernel_is(system.release, 6, 9),
		/* older stable releases have this mend only from some point on (CVE-2024-44947) */
		.kernel_zeroes_stores = features_kernel_is(system.release, 6, 11),
		.kernel_io_uring = kernel_switch(),
		.privileged = geteuid() == 0,
		.can_open_backing = confine_has_capability(CAP_SYS_ADMIN),
	};
}

bool features_may_use_passthrough(void)
{
	struct features facts;

	features_gather(&facts);
	return !features_no_passthrough(&facts);
}

/* ---- backing files ------------------------------------------------------------------ */

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
