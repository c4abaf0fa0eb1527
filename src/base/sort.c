/* SPDX-License-Identifier: MIT */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"

int numbers_by_value(const void *a, const void *b)
{
	return numbers_compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

int texts_by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t numbers_sort_once(uint64_t *list, size_t count)
{
	size_t kept = 0;

	if (count > 1)
		qsort(list, count, sizeof(*list), numbers_by_value);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || list[kept - 1] != list[i])
			list[kept++] = list[i];
	}
	return kept;
}

void sort_unless_sorted(void *list, size_t count, size_t element_bytes,
			int (*order)(const void *a, const void *b))
{
	const char *at = list;
	size_t i = 1;

	for (; i < count; i++, at += element_bytes) {
		if (order(at, at + element_bytes) > 0)
			break;
	}
	if (i < count)
		qsort(list, count, element_bytes, order);
}

size_t sorted_place(const void *wanted, const void *list, size_t count, size_t element_bytes,
		    int (*order)(const void *element, const void *wanted))
{
	size_t from = 0, to = count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (order((const char *)list + middle * element_bytes, wanted) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* ---- sorting by keys ----------------------------------------------------------------------- */

/* Fewer records are sorted by insertion, which is then faster than by digits or by qsort(3). */
#define RECORDS_MIN 64

/* Largest record that is sorted by insertion: the records are copied to the stack. */
#define INSERTED_BYTES 16

#define DIGITS 16 /* bytes of a key, the lowest one first */
#define VALUES 256

static uint8_t digit_of(const struct sort_key *key, unsigned int digit)
{
	return (uint8_t)(digit < DIGITS / 2 ? key->minor >> (8 * digit)
					    : key->major >> (8 * (digit - DIGITS / 2)));
}

/* Returns the key whose bits are set where two keys differ. */
static struct sort_key differences(const struct sort_key *keys, size_t count)
{
	struct sort_key differ = {0};

	for (size_t i = 1; i < count; i++) {
		differ.major |= keys[i].major ^ keys[0].major;
		differ.minor |= keys[i].minor ^ keys[0].minor;
	}
	return differ;
}

static void sort_by_digit(const struct sort_key *from, struct sort_key *to, size_t count,
			  unsigned int digit)
{
	size_t places[VALUES] = {0}, place = 0, next;

	for (size_t i = 0; i < count; i++)
		places[digit_of(&from[i], digit)]++;
	for (size_t i = 0; i < VALUES; i++) {
		next = place + places[i];
		places[i] = place;
		place = next;
	}
	for (size_t i = 0; i < count; i++)
		to[places[digit_of(&from[i], digit)]++] = from[i];
}

/* Sorts keys and keeps the order of equal keys: a radix sort by bytes, the lowest byte first. Bytes
 * that are the same in all keys are skipped. Returns the sorted list, which is keys or spare. */
static struct sort_key *sort_keys(struct sort_key *keys, struct sort_key *spare, size_t count)
{
	struct sort_key differ = differences(keys, count), *swap;

	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		if (!digit_of(&differ, digit))
			continue;
		sort_by_digit(keys, spare, count, digit);
		swap = keys;
		keys = spare;
		spare = swap;
	}
	return keys;
}

static int compare_keys(const struct sort_key *a, const struct sort_key *b)
{
	if (a->major != b->major)
		return a->major < b->major ? -1 : 1;
	return a->minor < b->minor ? -1 : a->minor > b->minor;
}

/* Sets the keys. Returns whether each is greater than the one before. */
static bool set_keys(const uint8_t *list, size_t count, size_t record_bytes,
		     const struct sort_order *order, struct sort_key *keys)
{
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		order->set_key(list + i * record_bytes, &keys[i]);
		keys[i].index = i;
		sorted = sorted && (i == 0 || compare_keys(&keys[i - 1], &keys[i]) < 0);
	}
	return sorted;
}

/* Sorts the records that have equal keys. */
static void sort_equal(uint8_t *list, size_t count, size_t record_bytes,
		       const struct sort_order *order, const struct sort_key *keys)
{
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1; end < count && compare_keys(&keys[i], &keys[end]) == 0;)
			end++;
		if (end > i + 1)
			sort_unless_sorted(list + i * record_bytes, end - i, record_bytes,
					   order->compare);
	}
}

/* Puts the records into the order of the keys, cycle by cycle. Changes the indexes of the keys to
 * those of their present places.
 *
 * room	for one record */
static void arrange(uint8_t *list, size_t count, size_t record_bytes, struct sort_key *sorted,
		    uint8_t *room)
{
	for (size_t i = 0, at, from; i < count; i++) {
		if (sorted[i].index == i)
			continue;
		memcpy(room, list + i * record_bytes, record_bytes);
		for (at = i; (from = sorted[at].index) != i; at = from) {
			memcpy(list + at * record_bytes, list + from * record_bytes, record_bytes);
			sorted[at].index = at;
		}
		memcpy(list + at * record_bytes, room, record_bytes);
		sorted[at].index = at;
	}
}

/* Sorts fewer than RECORDS_MIN records of at most INSERTED_BYTES each. */
static void sort_by_insertion(uint8_t *list, size_t count, size_t record_bytes,
			      const struct sort_order *order)
{
	uint8_t room[INSERTED_BYTES];
	struct sort_key keys[RECORDS_MIN], key;
	size_t at;

	if (set_keys(list, count, record_bytes, order, keys))
		return;
	for (size_t i = 1; i < count; i++) {
		key = keys[i];
		for (at = i; at > 0 && compare_keys(&keys[at - 1], &key) > 0; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
	arrange(list, count, record_bytes, keys, room);
	sort_equal(list, count, record_bytes, order, keys);
}

void key_sort(void *list, size_t count, size_t record_bytes, const struct sort_order *order)
{
	AUTO_FREE struct sort_key *keys = NULL, *spare = NULL;
	AUTO_FREE uint8_t *room = NULL;
	struct sort_key *sorted;

	if (count < 2)
		return;
	if (count < RECORDS_MIN && record_bytes <= INSERTED_BYTES) {
		sort_by_insertion(list, count, record_bytes, order);
		return;
	}
	if (count >= RECORDS_MIN) {
		keys = calloc(count, sizeof(*keys));
		spare = calloc(count, sizeof(*spare));
		room = malloc(record_bytes);
	}
	if (!keys || !spare || !room) {
		qsort(list, count, record_bytes, order->compare);
		return;
	}
	if (set_keys(list, count, record_bytes, order, keys))
		return;
	sorted = sort_keys(keys, spare, count);
	arrange(list, count, record_bytes, sorted, room);
	sort_equal(list, count, record_bytes, order, sorted);
}
