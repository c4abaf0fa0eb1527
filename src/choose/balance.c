/* SPDX-License-Identifier: MIT */
#include "choose/balance.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/numbers.h"
#include "base/spool.h"
#include "base/stop.h"
#include "base/text.h"
#include "choose/sorter.h"

/* ---- balance -------------------------------------------------------------------------------- */

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

/* ---- collecting ----------------------------------------------------------------------------- */

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

/* ---- weighing ------------------------------------------------------------------------------- */

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

/* ---- printing ------------------------------------------------------------------------------- */

/* The balance as text for people:
 *
 *	    go  stay     frees  folder
 *	 9,120     0   1.2 GiB  Backup 2022 (300 folders)
 *	and 4 more folders: 12 go, 3 stay
 *	  kept  folder
 *	 9,110  Photos
 *
 * On a narrow terminal, the numbers and the folder are on lines of their own.
 */

#define GOING_LINES_MAX 10
#define KEPT_LINES_MAX 5

/* Columns that a path needs beside the numbers. If fewer are left, it gets a line of its own. */
#define PATH_COLUMNS_MIN 24U

/* Columns of the numbers, with two blanks after each. */
#define COUNT_COLUMNS 9U
#define SIZE_COLUMNS 10U

/* Returns the number of characters of a text. */
static size_t count_characters(const char *text, size_t length)
{
	size_t count = 0;

	for (size_t i = 0; i < length; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

/* Returns the end of a text that has at most this number of characters. */
static const char *last_characters(const char *text, size_t length, size_t characters)
{
	for (size_t left = count_characters(text, length); left > characters; left--) {
		do
			text++;
		while (((unsigned char)*text & 0xc0) == 0x80);
	}
	return text;
}

/* Prints the path of a folder in at most this number of columns; the beginning of a long path is
 * left out. */
static void print_folder(const struct balance *balance, const struct balance_line *line,
			 struct output *output, size_t columns)
{
	const char *path = (const char *)balance->paths.data + line->folder, *shown;
	CLEANUP_BYTES struct bytes text = {0};
	char more[NUMBER_TEXT_MAX + 16] = "";
	char count[NUMBER_TEXT_MAX];
	size_t room;

	if (line->tally.folders > 1)
		(void)snprintf(more, sizeof(more), " (%s folders)",
			       number_format(count, line->tally.folders));
	if (shell_name_append(&text, path, strlen(path)) < 0 || !bytes_text(&text))
		return;
	room = columns > strlen(more) + 1 ? columns - strlen(more) : 1;
	shown = bytes_text(&text);
	if (count_characters(shown, text.length) > room) {
		output_text(output, "…");
		shown = last_characters(shown, text.length, room - 1);
	}
	output_format(output, "%s%s\n", shown, more);
}

static void print_going_line(const struct balance *balance, const struct balance_line *line,
			     struct output *output, unsigned int width)
{
	unsigned int used = 2 * COUNT_COLUMNS + SIZE_COLUMNS;
	char go[NUMBER_TEXT_MAX], stay[NUMBER_TEXT_MAX], freed[SIZE_TEXT_MAX];

	number_format(go, line->tally.go);
	number_format(stay, line->tally.stay);
	size_format(freed, line->tally.freed_bytes);
	if (width >= used + PATH_COLUMNS_MIN) {
		output_format(output, "%7s  %7s  %8s  ", go, stay, freed);
		print_folder(balance, line, output, width - used);
	} else {
		output_format(output, "%s go, %s stay\n  ", go, stay);
		print_folder(balance, line, output, width > 3 ? width - 2 : 1);
	}
}

/* Adds up the folders that have no printed line. */
static struct balance_tally sum_rest(const struct balance_list *list, size_t printed)
{
	struct balance_tally rest = list->rest;

	for (size_t i = printed; i < list->count; i++) {
		rest.go += list->lines[i].tally.go;
		rest.stay += list->lines[i].tally.stay;
		rest.folders += list->lines[i].tally.folders;
	}
	return rest;
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void print_going(const struct balance *balance, struct output *output, unsigned int width)
{
	const struct balance_list *list = &balance->going;
	size_t printed = lesser(list->count, GOING_LINES_MAX);
	struct balance_tally rest = sum_rest(list, printed);
	char folders[NUMBER_TEXT_MAX], go[NUMBER_TEXT_MAX], stay[NUMBER_TEXT_MAX];

	if (width >= 2 * COUNT_COLUMNS + SIZE_COLUMNS + PATH_COLUMNS_MIN)
		output_format(output, "%7s  %7s  %8s  folder\n", "go", "stay", "freed");
	for (size_t i = 0; i < printed; i++)
		print_going_line(balance, &list->lines[i], output, width);
	if (rest.go > 0)
		output_format(output, "and %s more %s: %s go, %s stay\n",
			      number_format(folders, rest.folders),
			      plural(rest.folders, "folder", "folders"), number_format(go, rest.go),
			      number_format(stay, rest.stay));
}

static void print_kept(const struct balance *balance, struct output *output, unsigned int width)
{
	const struct balance_list *list = &balance->kept;
	size_t printed = lesser(list->count, KEPT_LINES_MAX);
	struct balance_tally rest = sum_rest(list, printed);
	char folders[NUMBER_TEXT_MAX], stay[NUMBER_TEXT_MAX];
	unsigned int used = COUNT_COLUMNS;

	output_text(output, "kept copies:\n");
	for (size_t i = 0; i < printed; i++) {
		number_format(stay, list->lines[i].tally.stay);
		output_format(output, width < used + PATH_COLUMNS_MIN ? "%s\n  " : "%7s  ", stay);
		print_folder(balance, &list->lines[i], output,
			     width < used + PATH_COLUMNS_MIN ? width - 2 : width - used);
	}
	if (rest.stay > 0)
		output_format(output, "and %s in %s more %s\n", number_format(stay, rest.stay),
			      number_format(folders, rest.folders),
			      plural(rest.folders, "folder", "folders"));
}

void balance_print(const struct balance *balance, struct output *output, unsigned int width)
{
	print_going(balance, output, width < 4 ? 4 : width);
	print_kept(balance, output, width < 4 ? 4 : width);
}
