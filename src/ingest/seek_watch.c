/* SPDX-License-Identifier: MIT */
#include "ingest/seek_watch.h"

#include "ingest/device.h"

/* A head needs 4 ms and more, for half a turn of the platter and the way there; a cache answers in
 * 0.01, a solid disk in 0.2. */
#define SLOW_NS UINT64_C(2000000)

/* So many slow reads, of the last 32 to 64. */
#define SLOW_READS 8
#define WATCHED_READS 64

bool seek_watch_is_slow(uint64_t took_ns)
{
	return took_ns >= SLOW_NS;
}

bool seek_watch_add(struct seek_watch *watch, uint64_t took_ns)
{
	if (watch->reads == WATCHED_READS) {
		watch->reads /= 2;
		watch->slow /= 2;
	}
	watch->reads++;
	watch->slow += seek_watch_is_slow(took_ns);
	return watch->slow >= SLOW_READS;
}

bool seek_watch_note(struct seek_watch *watch, int fd, uint64_t took_ns)
{
	/* only a slow one is worth the question */
	if (seek_watch_is_slow(took_ns) && device_kind(fd) != DEVICE_ROTATING)
		took_ns = 0;
	return seek_watch_add(watch, took_ns);
}
