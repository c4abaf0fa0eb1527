/* SPDX-License-Identifier: MIT */
#include "view/follow/backoff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"

/* A file is quiet if it did not change for this many times its debounce delay after a close. */
#define BACKOFF_FORGET_FACTOR 10

/* Number of doublings after which each delay has reached its limit. */
#define DOUBLINGS_MAX 20

struct backoff_file {
	uint64_t file;
	uint64_t due_ns; /* due time while the file waits, else the time when its wait ended */
	size_t place; /* in the heap */
	bool waits;
	bool taken; /* by backoff_take() */
	bool closed; /* the last change was that of a closed file */
	bool tried; /* and an attempt to compare the file failed since */
	unsigned char doublings; /* of the debounce delay, if the file changed repeatedly */
	unsigned char busy; /* attempts in a row that failed: doublings of the backoff */
};

struct backoff_slot {
	uint64_t id; /* of the file */
	struct backoff_file *file; /* NULL: the slot is free */
};

/* The smallest table, and the neighbours in it: files with consecutive ids, which mostly change and
 * are compared together, so that their slots are in the same lines of the processor's cache. */
#define SLOTS_MIN 64
#define NEIGHBOURS 8

static uint64_t delay_ns(uint64_t shortest_ms, unsigned int doublings, uint64_t longest_ms)
{
	uint64_t delay_ms = shortest_ms << doublings;

	return (delay_ms < longest_ms ? delay_ms : longest_ms) * MS_NS;
}

/* Binary heap in an array: no file is due before its parent at (place - 1) / 2. */

static void heap_put(struct backoff *backoff, size_t place, struct backoff_file *file)
{
	backoff->heap[place] = file;
	file->place = place;
}

