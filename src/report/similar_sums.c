/* SPDX-License-Identifier: MIT */
#include "report/similar_sums.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "base/stop.h"
#include "report/sorter.h"

/* Highest number of bytes that the sorter sorts in memory. */
#define SORTER_BYTES (16UL << 20)

/* Number of pairs whose sums are in memory. Most pairs follow themselves many times, because the
 * files of two directories have them in common, so few parts of sums reach the sorter. */
#define SLOTS 65536

void similar_sums_free(struct similar_sums *sums)
{
	free(sums->slots);
	sorter_free(sums->sorter);
	*sums = (struct similar_sums){0};
}

int similar_sums_begin(struct similar_sums *sums)
{
	sums->slots = calloc(SLOTS, sizeof(*sums->slots));
	return sums->slots ? sorter_new(&sums->sorter, SORTER_BYTES) : -ENOMEM;
}

static int move_to_sorter(struct similar_sums *sums, struct similar_sum *slot)
{
	const uint64_t key[] = {htobe64(slot->pair), htobe64(slot->bytes)};
	int r = slot->pair == 0 ? 0 : sorter_add(sums->sorter, key, sizeof(key), slot->contents);

	*slot = (struct similar_sum){0};
	return r;
}

int similar_sums_add(struct similar_sums *sums, const struct similar_sum *part)
{
	/* multiplicative hashing: Knuth, The Art of Computer Programming 3, 6.4 */
	uint64_t hash = part->pair * UINT64_C(0x9e3779b97f4a7c15);
	struct similar_sum *slot = &sums->slots[(hash >> 32) % SLOTS];
	int r = slot->pair == part->pair ? 0 : move_to_sorter(sums, slot);

	slot->pair = part->pair;
	slot->contents += part->contents;
	slot->bytes += part->bytes;
	return r;
}

static void read_next(struct similar_sums *sums)
{
	uint64_t key[2];

	sums->result = sorter_next_key(sums->sorter, key, sizeof(key), &sums->next.contents);
	if (sums->result < 0)
		return;
	sums->next.pair = be64toh(key[0]);
	sums->next.bytes = be64toh(key[1]);
}

int similar_sums_finish(struct similar_sums *sums)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < SLOTS; i++)
		r = move_to_sorter(sums, &sums->slots[i]);
	free(TAKE(sums->slots));
	if (r == 0)
		r = sorter_finish(sums->sorter);
	if (r == 0)
		read_next(sums);
	return r;
}

int similar_sums_next(struct similar_sums *sums, struct similar_sum *sum)
{
	if (stop_requested())
		return -EINTR;
	if (sums->result < 0)
		return sums->result;
	*sum = sums->next;
	for (read_next(sums); sums->result == 0 && sums->next.pair == sum->pair; read_next(sums)) {
		sum->contents += sums->next.contents;
		sum->bytes += sums->next.bytes;
	}
	return 0;
}
