/* SPDX-License-Identifier: MIT */
#include "plan/balance.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/human_text.h"
#include "base/size.h"
#include "base/spool.h"
#include "base/stop.h"
#include "base/utf8.h"
#include "report/sorter.h"

/* Highest number of bytes of keys that are sorted in memory. */
#define SORTER_BYTES (4UL << 20)

/* A name of the plan in the spool, followed by the key of its folder. The key is the number of the
 * source, most significant byte first, then each component of the path with a NUL. So a folder is
 * sorted directly before all that is in it. */
struct balance_spooled {
	uint64_t freed_bytes;
	uint32_t key_bytes;
	bool goes;
};

#define SOURCE_BYTES sizeof(uint32_t)

/* What is left of a folder on the path to the current one, without the lines made so far. */
struct balance_level {
	size_t key_bytes;
	struct balance_tally going, kept;
	/* whether a copy goes from the folder itself, or is kept in it */
	bool has_going, has_kept;
	uint64_t stay; /* names of kept copies in the folder itself */
};

struct weighing {
	struct balance *balance;
	const char *const *shown;
	int spool;
	struct sorter *sorter;
	uint64_t end; /* of the spool */
	uint64_t go, stay; /* all names */
	struct bytes key; /* of the current folder */
	struct balance_level *levels; /* the first is above all sources */
	size_t depth, capacity;
};

static void weighing_free(struct weighing *weighing)
{
	if (weighing->spool >= 0)
		close(weighing->spool);
	sorter_free(weighing->sorter);
	bytes_free(&weighing->key);
	free(weighing->levels);
}

/* ---- collecting --------------------------------------------------------------------------- */

/* Makes the key of the folder that has a name. */
static int make_key(struct bytes *key, const struct act_file *file)
{
	const uint32_t source = htobe32(file->source);
	const char *slash = strrchr(file->path, '/');
	int r;

	key->length = 0;
	r = bytes_append(key, &source, SOURCE_BYTES);
	if (r < 0 || !slash)
		return r;
	r = bytes_append(key, file->path, (size_t)(slash - file->path) + 1);
	for (size_t i = SOURCE_BYTES; r == 0 && i < key->length; i++) {
		if (key->data[i] == '/')
			key->data[i] = '\0';
	}
	return r;
}

static int collect_name(struct weighing *weighing, const struct act_plan *plan,
			const struct planned_group *group, size_t index)
{
	const struct act_file file = planned_file(group, index);
	const struct copy *copy = &group->copies.list[index];
	struct bytes *key = &weighing->key;
	struct balance_spooled spooled;
	int r = make_key(key, &file);

	if (r < 0)
		return r;
	memset(&spooled, 0, sizeof(spooled));
	spooled.goes = copy->fate == FATE_REDUNDANT;
	spooled.key_bytes = (uint32_t)key->length;
	if (spooled.goes && !copy->another_name && act_plan_frees(plan, group, index))
		spooled.freed_bytes = group->names[index].freed_bytes;
	weighing->go += spooled.goes;
	weighing->stay += !spooled.goes;
	r = sorter_add(weighing->sorter, key->data, key->length, weighing->end);
	if (r < 0)
		return r;
	if (pwrite(weighing->spool, &spooled, sizeof(spooled), (off_t)weighing->end) !=
		    (ssize_t)sizeof(spooled) ||
	    pwrite(weighing->spool, key->data, key->length,
		   (off_t)(weighing->end + sizeof(spooled))) != (ssize_t)key->length)
		return errno ? -errno : -EIO;
	weighing->end += sizeof(spooled) + key->length;
	return 0;
}

static int collect(struct weighing *weighing, struct act_plan *plan)
{
	CLEANUP_PLANNED_GROUP struct planned_group group = {0};
	int r;

	while ((r = act_plan_next(plan, &group)) == 0) {
		for (size_t i = 0; r == 0 && i < group.copies.count; i++)
			r = collect_name(weighing, plan, &group, i);
		if (r < 0)
			return r;
		if (stop_requested())
			return -EINTR;
	}
	return r == -ENOENT ? act_plan_rewind(plan) : r;
}

/* ---- weighing ----------------------------------------------------------------------------- */

static void tally_add(struct balance_tally *sum, const struct balance_tally *tally)
{
	sum->go += tally->go;
	sum->stay += tally->stay;
	sum->freed_bytes = size_add(sum->freed_bytes, tally->freed_bytes);
	sum->folders += tally->folders;
}

/* Returns the number of names that a line must have at least. */
static uint64_t threshold(uint64_t names)
{
	return names < BALANCE_LINES_MAX ? 1 : names / BALANCE_LINES_MAX + 1;
}

/* Appends the path of the folder whose key is the first key_bytes bytes of the current key. */
static int append_folder(struct weighing *weighing, size_t key_bytes)
{
	struct bytes *paths = &weighing->balance->paths;
	const uint8_t *at = weighing->key.data + SOURCE_BYTES;
	const uint8_t *end = weighing->key.data + key_bytes;
	uint32_t source;
	size_t length;
	int r;

	memcpy(&source, weighing->key.data, SOURCE_BYTES);
	r = bytes_append_text(paths, weighing->shown[be32toh(source)]);
	for (; r == 0 && at < end; at += length + 1) {
		length = strlen((const char *)at);
		if (paths->data[paths->length - 1] != '/')
			r = bytes_append_text(paths, "/");
		if (r == 0)
			r = bytes_append(paths, at, length);
	}
	return r < 0 ? r : bytes_append(paths, "", 1);
}

