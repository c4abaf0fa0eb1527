/* SPDX-License-Identifier: MIT */
#include "choose/question.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"
#include "choose/plan.h"
#include "choose/sorter.h"
#include "index/source.h"

/* ---- balance -------------------------------------------------------------------------------- */

/* The balance of a plan: how many copies go from each folder, how many stay in it, and where the
 * kept copies are. One thread.
 *
 * A line is for one folder, or for a folder with all its subfolders if few copies go from each of
 * them. This is the search for hierarchical heavy hitters (Cormode et al., VLDB 2003), which is
 * exact here because the folders are sorted. So the number of lines and the memory are bounded. */

/* Highest number of lines. A line has at least this part of the copies that go, or stay. */
#define BALANCE_LINES_MAX 64

struct balance_tally {
	uint64_t go; /* names that go */
	/* names of kept copies; of balance.going: in the folders from which a copy goes */
	uint64_t stay;
	uint64_t freed_bytes;
	uint64_t folders; /* folders from which a copy goes; of balance.kept: folders with one */
};

struct balance_line {
	size_t folder; /* offset in balance.paths, ends with a NUL */
	struct balance_tally tally;
};

struct balance_list {
	struct balance_line lines[BALANCE_LINES_MAX]; /* the most copies first */
	size_t count;
	struct balance_tally rest; /* of the folders without a line */
};

struct balance {
	struct balance_list going; /* folders by the copies that go */
	struct balance_list kept; /* folders by the kept copies in them */
	struct bytes paths;
};

#define CLEANUP_BALANCE CLEANUP(balance_free)

/* Highest number of bytes of keys that are sorted in memory. */
#define SORTER_BYTES (4UL << 20)

/* A name of the plan has the key of its folder in the sorter, followed by whether the name goes.
 * The number of the entry is the bytes that its act frees. The key of a folder is the number of the
 * source, most significant byte first, then each component of the path with a NUL. So a folder is
 * sorted directly before all that is in it. */
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
	struct sorter *sorter;
	uint64_t go, stay; /* all names */
	struct bytes key; /* of the current folder */
	struct balance_level *levels; /* the first is above all sources */
	size_t depth, capacity;
};

