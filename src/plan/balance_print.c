/* SPDX-License-Identifier: MIT */

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
#include <string.h>

#include "base/human_text.h"
#include "base/size.h"
#include "base/utf8.h"
#include "plan/balance.h"

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
