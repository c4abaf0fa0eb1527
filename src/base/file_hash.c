/* SPDX-License-Identifier: MIT */
#include "base/file_hash.h"

#include <errno.h>
#include <stddef.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/stop.h"

#define BLOCK_BYTES ((size_t)256 << 10)

int file_hash(int fd, const struct cancellation *cancellation, struct hash128 *hash)
{
	AUTO_FREE void *block = memory_pages(BLOCK_BYTES);
	struct hash_state *state = hash_state_new();
	long got = block && state ? 1 : -ENOMEM;

	for (off_t at = 0; got > 0; at += got) {
		got = stop_requested() || cancellation_is_requested(cancellation)
			      ? -EINTR
			      : read_fully_at(fd, block, BLOCK_BYTES, at);
		if (got > 0)
			hash_state_update(state, block, (size_t)got);
	}
	if (got == 0)
		*hash = hash_state_digest(state);
	hash_state_free(state);
	return (int)got;
}
