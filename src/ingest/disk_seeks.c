/* SPDX-License-Identifier: MIT */
#include "ingest/disk_seeks.h"

#include "base/clock.h"
#include "ingest/disk_kind.h"

/* A seek takes at least 4 ms: the move of the head and half a turn of the platter. A cache answers
 * in 0.01 ms, a solid-state disk in 0.2 ms. */
#define SLOW_NS (2 * MS_NS)

/* A disk seeks if this many of the last reads, at most 64, were slow. */
#define SLOW_READS 8
#define WATCHED_READS 64

bool disk_seeks_is_slow(uint64_t took_ns)
{
	return took_ns >= SLOW_NS;
}

bool disk_seeks_add(struct disk_seeks *seeks, uint64_t took_ns)
{
	if (seeks->reads == WATCHED_READS) {
		seeks->reads /= 2;
		seeks->slow /= 2;
	}
	seeks->reads++;
	seeks->slow += disk_seeks_is_slow(took_ns);
	return seeks->slow >= SLOW_READS;
}

bool disk_seeks_note(struct disk_seeks *seeks, int fd, uint64_t took_ns)
{
	/* The kind of disk costs a lookup, so it is checked for slow reads only. */
	if (disk_seeks_is_slow(took_ns) && disk_kind(fd) != DISK_ROTATING)
		took_ns = 0;
	return disk_seeks_add(seeks, took_ns);
}
