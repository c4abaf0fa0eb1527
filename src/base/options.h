/* SPDX-License-Identifier: MIT */

/* Command lines. One table per command drives parsing, --help and the items of -o of mount. The
 * test that compares the manual with the options reads --help.
 *
 *	struct list_settings {
 *		enum list_format format;
 *		struct timespec newer;
 *	};
 *	static const struct option_spec list_options[] = {
 *		{.heading = "Output"},
 *		{.name = "format", .letter = 'f', .argument = "text|json",
 *		 .help = "output format", .at = offsetof(struct list_settings, format)},
 *		{.name = "newer", .argument = "WHEN", .help = "only newer files",
 *		 .at = offsetof(struct list_settings, newer), .set = set_moment},
 *		{0},
 *	};
 *	static const struct option_table list_table = {
 *		.command = "twinfs list",
 *		.usage = {"SOURCE...", "MOUNTPOINT"},
 *		.summary = "Prints the groups of equal files.",
 *		.options = {list_options, common_options},
 *	};
 *
 * Every table has -h/--help implicitly. options_parse() is for one thread at a time, like
 * getopt_long(3); the other functions are for any thread. All arguments are borrowed for the call,
 * and values point into argv.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/attributes.h"

/* Limits of a table. A table with more lists or forms of usage does not compile. */
#define OPTION_LISTS_MAX 11
#define OPTION_USAGES_MAX 3

/* Outcomes the caller must handle; failures are -errno. */
enum {
	OPTIONS_DONE = 1, /* help or the version was printed: exit successfully */
	OPTIONS_NOT_MINE = 2, /* options_apply_item(): the table has no such option */
};

/* One option, or a heading above options. */
struct option_spec {
	const char *name; /* without dashes */
	char letter; /* 0: none */
	const char *argument; /* name or values of the argument: "text|json"; NULL: none */
	/* The argument: --name alone is allowed, and an argument needs a '='. Has no letter. */
	bool can_omit;
	const char *help;
	size_t at; /* offset of the member that it sets, in the settings of the command */
	size_t given; /* offset of a bool that becomes true, too; 0: none */
	/* Sets the member.
	 *
	 * value	NULL for an option without argument, or whose argument is omitted
	 *
	 * Returns 0, OPTIONS_DONE to stop parsing successfully, -EINVAL for an invalid value,
	 * -EBADMSG for an invalid value if it has logged why, or another -errno. The parser logs
	 * each failure but -EBADMSG, which it returns as -EINVAL.
	 *
	 * NULL: without an argument, a bool becomes true. For the argument "text|json", an enum
	 * becomes the number of the word. Otherwise a const char * becomes the value, which must
	 * not be empty. */
	int (*set)(void *member, const char *value);
	const char *expects; /* for the message about an invalid value; NULL: argument */
	const char *heading; /* for a heading: all other members are unset */
};

struct option_table {
	const char *command; /* as typed: "twinfs list" */
	const char *usage[OPTION_USAGES_MAX]; /* operands, one text per form; may be empty */
	const char *summary; /* one paragraph */
	const struct option_spec *options[OPTION_LISTS_MAX]; /* each ends with {0} */

	/* Called before an option of a list is set; NULL: nothing. Returns like set(). */
	int (*note)(void *settings, const struct option_spec *list,
		    const struct option_spec *option, const char *value);
};

/* Parses the options of a command. Operands may precede options; "--" ends the options.
 *
 * argv		argv[0] is the name of the command; operands are moved to the end
 * settings	with the members of the options
 * operands	set to the index of the first operand, or argc if there is none
 *
 * Returns 0, OPTIONS_DONE, -EINVAL for wrong usage, or the result of set(). Errors are logged in
 * one line.
 */
MUST_CHECK int options_parse(const struct option_table *table, int argc, char *argv[],
			     void *settings, int *operands);

/* Applies one item of a -o list of mount, "name" or "name=value". The name is the full name of a
 * long option. The item has the effect of "--name value".
 *
 * Returns 0, OPTIONS_NOT_MINE (nothing is logged), OPTIONS_DONE, or a failure like options_parse().
 */
MUST_CHECK int options_apply_item(const struct option_table *table, const char *item,
				  void *settings);

/* Logs "COMMAND: MESSAGE; see COMMAND --help", for wrong usage that only the command can detect. */
void options_complain(const struct option_table *table, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints the help, wrapped to the width of the terminal out (40 to 100 columns), or to 80 columns.
 * The completions in data/ parse the help: the forms of usage, and the names, argument and text of
 * each option.
 */
void options_print_help(const struct option_table *table, FILE *out);

/* Returns the number of a word in a list like "text|json", or -EINVAL. */
MUST_CHECK int options_find_word(const char *words, const char *word);

#endif
