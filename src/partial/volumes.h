/* SPDX-License-Identifier: MIT */
#ifndef PARTIAL_VOLUMES_H
#define PARTIAL_VOLUMES_H

/* Volumes: sets of files whose blocks the kernel can share. A file system is one, with all its
 * subvolumes and mounts. Files of btrfs without checksums are another one, as btrfs does not share
 * blocks between files with and without checksums. Locked by the caller. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Bytes of the identity of a volume. */
#define VOLUME_ID_BYTES 24

struct volume {
	uint8_t id[VOLUME_ID_BYTES];
	bool can_share; /* the file system shares blocks between files */
	bool reported; /* a message says that it does not */
};

struct volumes {
	struct volume *list;
	size_t count, capacity;
};

void volumes_free(struct volumes *volumes);

/* Finds the volume of a regular file that is open for reading, and adds it if it is new. Returns
 * its index or -errno. */
MUST_CHECK long volumes_find(struct volumes *volumes, int fd);

#endif
