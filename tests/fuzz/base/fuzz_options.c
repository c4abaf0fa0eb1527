/* SPDX-License-Identifier: MIT */

/* Command lines. No word is lost or invented. A permuted command line has the same result when it
 * is parsed again. An item of -o has the effect of the option of that name. An input has the words,
 * each with a NUL. */

#include <stdbool.h>

#include "base/options.h"
#include "fuzz.h"

#define WORDS_MAX 64

struct words {
	char *owned[WORDS_MAX]; /* as given */
	char *list[WORDS_MAX + 1]; /* as the parser leaves them */
	int count;
};

/* The first options that the parser applied. */
struct applied {
	const struct words *words;
	const char *values[WORDS_MAX];
	int ids[WORDS_MAX];
	size_t count;
};

enum {
	OPT_ALL = 1,
	OPT_FORMAT,
	OPT_FORCE,
	OPT_SIZE,
};

/* Whether the value points into one of the words. */
static bool is_in_words(const struct words *words, const char *value)
{
	for (int i = 0; i < words->count; i++) {
		const char *word = words->owned[i];

		if (value >= word && value <= word + strlen(word))
			return true;
	}
	return false;
}

static int apply(struct applied *applied, int id, const char *value)
{
	REQUIRE((value != NULL) == (id == OPT_FORMAT || id == OPT_SIZE));
	REQUIRE(value == NULL || is_in_words(applied->words, value));
	if (id == OPT_SIZE && value[0] == '-')
		return -EINVAL;
	if (id == OPT_SIZE && strlen(value) > 8)
		return -ERANGE;
	if (applied->count == ARRAY_SIZE(applied->ids))
		return 0;
	applied->ids[applied->count] = id;
	applied->values[applied->count++] = value;
	return 0;
}

static int apply_all(void *member, const char *value)
{
	return apply(member, OPT_ALL, value);
}

static int apply_format(void *member, const char *value)
{
	return apply(member, OPT_FORMAT, value);
}

static int apply_force(void *member, const char *value)
{
	return apply(member, OPT_FORCE, value);
}

static int apply_size(void *member, const char *value)
{
	return apply(member, OPT_SIZE, value);
}

static const struct option_spec first_list[] = {
	{.heading = "First"},
	{.name = "all", .letter = 'a', .help = "everything", .set = apply_all},
	{.name = "format", .letter = 'f', .argument = "KIND", .help = "how", .set = apply_format},
	{0},
};

static const struct option_spec second_list[] = {
	{.name = "force", .help = "in any case", .set = apply_force},
	{.name = "size", .letter = 's', .argument = "N", .help = "bytes", .set = apply_size},
	{0},
};

static const struct option_table table = {
	.command = "twinfs fuzz",
	.usage = {"WORD..."},
	.summary = "Takes everything.",
	.options = {first_list, second_list},
};

static void add_word(struct words *words, char *word)
{
	words->owned[words->count] = word;
	words->list[words->count++] = word;
	words->list[words->count] = NULL;
}

static void words_free(struct words *words)
{
	for (int i = 1; i < words->count; i++)
		free(words->owned[i]);
}

static void words_init(struct words *words)
{
	static char program[] = "fuzz";

	words->count = 0;
	add_word(words, program);
}

static int parse(struct words *words, struct applied *applied, int *operands)
{
	applied->words = words;
	applied->count = 0;
	*operands = 0;
	return options_parse(&table, words->count, words->list, applied, operands);
}

static bool applied_the_same(const struct applied *a, const struct applied *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (a->ids[i] != b->ids[i] || !a->values[i] != !b->values[i] ||
		    (a->values[i] && strcmp(a->values[i], b->values[i]) != 0))
			return false;
	}
	return true;
}

/* Whether each word is still in the list exactly once. */
static bool has_each_word_once(const struct words *words)
{
	for (int i = 0; i < words->count; i++) {
		int found = 0;

		for (int j = 0; j < words->count; j++)
			found += words->list[j] == words->owned[i];
		if (found != 1)
			return false;
	}
	return words->list[words->count] == NULL;
}

static void check_line(struct words *words)
{
	struct applied applied, again;
	int operands, operands_again;
	int r = parse(words, &applied, &operands);

	REQUIRE(r == 0 || r == OPTIONS_DONE || r == -EINVAL || r == -ERANGE);
	REQUIRE(has_each_word_once(words));
	if (r != 0)
		return;
	REQUIRE(operands >= 1 && operands <= words->count);
	/* glibc permutes: the options are before the operands now */
	REQUIRE(parse(words, &again, &operands_again) == 0);
	REQUIRE(operands == operands_again && applied_the_same(&applied, &again));
}

/* Applies "name=value" as an item of -o and as "--name=value". */
static void check_item(const struct words *given, char *item)
{
	struct applied as_item = {.words = given}, as_option;
	struct words words;
	int operands, r = options_apply_item(&table, item, &as_item);
	char *option = malloc(strlen(item) + 3);

	REQUIRE(option != NULL);
	(void)sprintf(option, "--%s", item);
	words_init(&words);
	add_word(&words, option);
	if (r != OPTIONS_NOT_MINE) {
		REQUIRE(parse(&words, &as_option, &operands) == r);
		REQUIRE(r != 0 || (operands == 2 && applied_the_same(&as_item, &as_option)));
	}
	words_free(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	struct words words;

	words_init(&words);
	while (input.left > 0 && words.count < WORDS_MAX)
		add_word(&words, take_text(&input));
	for (int i = 1; i < words.count; i++)
		check_item(&words, words.owned[i]);
	check_line(&words);
	words_free(&words);
	return 0;
}