/* Makes a line of a tally if it has enough names, or adds the tally to that of the folder above. */
static int list_or_pass(struct weighing *weighing, struct balance_list *list, size_t key_bytes,
			struct balance_tally *tally, struct balance_tally *above)
{
	bool by_going = list == &weighing->balance->going;
	uint64_t names = by_going ? tally->go : tally->stay;
	uint64_t least = threshold(by_going ? weighing->go : weighing->stay);
	size_t folder = weighing->balance->paths.length;
	int r;

	if (names < least || list->count == BALANCE_LINES_MAX) {
		tally_add(above, tally);
		return 0;
	}
	r = append_folder(weighing, key_bytes);
	list->lines[list->count++] = (struct balance_line){folder, *tally};
	return r;
}

/* Leaves the deepest folder. */
static int leave(struct weighing *weighing)
{
	struct balance_level *level = &weighing->levels[--weighing->depth], *above = level - 1;
	struct balance *balance = weighing->balance;
	int r;

	level->going.folders += level->has_going;
	level->kept.folders += level->has_kept;
	if (level->has_going)
		level->going.stay += level->stay;
	r = list_or_pass(weighing, &balance->going, level->key_bytes, &level->going, &above->going);
	if (r < 0)
		return r;
	return list_or_pass(weighing, &balance->kept, level->key_bytes, &level->kept, &above->kept);
}

static int enter(struct weighing *weighing, size_t key_bytes)
{
	int r = array_reserve(&weighing->levels, &weighing->capacity, weighing->depth + 1,
			      sizeof(*weighing->levels));

	if (r == 0)
		weighing->levels[weighing->depth++] =
			(struct balance_level){.key_bytes = key_bytes};
	return r;
}

/* Leaves the folders that do not contain the folder with this key, and enters those that do. */
static int go_to(struct weighing *weighing, const struct bytes *key)
{
	size_t from;
	int r = 0;

	while (r == 0 && weighing->depth > 1) {
		const struct balance_level *level = &weighing->levels[weighing->depth - 1];

		if (level->key_bytes <= key->length &&
		    memcmp(weighing->key.data, key->data, level->key_bytes) == 0)
			break;
		r = leave(weighing);
	}
	from = weighing->levels[weighing->depth - 1].key_bytes;
	weighing->key.length = 0;
	if (r == 0)
		r = bytes_append(&weighing->key, key->data, key->length);
	if (r == 0 && from == 0) {
		from = SOURCE_BYTES;
		r = enter(weighing, from);
	}
	for (size_t i = from; r == 0 && i < key->length; i++) {
		if (key->data[i] == '\0')
			r = enter(weighing, i + 1);
	}
	return r;
}

static int weigh_name(struct weighing *weighing, uint64_t offset, struct bytes *key)
{
	struct balance_spooled spooled;
	struct balance_level *level;
	int r;

	if (pread(weighing->spool, &spooled, sizeof(spooled), (off_t)offset) !=
	    (ssize_t)sizeof(spooled))
		return -EIO;
	key->length = 0;
	r = bytes_reserve(key, spooled.key_bytes);
	if (r < 0)
		return r;
	if (pread(weighing->spool, key->data, spooled.key_bytes,
		  (off_t)(offset + sizeof(spooled))) != (ssize_t)spooled.key_bytes)
		return -EIO;
	key->length = spooled.key_bytes;
	r = go_to(weighing, key);
	if (r < 0)
		return r;
	level = &weighing->levels[weighing->depth - 1];
	level->has_going = level->has_going || spooled.goes;
	level->has_kept = level->has_kept || !spooled.goes;
	level->going.go += spooled.goes;
	level->stay += !spooled.goes;
	level->going.freed_bytes = size_add(level->going.freed_bytes, spooled.freed_bytes);
	level->kept.stay += !spooled.goes;
	return 0;
}

static int weigh(struct weighing *weighing)
{
	CLEANUP_BYTES struct bytes key = {0};
	uint64_t offset;
	int r = enter(weighing, 0);

	if (r == 0)
		r = sorter_finish(weighing->sorter);
	while (r == 0 && (r = sorter_next(weighing->sorter, &offset)) == 0)
		r = weigh_name(weighing, offset, &key);
	if (r == -ENOENT)
		r = 0;
	while (r == 0 && weighing->depth > 1)
		r = leave(weighing);
	if (r == 0) {
		weighing->balance->going.rest = weighing->levels[0].going;
		weighing->balance->kept.rest = weighing->levels[0].kept;
	}
	return r;
}

/* Compares lines for qsort(3): the most names first, then the order in which they were made. */
static int compare_lines(const void *left, const void *right)
{
	const struct balance_line *a = left, *b = right;

	if (a->tally.go != b->tally.go)
		return a->tally.go < b->tally.go ? 1 : -1;
	if (a->tally.go == 0 && a->tally.stay != b->tally.stay)
		return a->tally.stay < b->tally.stay ? 1 : -1;
	return a->folder < b->folder ? -1 : 1;
}

int balance_make(struct balance *balance, struct act_plan *plan, const char *const *shown)
{
	CLEANUP(weighing_free)
	struct weighing weighing = {.balance = balance, .shown = shown, .spool = spool_open()};
	int r = weighing.spool < 0 ? weighing.spool : 0;

	*balance = (struct balance){0};
	if (r == 0)
		r = sorter_new(&weighing.sorter, SORTER_BYTES);
	if (r == 0)
		r = collect(&weighing, plan);
	if (r == 0)
		r = weigh(&weighing);
	if (r < 0)
		return r;
	qsort(balance->going.lines, balance->going.count, sizeof(struct balance_line),
	      compare_lines);
	qsort(balance->kept.lines, balance->kept.count, sizeof(struct balance_line), compare_lines);
	return 0;
}

void balance_free(struct balance *balance)
{
	bytes_free(&balance->paths);
}
