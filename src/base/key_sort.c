/* SPDX-License-Identifier: MIT */
#include "base/key_sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/numbers.h"

/* With fewer records, qsort(3) is as fast. */
#define RECORDS_MIN 64

#define DIGITS 16 /* bytes of a key, the lowest one first */
#define VALUES 256

/* ---- keys ------------------------------------------------------------------------------ */

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

/* ---- records --------------------------------------------------------------------------- */

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

void key_sort(void *list, size_t count, size_t record_bytes, const struct sort_order *order)
{
	AUTO_FREE struct sort_key *keys = NULL, *spare = NULL;
	AUTO_FREE uint8_t *copy = NULL;
	const struct sort_key *sorted;
	uint8_t *to = list;

	if (count >= RECORDS_MIN) {
		keys = calloc(count, sizeof(*keys));
		spare = calloc(count, sizeof(*spare));
		copy = calloc(count, record_bytes);
	}
	if (!keys || !spare || !copy) {
		if (count > 1)
			qsort(list, count, record_bytes, order->compare);
		return;
	}
	if (set_keys(list, count, record_bytes, order, keys))
		return;
	memcpy(copy, list, count * record_bytes);
	sorted = sort_keys(keys, spare, count);
	for (size_t i = 0; i < count; i++)
		memcpy(to + i * record_bytes, copy + sorted[i].index * record_bytes, record_bytes);
	sort_equal(list, count, record_bytes, order, sorted);
}