static void heap_rise(struct backoff *backoff, struct backoff_file *file)
{
	size_t place = file->place;

	while (place > 0 && backoff->heap[(place - 1) / 2]->due_ns > file->due_ns) {
		heap_put(backoff, place, backoff->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	heap_put(backoff, place, file);
}

static void heap_sink(struct backoff *backoff, struct backoff_file *file)
{
	size_t place = file->place, below;

	for (;;) {
		below = 2 * place + 1;
		if (below + 1 < backoff->count &&
		    backoff->heap[below + 1]->due_ns < backoff->heap[below]->due_ns)
			below++;
		if (below >= backoff->count || backoff->heap[below]->due_ns >= file->due_ns)
			break;
		heap_put(backoff, place, backoff->heap[below]);
		place = below;
	}
	heap_put(backoff, place, file);
}

static void heap_remove(struct backoff *backoff, struct backoff_file *file)
{
	struct backoff_file *last = backoff->heap[--backoff->count];

	if (last == file)
		return;
	heap_put(backoff, file->place, last);
	heap_rise(backoff, last);
	heap_sink(backoff, last);
}

static int wait_until(struct backoff *backoff, struct backoff_file *file, uint64_t due_ns)
{
	int r;

	if (!file->waits) {
		r = array_reserve(&backoff->heap, &backoff->capacity, backoff->count + 1,
				  sizeof(*backoff->heap));
		if (r < 0)
			return r;
		file->waits = true;
		heap_put(backoff, backoff->count++, file);
	}
	file->taken = false;
	file->due_ns = due_ns;
	heap_rise(backoff, file);
	heap_sink(backoff, file);
	return 0;
}

/* Returns the slot that has the id, or the free slot for it. */
static struct backoff_slot *slot_of(struct backoff_slot *table, size_t slots, uint64_t id)
{
	/* 2^64 divided by the golden ratio */
	uint64_t hash = (id / NEIGHBOURS * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
	size_t at = (size_t)(hash * NEIGHBOURS + id % NEIGHBOURS) & (slots - 1);

	while (table[at].file && table[at].id != id)
		at = (at + 1) & (slots - 1);
	return &table[at];
}

static struct backoff_file *find(const struct backoff *backoff, uint64_t id)
{
	return backoff->table ? slot_of(backoff->table, backoff->slots, id)->file : NULL;
}

/* Moves the files into a new table with room for this number of files. Returns 0 or -ENOMEM. */
static int resize(struct backoff *backoff, size_t files)
{
	struct backoff_slot *table, *old = backoff->table;
	size_t slots = SLOTS_MIN;

	while (slots < 2 * files)
		slots *= 2;
	table = calloc(slots, sizeof(*table));
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < backoff->slots; i++) {
		if (old[i].file)
			*slot_of(table, slots, old[i].id) = old[i];
	}
	free(old);
	backoff->table = table;
	backoff->slots = slots;
	return 0;
}

static struct backoff_file *add(struct backoff *backoff, uint64_t id)
{
	struct backoff_file *file;

	if (2 * (backoff->files + 1) > backoff->slots && resize(backoff, backoff->files + 1) < 0)
		return NULL;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->file = id;
	*slot_of(backoff->table, backoff->slots, id) = (struct backoff_slot){id, file};
	backoff->files++;
	return file;
}

/* Returns whether the file has been quiet since it was due or its wait ended. */
static bool is_quiet(const struct backoff_file *file, uint64_t now_ns)
{
	return now_ns - file->due_ns >=
	       BACKOFF_FORGET_FACTOR *
		       delay_ns(DEBOUNCE_CLOSED_MS, file->doublings, BACKOFF_MAX_MS);
}

/* Doubles the debounce delay of a file that changed again, or resets it if the file was quiet. An
 * attempt that failed is no quiet time: if the attempt itself changes the file, or puts off what
 * changes it, both would be repeated without an end. */
static void count_doublings(struct backoff_file *file, uint64_t now_ns)
{
	if (now_ns < file->due_ns && !file->tried)
		return; /* the debounce time of the previous change has not ended */
	if (is_quiet(file, now_ns) && !file->tried)
		file->doublings = 0;
	else if (file->doublings < DOUBLINGS_MAX)
		file->doublings++;
}

int backoff_changed(struct backoff *backoff, uint64_t id, bool closed, uint64_t now_ns)
{
	struct backoff_file *file = find(backoff, id);
	uint64_t due_ns;

	if (file)
		count_doublings(file, now_ns);
	else
		file = add(backoff, id);
	if (!file)
		return -ENOMEM;
	due_ns = now_ns + delay_ns(closed ? DEBOUNCE_CLOSED_MS : DEBOUNCE_OPEN_MS, file->doublings,
				   BACKOFF_MAX_MS);
	file->closed = closed;
	file->tried = false;
	if (closed)
		file->busy = 0;
	else if (file->busy > 0 && due_ns < file->due_ns)
		due_ns = file->due_ns; /* a program has the file open, so the backoff continues */
	return wait_until(backoff, file, due_ns);
}

/* Makes the file wait with a delay that doubles each time. */
static int wait_longer(struct backoff *backoff, uint64_t id, uint64_t longest_ms, uint64_t now_ns)
{
	struct backoff_file *file = find(backoff, id);
	int r;

	if (!file)
		file = add(backoff, id);
	if (!file)
		return -ENOMEM;
	file->tried = file->closed;
	r = wait_until(backoff, file, now_ns + delay_ns(DEBOUNCE_OPEN_MS, file->busy, longest_ms));
	if (r == 0 && file->busy < DOUBLINGS_MAX)
		file->busy++;
	return r;
}

int backoff_busy(struct backoff *backoff, uint64_t id, uint64_t now_ns)
{
	return wait_longer(backoff, id, BACKOFF_MAX_MS, now_ns);
}

int backoff_failed(struct backoff *backoff, uint64_t id, uint64_t now_ns)
{
	if (backoff_waits(backoff, id, now_ns))
		return 0;
	if (backoff->count >= BACKOFF_FAILED_FILES && id != BACKOFF_ALL) {
		backoff_done(backoff, id, now_ns);
		return backoff_failed(backoff, BACKOFF_ALL, now_ns);
	}
	return wait_longer(backoff, id, BACKOFF_FAILED_MAX_MS, now_ns);
}

void backoff_done(struct backoff *backoff, uint64_t id, uint64_t now_ns)
{
	struct backoff_file *file = find(backoff, id);

	if (!file || (!file->waits && !file->taken))
		return;
	if (file->waits)
		heap_remove(backoff, file);
	file->waits = file->taken = false;
	file->tried = false;
	file->busy = 0;
	file->due_ns = now_ns;
}

bool backoff_waits(const struct backoff *backoff, uint64_t id, uint64_t now_ns)
{
	const struct backoff_file *file = find(backoff, id);

	return file && file->waits && file->due_ns > now_ns;
}

bool backoff_is_taken(const struct backoff *backoff, uint64_t id)
{
	const struct backoff_file *file = find(backoff, id);

	return file && file->taken;
}

/* Collects the heap places of all due files. The first file of the heap must be due. Visits only
 * the due files and their children. */
static int collect_due(const struct backoff *backoff, uint64_t now_ns, size_t **places,
		       size_t *count)
{
	size_t *found = malloc(backoff->count * sizeof(*found));
	size_t filled = 0, place;

	if (!found)
		return -ENOMEM;
	found[filled++] = 0;
	for (size_t next = 0; next < filled; next++) {
		for (size_t side = 1; side <= 2; side++) {
			place = 2 * found[next] + side;
			if (place < backoff->count && backoff->heap[place]->due_ns <= now_ns)
				found[filled++] = place;
		}
	}
	*places = found;
	*count = filled;
	return 0;
}

int backoff_due(const struct backoff *backoff, uint64_t now_ns, struct due_files *files)
{
	AUTO_FREE size_t *places = NULL;
	size_t due;
	int r;

	if (backoff->count == 0 || backoff->heap[0]->due_ns > now_ns)
		return 0;
	r = collect_due(backoff, now_ns, &places, &due);
	if (r == 0)
		r = array_reserve(&files->list, &files->capacity, files->count + due,
				  sizeof(*files->list));
	for (size_t i = 0; r == 0 && i < due; i++)
		files->list[files->count++] = backoff->heap[places[i]]->file;
	return r;
}

int backoff_take(struct backoff *backoff, uint64_t now_ns, bool all, struct due_files *files)
{
	size_t first = files->count;
	struct backoff_file *file;
	int r = backoff_due(backoff, all ? UINT64_MAX : now_ns, files);

	for (size_t i = first; r == 0 && i < files->count; i++) {
		file = find(backoff, files->list[i]);
		if (!file)
			continue; /* impossible, as it was in the heap */
		heap_remove(backoff, file);
		file->waits = false;
		file->taken = true;
	}
	return r;
}

int backoff_return(struct backoff *backoff, uint64_t id)
{
	struct backoff_file *file = find(backoff, id);

	return file && file->taken ? wait_until(backoff, file, file->due_ns) : 0;
}

uint64_t backoff_next_ns(const struct backoff *backoff)
{
	return backoff->count > 0 ? backoff->heap[0]->due_ns : UINT64_MAX;
}

static bool is_forgotten(const struct backoff_file *file, uint64_t now_ns)
{
	return !file->waits && !file->taken && now_ns >= file->due_ns && is_quiet(file, now_ns);
}

void backoff_sweep(struct backoff *backoff, uint64_t now_ns)
{
	struct backoff kept = {0}, before = *backoff;
	struct backoff_file *file;

	for (size_t i = 0; i < before.slots; i++)
		kept.files += before.table[i].file && !is_forgotten(before.table[i].file, now_ns);
	if (kept.files == before.files || (kept.files > 0 && resize(&kept, kept.files) < 0))
		return; /* without memory, the next call frees them */
	for (size_t i = 0; i < before.slots; i++) {
		file = before.table[i].file;
		if (file && is_forgotten(file, now_ns))
			free(file);
		else if (file)
			*slot_of(kept.table, kept.slots, file->file) = before.table[i];
	}
	free(before.table);
	backoff->table = kept.table;
	backoff->files = kept.files;
	backoff->slots = kept.slots;
}

void backoff_free(struct backoff *backoff)
{
	for (size_t i = 0; i < backoff->slots; i++)
		free(backoff->table[i].file);
	free(backoff->table);
	free(backoff->heap);
	*backoff = (struct backoff){0};
}
