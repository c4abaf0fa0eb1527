/* SPDX-License-Identifier: MIT */

/* Command lines. One table per command drives parsing, --help and the items of
 * mount's -o; the test that holds the man page to the options reads --help.
 *
 *	enum { OPT_FORMAT = 1, OPT_SIZE };
 *	static const struct option_spec list_options[] = {
 *		{.heading = "What is printed"},
 *		{.name = "format", .letter = 'f', .argument = "text|json", .help = "how",
 *		 .id = OPT_FORMAT},
 *		{0},
 *	};
 *	static const struct option_table list_table = {
 *		.command = "twinfs list",
 *		.usage = {"SOURCE...", "MOUNTPOINT"},
 *		.summary = "Prints the groups of equal files.",
 *		.options = {list_options, common_options},
 *		.apply = list_apply_option,
 *	};
 *
 * -h/--help is in every table by itself. options_parse() is for one thread at a
 * time, as getopt_long(3) is; the rest for any. Everything given is borrowed for
 * the call, and values point into argv.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdio.h>

#include "base/attributes.h"

/* Room in a table; an option list or form of usage too many does not compile. */
#define OPTION_LISTS_MAX 6
#define OPTION_USAGES_MAX 3

/* Outcomes the caller must handle; failures are -errno. */
enum {
	OPTIONS_DONE = 1, /* help or the like was printed: end with success */
	OPTIONS_NOT_MINE = 2, /* options_apply_item(): no option of this table */
};

/* One option, or a heading between options. */
struct option_spec {
	const char *name; /* without dashes */
	char letter; /* 0: none */
	const char *argument; /* its name, or the words there are: "text|json"; NULL: takes none */
	const char *help;
	int id; /* what apply() gets; from 1 on */
	const char *expects; /* for the message about a wrong value; NULL: argument */
	const char *heading; /* a heading: all else is unset */
};

struct option_table {
	const char *command; /* as typed: "twinfs list" */
	const char *usage[OPTION_USAGES_MAX]; /* what follows the options, one per form, if any */
	const char *summary; /* one paragraph */
	const struct option_spec *options[OPTION_LISTS_MAX]; /* each ends with {0} */

	/* Takes one option.
	 *
	 * settings	what options_parse() was given
	 * id		that of the option
	 * value	NULL for an option without argument
	 *
	 * Returns 0, OPTIONS_DONE to end the parsing with success, -EINVAL or
	 * -ERANGE for a wrong value (the parser says so) or -errno.
	 */
	int (*apply)(void *settings, int id, const char *value);
};

/* Parses the options of a command. Operands may stand between options; "--" ends
 * the options.
 *
 * argv		argv[0] is the command's name; operands are moved to the end
 * settings	for apply()
 * operands	set to the index of the first operand, argc where there is none
 *
 * Returns 0, OPTIONS_DONE, -EINVAL for wrong usage, or what apply() returned. What
 * is wrong was said on stderr, in one line.
 */
MUST_CHECK int options_parse(const struct option_table *table, int argc, char *argv[],
			     void *settings, int *operands);

/* Applies one item of a mount's -o list, "name" or "name=value" with a long option's
 * name in full, as if it had been given as "--name value".
 *
 * Returns 0, OPTIONS_NOT_MINE (nothing was said), OPTIONS_DONE, or a failure as
 * options_parse() does.
 */
MUST_CHECK int options_apply_item(const struct option_table *table, const char *item,
				  void *settings);

/* Prints "COMMAND: MESSAGE; see COMMAND --help" on stderr, for wrong usage that only
 * the command can see.
 */
void options_complain(const struct option_table *table, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints the help, wrapped to the terminal that out is, or to 80 columns. Completions in data/
 * read it: the forms of usage, and of each option names, argument and text.
 */
void options_print_help(const struct option_table *table, FILE *out);

/* The place of a word in a list of count words, or -EINVAL. */
MUST_CHECK int options_find_word(const char *word, const char *const words[], size_t count);

#endif
