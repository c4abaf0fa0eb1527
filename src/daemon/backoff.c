/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "daemon/backoff.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#define MS_NS ((uint64_t)1000000)

/* A file has come to rest when it stays as it is for so many times its delay. */
#define SETTLE_REST 10

/* More would change nothing: the shortest delay is at its limit then. */
#define DOUBLINGS_MAX 20

struct settling_file {
	uint64_t file;
	uint64_t due_ns; /* of one that waits; of another: when it was compared */
	size_t place; /* in the heap */
	bool waits;
	unsigned char restless; /* how often its delay doubled because it changed again */
	unsigned char busy; /* how often in a row it could not be compared */
	UT_hash_handle hh;
};

static uint64_t limited_delay_ns(uint64_t shortest_ms, unsigned int doublings, uint64_t longest_ms)
{
	uint64_t delay_ms = shortest_ms << doublings;

	return (delay_ms < longest_ms ? delay_ms : longest_ms) * MS_NS;
}

static uint64_t delay_ns(uint64_t shortest_ms, unsigned int doublings)
{
	return limited_delay_ns(shortest_ms, doublings, SETTLE_MAX_MS);
}

/* The heap: binary, in an array, no file due before the one at (place - 1) / 2. */

static void heap_put(struct settling *settling, size_t place, struct settling_file *file)
{
	settling->heap[place] = file;
	file->place = place;
}

