/* SPDX-License-Identifier: MIT */
#include "ingest/early_tables.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/memory.h"
#include "catalog/scan.h"
#include "ingest/prefixes.h"

/* Records of both tables, and bytes of contents. 24 MiB in all. */
#define RECORDS_BYTES ((uint64_t)16 << 20)
#define CONTENT_BYTES ((uint64_t)8 << 20)
#define MEMORY_PART 16

/* Maximum number of files that are read late because they were not cached. Until then a kill loses
 * what was read of them, and a mount has to wait. */
#define LATE_FILES ((int64_t)1 << 17)

/* Lists of records with one hash. A list has less than three records when the tables are full. */
#define LISTS 65536
#define LOCKS 64

struct stripe {
	pthread_mutex_t lock; /* guards the lists n with n % LOCKS of its number, and memory */
	struct arena memory;
};

struct early_tables {
	struct stripe stripes[LOCKS];
	struct early_size **sizes; /* LISTS of them */
	struct early_content **contents; /* LISTS of them */
	_Atomic uint64_t records_left, content_left; /* bytes */
	_Atomic int64_t late_left; /* files */
	pthread_mutex_t lists_lock; /* guards the fields below */
	struct bytes wanted; /* ids of files that are the first of their size and have to be read */
	struct bytes repeated; /* of struct early_content * */
};

struct early_tables *early_tables_new(void)
{
	struct early_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	for (size_t i = 0; i < LOCKS; i++)
		pthread_mutex_init(&tables->stripes[i].lock, NULL);
	pthread_mutex_init(&tables->lists_lock, NULL);
	atomic_init(&tables->records_left, memory_at_most(RECORDS_BYTES, MEMORY_PART));
	atomic_init(&tables->late_left, LATE_FILES);
	atomic_init(&tables->content_left, memory_at_most(CONTENT_BYTES, MEMORY_PART));
	tables->sizes = calloc(LISTS, sizeof(struct early_size *));
	tables->contents = calloc(LISTS, sizeof(struct early_content *));
	if (tables->sizes && tables->contents)
		return tables;
	early_tables_free(tables);
	return NULL;
}

void early_tables_free(struct early_tables *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < LOCKS; i++) {
		pthread_mutex_destroy(&tables->stripes[i].lock);
		arena_free(&tables->stripes[i].memory);
	}
	pthread_mutex_destroy(&tables->lists_lock);
	bytes_free(&tables->wanted);
	bytes_free(&tables->repeated);
	free(tables->sizes);
	free(tables->contents);
	free(tables);
}

/* Takes bytes from a budget. Returns NULL if the budget or the memory is used up. */
static void *take(struct stripe *stripe, _Atomic uint64_t *left, size_t bytes)
{
	uint64_t before = atomic_load_explicit(left, memory_order_relaxed);

	do {
		if (before < bytes)
			return NULL;
	} while (!atomic_compare_exchange_weak(left, &before, before - bytes));
	return arena_take(&stripe->memory, bytes);
}

/* Locks the stripe of a hash. */
static struct stripe *lock_stripe(struct early_tables *tables, uint64_t hash)
{
	struct stripe *stripe = &tables->stripes[hash % LOCKS];

	pthread_mutex_lock(&stripe->lock);
	return stripe;
}

/* ---- sizes --------------------------------------------------------------------------- */

static uint64_t hash_size(uint64_t size)
{
	return hash64(&size, sizeof(size), 0);
}

/* Appends an item to one of the lists. */
static int add_item(struct early_tables *tables, struct bytes *list, const void *item,
		    size_t length)
{
	int r;

	pthread_mutex_lock(&tables->lists_lock);
	r = bytes_append(list, item, length);
	pthread_mutex_unlock(&tables->lists_lock);
	return r;
}

/* Moves all items of one of the lists to the end of *to. */
static int take_items(struct early_tables *tables, struct bytes *list, struct bytes *to)
{
	int r;

	pthread_mutex_lock(&tables->lists_lock);
	r = bytes_append(to, list->data, list->length);
	list->length = 0;
	pthread_mutex_unlock(&tables->lists_lock);
	return r;
}

static struct early_size *find_size(struct early_size *list, uint64_t size)
{
	while (list && list->size != size)
		list = list->next;
	return list;
}