static void weighing_free(struct weighing *weighing)
{
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
	const uint8_t goes = copy->fate == FATE_REDUNDANT;
	uint64_t freed_bytes = 0;
	int r = make_key(key, &file);

	if (r == 0)
		r = bytes_append(key, &goes, sizeof(goes));
	if (r < 0)
		return r;
	if (goes && !copy->another_name && act_plan_frees(plan, group, index))
		freed_bytes = group->names[index].freed_bytes;
	weighing->go += goes;
	weighing->stay += !goes;
	return sorter_add(weighing->sorter, key->data, key->length, freed_bytes);
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

/* Adds a name to its folder. Removes the mark of a name that goes from the key. */
static int weigh_name(struct weighing *weighing, struct bytes *key, uint64_t freed_bytes)
{
	bool goes = key->data[--key->length];
	struct balance_level *level;
	int r = go_to(weighing, key);

	if (r < 0)
		return r;
	level = &weighing->levels[weighing->depth - 1];
	level->has_going = level->has_going || goes;
	level->has_kept = level->has_kept || !goes;
	level->going.go += goes;
	level->stay += !goes;
	level->going.freed_bytes = size_add(level->going.freed_bytes, freed_bytes);
	level->kept.stay += !goes;
	return 0;
}

static int weigh(struct weighing *weighing)
{
	CLEANUP_BYTES struct bytes key = {0};
	uint64_t freed_bytes;
	int r = enter(weighing, 0);

	if (r == 0)
		r = sorter_finish(weighing->sorter);
	while (r == 0 && (r = sorter_next_bytes(weighing->sorter, &key, &freed_bytes)) == 0)
		r = weigh_name(weighing, &key, freed_bytes);
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

/* Makes the balance of a plan, and rewinds the plan. The caller calls balance_free() in any case.
 * Returns 0, -EINTR if stop_requested(), or -errno.
 *
 * shown	the path of each source as the user wrote it
 */
static int balance_make(struct balance *balance, struct act_plan *plan, const char *const *shown)
{
	CLEANUP(weighing_free)
	struct weighing weighing = {.balance = balance, .shown = shown};
	int r;

	*balance = (struct balance){0};
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

static void balance_free(struct balance *balance)
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

/* Prints the balance for people, in lines of at most width columns where the names allow it. */
static void balance_print(const struct balance *balance, struct output *output, unsigned int width)
{
	print_going(balance, output, width < 4 ? 4 : width);
	print_kept(balance, output, width < 4 ? 4 : width);
}

/* ---- dialog --------------------------------------------------------------------------------- */

/* Returns the columns of the terminal of standard error, or a default if it is no terminal. */
static unsigned int dialog_width(void)
{
	unsigned int width = terminal_width(STDERR_FILENO);

	return width > 0 ? width : TERMINAL_WIDTH_DEFAULT;
}

/* Prints a text, broken between words. */
static void print_words(const char *text)
{
	size_t width = dialog_width(), used = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (used > 0 && used + 1 + length >= width) {
			(void)fputc('\n', stderr);
			used = 0;
		} else if (used > 0) {
			(void)fputc(' ', stderr);
			used++;
		}
		(void)fprintf(stderr, "%.*s", (int)length, text);
		used += length;
		text += length;
		text += *text == ' ';
	}
}

void dialog_print(const char *text)
{
	print_words(text);
	(void)fputc('\n', stderr);
}

void dialog_prompt(const char *text)
{
	print_words(text);
	(void)fputc(' ', stderr);
	(void)fflush(stderr);
}

int dialog_read(char answer[static ANSWER_SIZE])
{
	size_t length;

	if (!fgets(answer, ANSWER_SIZE, stdin)) {
		(void)fputc('\n', stderr);
		return -ENODATA;
	}
	length = strlen(answer);
	if (length > 0 && answer[length - 1] == '\n') {
		answer[length - 1] = '\0';
		return 0;
	}
	for (int c = getchar(); c != '\n' && c != EOF;)
		c = getchar();
	return 0;
}

/* ---- choice --------------------------------------------------------------------------------- */

/* Decisions of the user, group by group, like those of 'fdupes -d'. For the main thread. */

/* The dialog for one group:
 *
 *	group 3 of 120: 2 copies, 4.2 MiB each
 *	  1  stays  Photos/2019/a.jpg
 *	  2  goes   Backup/a.jpg
 *	     goes   Backup/another name of it.jpg
 *	y: as shown, 1-2: this one stays, n: all stay, a: all groups from here as shown, q: quit
 */

struct choosing {
	const struct question *question;
	struct planned_group *group; /* the current one */
	uint64_t number; /* of the group, from 1 */
	uint64_t groups;
	bool takes_all; /* all further groups go as shown */
	bool quits; /* all further groups stay */
};

/* ---- showing ------------------------------------------------------------------------------ */

static int show_name(const struct choosing *choosing, size_t index, size_t number,
		     struct output *output)
{
	const struct copies *copies = &choosing->group->copies;
	const struct copy *copy = &copies->list[index];
	const char *source = choosing->question->shown[copy->source];
	CLEANUP_BYTES struct bytes path = {0};
	int r = bytes_format(&path, "%s%s%s", source,
			     source[0] && source[strlen(source) - 1] == '/' ? "" : "/",
			     copy_path(copies, copy));

	if (r < 0)
		return r;
	if (copy->another_name)
		output_text(output, "     ");
	else
		output_format(output, "%3zu  ", number);
	output_text(output, copy->fate == FATE_KEPT ? "stays  " : "goes   ");
	output_name(output, path.data, path.length);
	output_text(output, "\n");
	return 0;
}

static int show_group(const struct choosing *choosing)
{
	const struct planned_group *group = choosing->group;
	CLEANUP_OUTPUT struct output output;
	char number[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX], size[SIZE_TEXT_MAX];
	size_t file = 0;
	int r = 0;

	output_init(&output, STDERR_FILENO);
	output.terminal = true; /* names must not control the terminal */
	output_format(&output, "\ngroup %s of %s: %zu copies, %s each\n",
		      number_format(number, choosing->number),
		      number_format(groups, choosing->groups), copies_count_inodes(&group->copies),
		      size_format(size, group->group.size));
	for (size_t i = 0; r == 0 && i < group->copies.count; i++) {
		file += !group->copies.list[i].another_name;
		r = show_name(choosing, i, file, &output);
	}
	if (group->copies.kept_must_stay)
		output_format(&output, "the first one always stays: %s\n",
			      group->copies.list[0].why);
	return r < 0 ? r : output_flush(&output);
}

/* ---- deciding ----------------------------------------------------------------------------- */

static void spare_all(struct planned_group *group)
{
	for (size_t i = 0; i < group->copies.count; i++)
		group->copies.list[i].fate = FATE_SPARED;
}

/* Parses numbers of files that stay, such as "2" or "1,3". Sets *kept to the first of them, and
 * marks all in stays. Returns whether the answer is such a list. */
static bool parse_numbers(const char *answer, size_t count, bool *stays, size_t *kept)
{
	bool any = false;

	while (*answer) {
		unsigned long number;
		char *end;

		if (!isdigit((unsigned char)*answer))
			return false;
		number = strtoul(answer, &end, 10);
		if (number < 1 || number > count)
			return false;
		stays[number - 1] = true;
		if (!any)
			*kept = number - 1;
		any = true;
		answer = end + strspn(end, ", ");
	}
	return any;
}

/* Returns whether the kept file has a name in the source of this copy. */
static bool shares_source(const struct planned_group *group, size_t kept, size_t index)
{
	for (size_t i = kept; i < copies_inode_end(&group->copies, kept); i++) {
		if (group->copies.list[i].source == group->copies.list[index].source)
			return true;
	}
	return false;
}

/* Moves the names of the kept file to the front. */
static int put_first(struct planned_group *group, size_t kept)
{
	struct copies *copies = &group->copies;
	size_t count = copies_inode_end(copies, kept) - kept;
	AUTO_FREE struct copy *list = calloc(count, sizeof(*list));
	AUTO_FREE struct planned_name *names = calloc(count, sizeof(*names));

	if (!list || !names)
		return -ENOMEM;
	memcpy(list, copies->list + kept, count * sizeof(*list));
	memcpy(names, group->names + kept, count * sizeof(*names));
	memmove(copies->list + count, copies->list, kept * sizeof(*list));
	memmove(group->names + count, group->names, kept * sizeof(*names));
	memcpy(copies->list, list, count * sizeof(*list));
	memcpy(group->names, names, count * sizeof(*names));
	return 0;
}

static enum emptied_place place_of(const struct choosing *choosing, size_t name)
{
	return planned_place(choosing->group, choosing->question->sources, name);
}

/* Returns the place of the name that lasts longest of a file, given by its number. */
static enum emptied_place place_of_file(const struct choosing *choosing, size_t chosen)
{
	const struct copies *copies = &choosing->group->copies;
	enum emptied_place best = PLACE_MEMORY;
	size_t file = 0;

	for (size_t i = 0; i < copies->count; i++) {
		file += !copies->list[i].another_name;
		if (file - 1 == chosen && place_of(choosing, i) < best)
			best = place_of(choosing, i);
	}
	return best;
}

/* Applies the choice of files that stay; chosen is the number of the one that is kept. If it is in
 * a place that something else empties, those elsewhere stay, too. */
static int keep_files(struct choosing *choosing, const bool *stays, size_t chosen)
{
	struct planned_group *group = choosing->group;
	bool between = choosing->question->rules->between_sources;
	enum emptied_place place = place_of_file(choosing, chosen);
	size_t file = 0, kept = 0;

	for (size_t i = 0; i < group->copies.count; i++) {
		struct copy *copy = &group->copies.list[i];

		file += !copy->another_name;
		if (file - 1 == chosen && !copy->another_name)
			kept = i;
		if (file - 1 == chosen)
			copy->fate = FATE_KEPT;
		else if (stays[file - 1] || (file == 1 && group->copies.kept_must_stay) ||
			 place_spares(place, place_of(choosing, i)))
			copy->fate = FATE_SPARED;
		else
			copy->fate = FATE_REDUNDANT;
		copy->why = "chosen";
	}
	for (size_t i = 0; between && i < group->copies.count; i++) {
		if (group->copies.list[i].fate == FATE_REDUNDANT && shares_source(group, kept, i))
			group->copies.list[i].fate = FATE_SPARED;
	}
	return put_first(group, kept);
}

/* Outcome besides -errno: the answer has no meaning. */
enum {
	NOT_UNDERSTOOD = 1,
};

static int apply_numbers(struct choosing *choosing, const char *answer)
{
	size_t count = copies_count_inodes(&choosing->group->copies), kept = 0;
	AUTO_FREE bool *stays = calloc(count + 1, sizeof(*stays));

	if (!stays)
		return -ENOMEM;
	if (!parse_numbers(answer, count, stays, &kept))
		return NOT_UNDERSTOOD;
	return keep_files(choosing, stays, kept);
}

static int apply_answer(struct choosing *choosing, const char *answer)
{
	if (strcmp(answer, "y") == 0)
		return 0;
	if (strcmp(answer, "a") == 0) {
		choosing->takes_all = true;
		return 0;
	}
	choosing->quits = strcmp(answer, "q") == 0;
	if (choosing->quits || strcmp(answer, "n") == 0) {
		spare_all(choosing->group);
		return 0;
	}
	return apply_numbers(choosing, answer);
}

static void explain_answers(size_t files)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "y: as shown, 1-%zu: this one stays, n: all stay, a: all groups from here "
		       "as shown, q: no further groups",
		       files);
	dialog_print(text);
}

