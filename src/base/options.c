/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/log.h"
#include "base/output.h"

/* Maximum number of options of a table, including --help. */
#define OPTIONS_MAX 64

/* getopt_long() identifies an option by its letter, or by this value plus its index. */
#define LONG_VALUE_BASE 256

#define MESSAGE_SIZE 8192

/* Layout of the help: maximum column of the texts, and limits of the width. */
#define HELP_COLUMN_MAX 32
#define HELP_WIDTH_MIN 40
#define HELP_WIDTH_MAX 100

#define HELP_MORE                                                                       \
	"See twinfs(1) for commands, options and exit statuses, and twinfs(5) for the " \
	"contents of a view and the output formats."

/* The last option of every table. */
static const struct option_spec help_spec = {.name = "help",
					     .letter = 'h',
					     .help = "show this help and exit"};

/* A table in the form that getopt_long() requires. */
struct parser {
	const struct option_table *table;
	const struct option_spec *specs[OPTIONS_MAX];
	size_t count;
	struct option long_options[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 2];
};

/* Returns an option or heading of a table by its number in all lists, or NULL after the last. */
static const struct option_spec *spec_at(const struct option_table *table, size_t number)
{
	for (size_t i = 0; i < OPTION_LISTS_MAX && table->options[i]; i++) {
		const struct option_spec *spec = table->options[i];

		for (; spec->name || spec->heading; spec++) {
			if (number-- == 0)
				return spec;
		}
	}
	return number == 0 ? &help_spec : NULL;
}

/* Returns the value for getopt_long(). */
static int has_argument(const struct option_spec *spec)
{
	if (!spec->argument)
		return no_argument;
	return spec->can_omit ? optional_argument : required_argument;
}

static void add_option(struct parser *parser, const struct option_spec *spec, char **letter_end)
{
	assert(parser->count < OPTIONS_MAX && !(spec->can_omit && spec->letter != 0));
	parser->long_options[parser->count] = (struct option){
		.name = spec->name,
		.has_arg = has_argument(spec),
		.val = LONG_VALUE_BASE + (int)parser->count,
	};
	parser->specs[parser->count++] = spec;
	if (spec->letter != 0) {
		*(*letter_end)++ = spec->letter;
		if (spec->argument)
			*(*letter_end)++ = ':';
	}
}

static void parser_init(struct parser *parser, const struct option_table *table)
{
	const struct option_spec *spec;
	char *letter_end = parser->letters;

	memset(parser, 0, sizeof(*parser));
	parser->table = table;
	/* makes getopt_long() distinguish a missing argument from an unknown option */
	*letter_end++ = ':';
	for (size_t i = 0; (spec = spec_at(table, i)); i++) {
		if (!spec->heading)
			add_option(parser, spec, &letter_end);
	}
}

/* Returns the option for a result of getopt_long() or the value of optopt, or NULL. */
static const struct option_spec *find_by_value(const struct parser *parser, int value)
{
	if (value >= LONG_VALUE_BASE)
		return parser->specs[value - LONG_VALUE_BASE];
	for (size_t i = 0; i < parser->count; i++) {
		if (value != 0 && parser->specs[i]->letter == value)
			return parser->specs[i];
	}
	return NULL;
}

static const struct option_spec *find_by_name(const struct option_table *table, const char *name,
					      size_t length)
{
	const struct option_spec *spec;

	for (size_t i = 0; (spec = spec_at(table, i)); i++) {
		if (!spec->heading && strlen(spec->name) == length &&
		    memcmp(spec->name, name, length) == 0)
			return spec;
	}
	return NULL;
}

/* Reports an unknown long option, or an ambiguous abbreviation. */
static void complain_about_name(const struct parser *parser, const char *argument)
{
	size_t length = strcspn(argument, "=");
	size_t matches = 0;

	for (size_t i = 0; i < parser->count; i++)
		matches += strncmp(parser->specs[i]->name, argument + 2, length - 2) == 0;
	options_complain(parser->table, "%s option %s", matches > 1 ? "ambiguous" : "unknown",
			 quote_bytes(argument, length));
}

