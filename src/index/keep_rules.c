/* SPDX-License-Identifier: MIT */
#include "index/keep_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void keep_rules_free(struct keep_rules *rules)
{
	free(rules->list);
	bytes_free(&rules->text);
	text_list_free(&rules->globs);
	text_list_free(&rules->source_globs);
	*rules = (struct keep_rules){0};
}

int keep_rules_add(struct keep_rules *rules, enum keep_by by, const char *glob)
{
	int r = array_reserve(&rules->list, &rules->capacity, rules->count + 1,
			      sizeof(*rules->list));

	if (r < 0)
		return r;
	rules->list[rules->count] = (struct keep_rule){by, (uint32_t)rules->globs.count};
	if (glob)
		r = text_list_add(&rules->globs, glob, strlen(glob));
	if (r == 0)
		rules->count++;
	return r;
}

const char *keep_rules_glob(const struct keep_rules *rules, const struct keep_rule *rule,
			    uint32_t source)
{
	size_t at = source * rules->globs.count + rule->glob;

	return at < rules->source_globs.count ? rules->source_globs.items[at]
					      : rules->globs.items[rule->glob];
}

bool keep_rules_use_paths(const struct keep_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++) {
		enum keep_by by = rules->list[i].by;

		if (by == KEEP_PATH || by == KEEP_SHORTEST_PATH || by == KEEP_LONGEST_PATH)
			return true;
	}
	return false;
}

/* ---- encoding: number of rules, what each is by; the text; globs, globs for the sources ------ */

static int put_texts(struct bytes *encoded, const struct text_list *texts)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < texts->count; i++)
		r = bytes_append(encoded, texts->items[i], strlen(texts->items[i]) + 1);
	return r;
}

int keep_rules_encode(const struct keep_rules *rules, struct bytes *encoded)
{
	int r = bytes_append_number(encoded, rules->count);

	for (size_t i = 0; r == 0 && i < rules->count; i++)
		r = bytes_append_number(encoded, rules->list[i].by);
	if (r == 0 && rules->text.length > 0)
		r = bytes_append(encoded, rules->text.data, rules->text.length);
	if (r == 0)
		r = bytes_append(encoded, "", 1);
	if (r == 0)
		r = put_texts(encoded, &rules->globs);
	return r < 0 ? r : put_texts(encoded, &rules->source_globs);
}

/* Finds the text at *at and moves *at behind its NUL. Returns NULL if there is none. */
static const char *get_text(const uint8_t **at, const uint8_t *end)
{
	const char *text = (const char *)*at;
	const uint8_t *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static int get_rules(struct keep_rules *rules, const uint8_t **at, const uint8_t *end)
{
	const uint8_t *kinds = *at;
	uint64_t count, by;
	const char *text;
	int r = 0;

	if (!varint_get(at, end, &count) || count == 0 || count > (uint64_t)(end - *at))
		return -EUCLEAN;
	kinds = *at;
	for (uint64_t i = 0; i < count; i++) {
		if (!varint_get(at, end, &by) || by >= KEEP_BY_COUNT)
			return -EUCLEAN;
	}
	text = get_text(at, end);
	if (!text)
		return -EUCLEAN;
	r = bytes_append_text(&rules->text, text);
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		text = NULL;
		if (!varint_get(&kinds, end, &by) ||
		    (by == KEEP_PATH && !(text = get_text(at, end))))
			return -EUCLEAN;
		r = keep_rules_add(rules, (enum keep_by)by, text);
	}
	return r;
}

int keep_rules_decode(struct keep_rules *rules, const struct bytes *encoded)
{
	const uint8_t *at = encoded->data, *end = at + encoded->length;
	const char *text;
	int r = get_rules(rules, &at, end);

	while (r == 0 && at < end) {
		text = get_text(&at, end);
		r = text ? text_list_add(&rules->source_globs, text, strlen(text)) : -EUCLEAN;
	}
	if (r < 0)
		return r;
	if (rules->globs.count == 0)
		return rules->source_globs.count == 0 ? 0 : -EUCLEAN;
	return rules->source_globs.count % rules->globs.count == 0 ? 0 : -EUCLEAN;
}