/* Asks about the current group. The end of the input quits. */
static int ask_group(struct choosing *choosing)
{
	size_t files = copies_count_inodes(&choosing->group->copies);
	char answer[ANSWER_SIZE], prompt[64];
	bool explains = choosing->number == 1;
	int r = show_group(choosing);

	if (r < 0)
		return r;
	(void)snprintf(prompt, sizeof(prompt), "as shown? [y/1-%zu/n/a/q]", files);
	do {
		if (explains)
			explain_answers(files);
		dialog_prompt(prompt);
		if (dialog_read(answer) < 0)
			(void)strcpy(answer, "q");
		r = stop_requested() ? -EINTR : apply_answer(choosing, answer);
		explains = true;
	} while (r == NOT_UNDERSTOOD);
	return r;
}

/* Shows a group of the plan and asks what stays, unless the user has decided about all. */
static int decide(void *context, struct planned_group *group)
{
	struct choosing *choosing = context;
	int r;

	choosing->number++;
	choosing->group = group;
	if (choosing->takes_all)
		return 0;
	r = ask_group(choosing);
	return r < 0 ? r : choosing->quits;
}

/* ---- question ------------------------------------------------------------------------------- */

/* Appends what the act would free. */
static int append_freed(struct bytes *text, const struct question *question,
			const struct act_plan *plan)
{
	char size[SIZE_TEXT_MAX], count[NUMBER_TEXT_MAX];
	int r;

	if (question->act->kind == ACT_TRASH)
		return bytes_append_text(text, "nothing freed until the trash is emptied");
	r = bytes_format(text, "%s freed", size_format(size, plan->freed_bytes));
	if (r < 0 || plan->freed_unknown == 0)
		return r;
	return bytes_format(text, ", and unknown bytes of %s %s on an overlay",
			    number_format(count, plan->freed_unknown),
			    plural(plan->freed_unknown, "copy", "copies"));
}