/* Reports why getopt_long() returned ':' or '?'. */
static void complain_about_parse(const struct parser *parser, int result, char *argv[])
{
	const struct option_spec *spec = find_by_value(parser, optopt);
	char letter[] = {'-', (char)optopt, '\0'};

	if (optopt == 0)
		complain_about_name(parser, argv[optind - 1]);
	else if (!spec)
		options_complain(parser->table, "unknown option %s", quote_path(letter));
	else if (result == ':')
		options_complain(parser->table, "option '%s%s' needs %s",
				 optopt < LONG_VALUE_BASE ? "" : "--",
				 optopt < LONG_VALUE_BASE ? letter : spec->name, spec->argument);
	else
		options_complain(parser->table, "option '--%s' takes no value", spec->name);
}

/* Formats the accepted values for people: "a, b or c" for an argument "a|b|c". */
static const char *expected(const struct option_spec *spec, char *text, size_t size)
{
	const char *words = spec->expects ? spec->expects : spec->argument;
	size_t length = 0;

	for (; *words != '\0' && length + sizeof(" or ") < size; words++) {
		const char *between = strchr(words + 1, '|') ? ", " : " or ";

		if (*words == '|')
			length = (size_t)(stpcpy(text + length, between) - text);
		else
			text[length++] = *words;
	}
	text[length] = '\0';
	return text;
}

/* Calls note() of the table. */
static int note(const struct option_table *table, const struct option_spec *option,
		const char *value, void *settings)
{
	for (size_t i = 0; table->note && i < OPTION_LISTS_MAX && table->options[i]; i++) {
		const struct option_spec *spec = table->options[i];

		while ((spec->name || spec->heading) && spec != option)
			spec++;
		if (spec == option)
			return table->note(settings, table->options[i], option, value);
	}
	return 0;
}

int options_find_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (int number = 0;; number++) {
		size_t other = strcspn(words, "|");

		if (other == length && memcmp(words, word, length) == 0)
			return number;
		if (words[other] == '\0')
			return -EINVAL;
		words += other + 1;
	}
}

/* Sets the member of an option. */
static int set(const struct option_spec *spec, const char *value, void *settings)
{
	void *member = (char *)settings + spec->at;
	int word;

	if (spec->given != 0)
		*(bool *)((char *)settings + spec->given) = true;
	if (spec->set)
		return spec->set(member, value);
	if (!spec->argument) {
		*(bool *)member = true;
		return 0;
	}
	assert(value); /* an option whose argument can be omitted has a function */
	if (!strchr(spec->argument, '|')) {
		*(const char **)member = value;
		return value[0] != '\0' ? 0 : -EINVAL;
	}
	word = options_find_word(spec->argument, value);
	if (word >= 0)
		*(unsigned int *)member = (unsigned int)word; /* GCC's type of an enum */
	return word < 0 ? word : 0;
}

/* Applies an option. dashes: "--" or "-o ", for messages. */
static int apply(const struct option_table *table, const struct option_spec *spec,
		 const char *dashes, const char *value, void *settings)
{
	char words[MESSAGE_SIZE];
	int r;

	if (spec == &help_spec) {
		options_print_help(table, stdout);
		return OPTIONS_DONE;
	}
	r = note(table, spec, value, settings);
	if (r == 0)
		r = set(spec, value, settings);
	if (r == -EBADMSG)
		return -EINVAL;
	if (r == -EINVAL && value)
		options_complain(table, "option '%s%s' needs %s, not %s", dashes, spec->name,
				 expected(spec, words, sizeof(words)), quote_path(value));
	else if (r < 0 && value)
		options_complain(table, "option '%s%s' with %s: %s", dashes, spec->name,
				 quote_path(value), error_text(r));
	else if (r < 0)
		options_complain(table, "option '%s%s': %s", dashes, spec->name, error_text(r));
	return r;
}

int options_parse(const struct option_table *table, int argc, char *argv[], void *settings,
		  int *operands)
{
	struct parser parser;

	parser_init(&parser, table);
	/* 0 makes glibc discard the state of an earlier parse */
	optind = 0;
	opterr = 0;
	for (;;) {
		const struct option_spec *spec;
		int result;
		int r;

		/* NOLINTNEXTLINE(concurrency-mt-unsafe): documented as single-threaded */
		result = getopt_long(argc, argv, parser.letters, parser.long_options, NULL);
		if (result == -1)
			break;
		if (result == ':' || result == '?') {
			complain_about_parse(&parser, result, argv);
			return -EINVAL;
		}
		spec = find_by_value(&parser, result);
		assert(spec);
		r = apply(table, spec, "--", optarg, settings);
		if (r != 0)
			return r;
	}
	*operands = optind;
	return 0;
}

