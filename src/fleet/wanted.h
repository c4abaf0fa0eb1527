/* SPDX-License-Identifier: MIT */
#ifndef FLEET_WANTED_H
#define FLEET_WANTED_H

/* Reads the list of the files of this host whose digests other hosts need, as `twinfs-fleet wanted`
 * writes it (twinfs(5)):
 *
 *	{"format": "twinfs-wanted", "schema": 1, "host": ..., "sources": [{"path": ...}], "rows": N}
 *	{"id": ..., "source": 0, "path": ..., "size": ..., ...}                      N such lines
 *
 * The list comes from another host, so nothing in it is believed. All of it is read and checked
 * before any of it is used. Takes 40 bytes of memory and the length of its path for each file. For
 * one thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attributes.h"
#include "base/text_list.h"
#include "fleet/host_name.h"

struct wanted_row {
	uint64_t id; /* in the index of the inventory */
	uint64_t size; /* bytes */
	const char *path; /* below the source: only names, with a slash between two */
	uint32_t source; /* number in struct wanted */
	uint32_t line; /* in the file; the last ones of more than 2^32 lines have the same */
};

struct wanted {
	char host[HOST_NAME_BYTES_MAX + 1];
	uint64_t index; /* catalog_identity() of the index of the inventory */
	struct text_list sources; /* absolute paths */
	struct wanted_row *rows;
	size_t count, capacity;
	struct arena memory; /* of the paths */
};

/* Reads a list. Returns 0, -EPROTO if the list cannot be used, -EINTR if stop_requested(), or
 * another -errno. All are logged, except -EINTR and -ENOMEM. The caller must call wanted_free() in
 * all cases. */
MUST_CHECK int wanted_read(struct wanted *wanted, const char *file);
void wanted_free(struct wanted *wanted); /* host and index stay */
#define CLEANUP_WANTED CLEANUP(wanted_free)

#endif