static int show_balance(const struct question *question, struct act_plan *plan)
{
	CLEANUP_BALANCE struct balance balance = {0};
	CLEANUP_OUTPUT struct output output;
	int r = balance_make(&balance, plan, question->shown);

	if (r < 0)
		return r;
	output_init(&output, STDERR_FILENO);
	balance_print(&balance, &output, dialog_width());
	return output_flush(&output);
}

/* Prints the groups on standard error. */
static int list_groups(const struct question *question, struct act_plan *plan)
{
	const struct report report = {.sources = question->sources,
				      .shown = question->shown,
				      .format = REPORT_FDUPES};
	struct report_summary summary = {0};
	CLEANUP_OUTPUT struct output output;

	output_init(&output, STDERR_FILENO);
	output.terminal = true; /* names must not control the terminal */
	return act_plan_print(plan, &report, &output, &summary);
}

/* Appends what the act would do, for people. */
static int append_facts(struct bytes *text, const struct question *question,
			const struct act_plan *plan)
{
	char names[NUMBER_TEXT_MAX], groups[NUMBER_TEXT_MAX];
	int r = bytes_format(text, "%s %s of %s %s, ", number_format(names, plan->names),
			     plan->folders ? plural(plan->names, "folder", "folders")
					   : plural(plan->names, "copy", "copies"),
			     number_format(groups, plan->groups),
			     plural(plan->groups, "group", "groups"));

	if (r == 0)
		r = append_freed(text, question, plan);
	if (r == 0)
		r = bytes_append_text(text, ". Each copy is compared again first. --dry-run only "
					    "prints the copies");
	if (r == 0 && question->act->kind == ACT_REMOVE)
		r = bytes_append_text(text, ", --trash moves them to the trash");
	return r < 0 ? r : bytes_append_text(text, ".");
}