static void heap_rise(struct settling *settling, struct settling_file *file)
{
	size_t place = file->place;

	while (place > 0 && settling->heap[(place - 1) / 2]->due_ns > file->due_ns) {
		heap_put(settling, place, settling->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	heap_put(settling, place, file);
}

static void heap_sink(struct settling *settling, struct settling_file *file)
{
	size_t place = file->place, below;

	for (;;) {
		below = 2 * place + 1;
		if (below + 1 < settling->count &&
		    settling->heap[below + 1]->due_ns < settling->heap[below]->due_ns)
			below++;
		if (below >= settling->count || settling->heap[below]->due_ns >= file->due_ns)
			break;
		heap_put(settling, place, settling->heap[below]);
		place = below;
	}
	heap_put(settling, place, file);
}

static void heap_remove(struct settling *settling, struct settling_file *file)
{
	struct settling_file *last = settling->heap[--settling->count];

	if (last == file)
		return;
	heap_put(settling, file->place, last);
	heap_rise(settling, last);
	heap_sink(settling, last);
}

static int heap_reserve(struct settling *settling)
{
	size_t capacity = settling->capacity ? 2 * settling->capacity : 64;
	struct settling_file **heap;

	if (settling->count < settling->capacity)
		return 0;
	heap = reallocarray(settling->heap, capacity, sizeof(settling->heap[0]));
	if (!heap)
		return -ENOMEM;
	settling->heap = heap;
	settling->capacity = capacity;
	return 0;
}

static int wait_until(struct settling *settling, struct settling_file *file, uint64_t due_ns)
{
	int r;

	if (!file->waits) {
		r = heap_reserve(settling);
		if (r < 0)
			return r;
		file->waits = true;
		heap_put(settling, settling->count++, file);
	}
	file->due_ns = due_ns;
	heap_rise(settling, file);
	heap_sink(settling, file);
	return 0;
}

static struct settling_file *find(const struct settling *settling, uint64_t id)
{
	struct settling_file *file;

	HASH_FIND(hh, settling->table, &id, sizeof(id), file);
	return file;
}

static struct settling_file *add(struct settling *settling, uint64_t id)
{
	struct settling_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->file = id;
	HASH_ADD(hh, settling->table, file, sizeof(file->file), file);
	if (!file->hh.tbl) {
		free(file);
		return NULL;
	}
	return file;
}

/* Has a file that was due, or compared, so long ago come to rest? */
static bool has_rested(const struct settling_file *file, uint64_t now_ns)
{
	return now_ns - file->due_ns >= SETTLE_REST * delay_ns(SETTLE_CLOSED_MS, file->restless);
}

/* It changed. Takes account of how long ago it was due, or compared. */
static void count_change(struct settling_file *file, uint64_t now_ns)
{
	if (now_ns < file->due_ns)
		return; /* it had not settled: this belongs to the change before */
	if (has_rested(file, now_ns))
		file->restless = 0;
	else if (file->restless < DOUBLINGS_MAX)
		file->restless++;
}

int settling_changed(struct settling *settling, uint64_t id, bool closed, uint64_t now_ns)
{
	struct settling_file *file = find(settling, id);
	uint64_t due_ns;

	if (file)
		count_change(file, now_ns);
	else
		file = add(settling, id);
	if (!file)
		return -ENOMEM;
	due_ns = now_ns + delay_ns(closed ? SETTLE_CLOSED_MS : SETTLE_OPEN_MS, file->restless);
	if (closed)
		file->busy = 0;
	else if (file->busy > 0 && due_ns < file->due_ns)
		due_ns = file->due_ns; /* that it is open is known already */
	return wait_until(settling, file, due_ns);
}

/* It could not be compared once more. */
static int wait_longer(struct settling *settling, uint64_t id, uint64_t longest_ms, uint64_t now_ns)
{
	struct settling_file *file = find(settling, id);
	int r;

	if (!file)
		file = add(settling, id);
	if (!file)
		return -ENOMEM;
	r = wait_until(settling, file,
		       now_ns + limited_delay_ns(SETTLE_OPEN_MS, file->busy, longest_ms));
	if (r == 0 && file->busy < DOUBLINGS_MAX)
		file->busy++;
	return r;
}

int settling_busy(struct settling *settling, uint64_t id, uint64_t now_ns)
{
	return wait_longer(settling, id, SETTLE_MAX_MS, now_ns);
}

int settling_failed(struct settling *settling, uint64_t id, uint64_t now_ns)
{
	if (settling_waits(settling, id, now_ns))
		return 0;
	if (settling->count >= SETTLE_FAILED_FILES && id != SETTLE_ALL) {
		settling_done(settling, id, now_ns);
		return settling_failed(settling, SETTLE_ALL, now_ns);
	}
	return wait_longer(settling, id, SETTLE_FAILED_MAX_MS, now_ns);
}

void settling_done(struct settling *settling, uint64_t id, uint64_t now_ns)
{
	struct settling_file *file = find(settling, id);

	if (!file || !file->waits)
		return;
	heap_remove(settling, file);
	file->waits = false;
	file->busy = 0;
	file->due_ns = now_ns;
}

bool settling_waits(const struct settling *settling, uint64_t id, uint64_t now_ns)
{
	const struct settling_file *file = find(settling, id);

	return file && file->waits && file->due_ns > now_ns;
}

bool settling_is_due(const struct settling *settling, uint64_t id, uint64_t now_ns)
{
	const struct settling_file *file = find(settling, id);

	return file && file->waits && file->due_ns <= now_ns;
}

/* The places in the heap of all that are due, where the first one is. Looks only at them and at
 * those right below. */
static int collect_due(const struct settling *settling, uint64_t now_ns, size_t **places,
		       size_t *count)
{
	size_t *found = malloc(settling->count * sizeof(*found));
	size_t filled = 0, place;

	if (!found)
		return -ENOMEM;
	found[filled++] = 0;
	for (size_t next = 0; next < filled; next++) {
		for (size_t side = 1; side <= 2; side++) {
			place = 2 * found[next] + side;
			if (place < settling->count && settling->heap[place]->due_ns <= now_ns)
				found[filled++] = place;
		}
	}
	*places = found;
	*count = filled;
	return 0;
}

int settling_due(const struct settling *settling, uint64_t now_ns, bool all, uint64_t **files,
		 size_t *count)
{
	size_t *places AUTO_FREE = NULL;
	uint64_t *list;
	size_t due;
	int r;

	if (settling->count == 0 || (!all && settling->heap[0]->due_ns > now_ns))
		return 0;
	r = collect_due(settling, all ? UINT64_MAX : now_ns, &places, &due);
	if (r < 0)
		return r;
	list = reallocarray(*files, *count + due, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < due; i++)
		list[*count + i] = settling->heap[places[i]]->file;
	*files = list;
	*count += due;
	return 0;
}

uint64_t settling_next_ns(const struct settling *settling)
{
	return settling->count > 0 ? settling->heap[0]->due_ns : UINT64_MAX;
}

void settling_sweep(struct settling *settling, uint64_t now_ns)
{
	struct settling_file *file, *next;

	HASH_ITER(hh, settling->table, file, next)
	{
		if (file->waits || now_ns < file->due_ns || !has_rested(file, now_ns))
			continue;
		HASH_DEL(settling->table, file);
		free(file);
	}
}

void settling_free(struct settling *settling)
{
	struct settling_file *file = settling->table, *next;

	HASH_CLEAR(hh, settling->table);
	for (; file; file = next) {
		next = file->hh.next;
		free(file);
	}
	free(settling->heap);
	*settling = (struct settling){0};
}
