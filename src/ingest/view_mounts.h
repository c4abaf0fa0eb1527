/* SPDX-License-Identifier: MIT */
#ifndef INGEST_VIEW_MOUNTS_H
#define INGEST_VIEW_MOUNTS_H

/* The mounts of twinfs itself, which no walk enters: they show files that are indexed where they
 * really are. Loaded once, then read by any thread. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"

struct view_mounts {
	dev_t devices[64]; /* more than so many are not told apart */
	size_t count;
};

/* From /proc/self/mountinfo; without /proc there are none. */
void view_mounts_load(struct view_mounts *mounts);

bool view_mounts_have(const struct view_mounts *mounts, int fd);

#endif