bool early_add_size(struct early_tables *tables, uint64_t size, struct early_mark **mark)
{
	uint64_t hash = hash_size(size);
	struct early_size **list = &tables->sizes[hash % LISTS], *found;
	struct stripe *stripe = lock_stripe(tables, hash);
	uint64_t first = 0;

	found = find_size(*list, size);
	if (found && !found->wanted) {
		found->wanted = true;
		first = found->file;
	} else if (!found) {
		struct early_size *added = take(stripe, &tables->records_left, sizeof(*added));

		if (added) {
			*added = (struct early_size){.mark = {EARLY_SIZE},
						     .next = *list,
						     .size = size};
			*list = added;
			*mark = &added->mark;
		}
	}
	pthread_mutex_unlock(&stripe->lock);
	/* If memory is short, the first file stays unread. */
	if (first && first != EARLY_NO_FILE)
		(void)add_item(tables, &tables->wanted, &first, sizeof(first));
	return found;
}

bool early_set_size_file(struct early_tables *tables, struct early_size *size, uint64_t file)
{
	struct stripe *stripe = lock_stripe(tables, hash_size(size->size));
	bool wanted = size->wanted;

	size->file = file;
	pthread_mutex_unlock(&stripe->lock);
	return wanted && file != EARLY_NO_FILE;
}

int early_take_wanted(struct early_tables *tables, struct bytes *ids)
{
	return take_items(tables, &tables->wanted, ids);
}

bool early_may_read_late(struct early_tables *tables)
{
	return atomic_load_explicit(&tables->late_left, memory_order_relaxed) > 0 &&
	       atomic_fetch_sub(&tables->late_left, 1) > 0;
}

/* ---- contents ------------------------------------------------------------------------ */

static struct early_content *find_content(struct early_content *list, uint64_t size,
					  struct hash128 hash)
{
	while (list && (list->size != size || !hash128_equal(list->hash, hash)))
		list = list->next;
	return list;
}

int early_has_rival(struct catalog_reader *reader, const struct early_content *content, bool *has)
{
	const struct size_entry from = {.size = content->size, .prefix = prefix_of(content->hash)};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	int r = catalog_scan_sizes(reader, &from, &scan);

	if (r == 0)
		r = catalog_next_size(scan, &entry);
	*has = r == 0 && entry.size == from.size && entry.prefix == from.prefix;
	return r == -ENOENT ? 0 : r;
}

int early_take_repeated(struct early_tables *tables, struct bytes *contents)
{
	return take_items(tables, &tables->repeated, contents);
}

bool early_is_repeated(struct early_tables *tables, const struct early_content *content)
{
	struct stripe *stripe = lock_stripe(tables, content->hash.high);
	bool repeated = content->repeated;

	pthread_mutex_unlock(&stripe->lock);
	return repeated;
}

/* Notes that another large file has this prefix. If memory is short, the first file keeps its
 * content, which is right but has no hash of all bytes. */
static void note_repeated(struct early_tables *tables, struct early_content *content)
{
	if (!content->repeated)
		(void)add_item(tables, &tables->repeated, &content, sizeof(struct early_content *));
	content->repeated = true;
}

/* Returns whether a file with the hash of the content has its bytes. The bytes of the first such
 * file become those of the content. */
static bool is_equal(struct early_tables *tables, struct stripe *stripe,
		     struct early_content *content, const uint8_t *bytes, size_t length)
{
	if (content->bytes)
		return memcmp(content->bytes, bytes, length) == 0;
	content->bytes = take(stripe, &tables->content_left, length);
	if (content->bytes)
		memcpy(content->bytes, bytes, length);
	return content->bytes;
}

struct early_mark *early_add_content(struct early_tables *tables, uint64_t size,
				     const uint8_t *bytes, size_t length)
{
	struct hash128 hash = hash128(bytes, length);
	struct early_content **list = &tables->contents[hash.high % LISTS], *found;
	struct stripe *stripe = lock_stripe(tables, hash.high);
	struct early_mark *mark = NULL;

	found = find_content(*list, size, hash);
	if (found && !is_small(size)) {
		note_repeated(tables, found);
	} else if (found) {
		if (is_equal(tables, stripe, found, bytes, length))
			mark = &found->equal_mark;
	} else {
		found = take(stripe, &tables->records_left, sizeof(*found));
		if (found) {
			*found = (struct early_content){.first_mark = {EARLY_FIRST},
							.equal_mark = {EARLY_EQUAL},
							.next = *list,
							.size = size,
							.hash = hash};
			*list = found;
			mark = &found->first_mark;
		}
	}
	pthread_mutex_unlock(&stripe->lock);
	return mark;
}