/* Appends the question. */
static int append_question(struct bytes *text, const struct question *question,
			   const struct act_plan *plan)
{
	bool is_trash = question->act->kind == ACT_TRASH;
	const char *to = question->act->destination;
	int r = bytes_format(text, "%s %s", is_trash ? "move" : question->verb,
			     plural(plan->names, "it", "them"));

	if (r == 0 && is_trash)
		r = bytes_append_text(text, " to the trash");
	else if (r == 0 && to)
		r = bytes_format(text, " to %s", quote_path(to));
	return r < 0 ? r
		     : bytes_append_text(text,
					 "? y: yes, n: no, l: list the copies, g: decide group "
					 "by group [y/N/l/g]");
}

/* Asks until the answer is another than to list the copies. The end of the input is "". */
static int read_answer(const struct question *question, struct act_plan *plan, const char *prompt,
		       char answer[static ANSWER_SIZE])
{
	for (;;) {
		int r;

		dialog_prompt(prompt);
		if (dialog_read(answer) < 0)
			answer[0] = '\0';
		if (stop_requested())
			return -EINTR;
		if (strcmp(answer, "l") != 0)
			return 0;
		r = list_groups(question, plan);
		if (r < 0)
			return r;
	}
}

int question_ask(const struct question *question, struct act_plan *plan, enum answer *answer)
{
	struct choosing choosing = {.question = question, .groups = plan->groups};
	CLEANUP_BYTES struct bytes facts = {0}, prompt = {0};
	char typed[ANSWER_SIZE];
	int r = show_balance(question, plan);

	*answer = ANSWER_NO;
	if (r == 0)
		r = append_facts(&facts, question, plan);
	if (r == 0)
		r = append_question(&prompt, question, plan);
	if (r < 0 || !bytes_text(&facts) || !bytes_text(&prompt))
		return r < 0 ? r : -ENOMEM;
	dialog_print(bytes_text(&facts));
	r = read_answer(question, plan, bytes_text(&prompt), typed);
	if (r < 0)
		return r;
	if (typed[0] == 'y' || typed[0] == 'Y')
		*answer = ANSWER_YES;
	if (strcmp(typed, "g") != 0)
		return 0;
	*answer = ANSWER_CHOSEN;
	return act_plan_sift(plan, decide, &choosing);
}
