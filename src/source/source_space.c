/* SPDX-License-Identifier: MIT */
#include "source/source_space.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/size.h"

static bool has_device(const dev_t *devices, size_t count, dev_t device)
{
	for (size_t i = 0; i < count; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

static uint64_t blocks_of(const struct statvfs *one, fsblkcnt_t count)
{
	uint64_t unit = one->f_frsize ? one->f_frsize : one->f_bsize;

	return unit % SOURCE_SPACE_BLOCK == 0 ? size_multiply(count, unit / SOURCE_SPACE_BLOCK)
					      : size_multiply(count, unit) / SOURCE_SPACE_BLOCK;
}

static void add(struct statvfs *space, const struct statvfs *one)
{
	space->f_blocks = size_add(space->f_blocks, blocks_of(one, one->f_blocks));
	space->f_bfree = size_add(space->f_bfree, blocks_of(one, one->f_bfree));
	space->f_bavail = size_add(space->f_bavail, blocks_of(one, one->f_bavail));
	space->f_files = size_add(space->f_files, one->f_files);
	space->f_ffree = size_add(space->f_ffree, one->f_ffree);
	space->f_favail = size_add(space->f_favail, one->f_favail);
}

void sources_add_space(const struct sources *sources, struct statvfs *space)
{
	AUTO_FREE dev_t *devices = calloc(sources->count, sizeof(*devices));
	size_t count = 0;
	struct statvfs one;
	struct stat root;

	for (size_t i = 0; devices && i < sources->count; i++) {
		const struct source *source = &sources->list[i];

		if (atomic_load(&source->missing) || fstat(source->fd, &root) < 0 ||
		    has_device(devices, count, root.st_dev))
			continue;
		devices[count++] = root.st_dev;
		if (fstatvfs(source->fd, &one) == 0)
			add(space, &one);
	}
}