int options_apply_item(const struct option_table *table, const char *item, void *settings)
{
	size_t length = strcspn(item, "=");
	const char *value = item[length] == '=' ? item + length + 1 : NULL;
	const struct option_spec *spec = find_by_name(table, item, length);

	if (!spec || spec == &help_spec)
		return OPTIONS_NOT_MINE;
	if (spec->argument && !spec->can_omit && !value) {
		options_complain(table, "option '-o %s' needs %s", spec->name, spec->argument);
		return -EINVAL;
	}
	if (!spec->argument && value) {
		options_complain(table, "option '-o %s' takes no value", spec->name);
		return -EINVAL;
	}
	return apply(table, spec, "-o ", value, settings);
}

void options_complain(const struct option_table *table, const char *format, ...)
{
	char message[MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	log_error_as(table->command, "%s; see %s --help", message, table->command);
}

/* A position in the help. A word that does not fit starts a new line at indent. */
struct help_text {
	FILE *out;
	int width;
	int indent;
	int column;
};

static void put_words(struct help_text *text, const char *words)
{
	const char *gap = "";

	for (words += strspn(words, " "); *words != '\0'; words += strspn(words, " ")) {
		int length = (int)strcspn(words, " ");
		int gap_length = (int)strlen(gap);

		if (text->column > text->indent &&
		    text->column + gap_length + length > text->width) {
			(void)fprintf(text->out, "\n%*s", text->indent, "");
			text->column = text->indent;
			gap = "";
			gap_length = 0;
		}
		(void)fprintf(text->out, "%s%.*s", gap, length, words);
		text->column += gap_length + length;
		words += length;
		gap = " ";
	}
	(void)fputc('\n', text->out);
}

static int format_label(char *label, size_t size, const struct option_spec *spec)
{
	char letter[] = {'-', spec->letter, ',', '\0'};

	return snprintf(label, size, "  %3s --%s%s%s%s%s", spec->letter != 0 ? letter : "",
			spec->name, spec->can_omit ? "[" : "", spec->argument ? "=" : "",
			spec->argument ? spec->argument : "", spec->can_omit ? "]" : "");
}

/* Returns the column where the texts of all options start. */
static int help_column(const struct option_table *table)
{
	const struct option_spec *spec;
	int column = 0;

	for (size_t i = 0; (spec = spec_at(table, i)); i++) {
		int length = spec->heading ? 0 : format_label(NULL, 0, spec) + 2;

		if (length > column && length <= HELP_COLUMN_MAX)
			column = length;
	}
	return column;
}

static void print_option(const struct option_spec *spec, FILE *out, int width, int column)
{
	struct help_text text = {.out = out, .width = width, .indent = column, .column = column};
	char label[256];
	int length;

	if (spec->heading) {
		(void)fprintf(out, "\n%s:\n", spec->heading);
		return;
	}
	length = format_label(label, sizeof(label), spec);
	if (length + 2 > column)
		(void)fprintf(out, "%s\n%*s", label, column, "");
	else
		(void)fprintf(out, "%-*s", column, label);
	put_words(&text, spec->help);
}

static void print_usage(const struct option_table *table, FILE *out)
{
	(void)fprintf(out, "Usage: %s [OPTION...]", table->command);
	for (size_t i = 0; i < OPTION_USAGES_MAX && table->usage[i]; i++) {
		if (i > 0)
			(void)fprintf(out, "\n   or: %s [OPTION...]", table->command);
		(void)fprintf(out, " %s", table->usage[i]);
	}
	(void)fputs("\n\n", out);
}

void options_print_help(const struct option_table *table, FILE *out)
{
	int width = (int)terminal_width(fileno(out));
	int column = help_column(table);
	struct help_text text = {.out = out};
	const struct option_spec *spec;

	if (width == 0)
		width = TERMINAL_WIDTH_DEFAULT;
	if (width < HELP_WIDTH_MIN)
		width = HELP_WIDTH_MIN;
	if (width > HELP_WIDTH_MAX)
		width = HELP_WIDTH_MAX;
	print_usage(table, out);
	text.width = width;
	put_words(&text, table->summary);
	for (size_t i = 0; (spec = spec_at(table, i)); i++)
		print_option(spec, out, width, column);
	text.column = 0;
	(void)fputc('\n', out);
	put_words(&text, HELP_MORE);
}
