/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "scan/prefixes.h"

#include <errno.h>
#include <string.h>

static void chain(struct prefixes *prefixes, struct content *content, uint32_t index)
{
	prefixes->window[index].next = content->first;
	content->first = index + 1;
	content->count++;
}

static struct content *add_content(struct prefixes *prefixes, struct prefix *prefix)
{
	struct content *content = arena_take(&prefixes->memory, sizeof(*content));

	if (!content)
		return NULL;
	*content = (struct content){.next = prefix->contents};
	prefix->contents = content;
	return content;
}

/* Caches the bytes for comparisons with later files.
 *
 * seen_before	an earlier content of the prefix has no bytes in memory. More copies of this content
 *		are likely, so half of the budget is reserved for such contents. */
static int cache_bytes(struct prefixes *prefixes, struct content *content, const uint8_t *bytes,
		       size_t length, bool seen_before)
{
	size_t budget = seen_before ? prefixes->budget_bytes : prefixes->budget_bytes / 2;

	if (prefixes->cached_bytes + length > budget)
		return 0;
	content->bytes = arena_take(&prefixes->bytes, length ? length : 1);
	if (!content->bytes)
		return -ENOMEM;
	memcpy(content->bytes, bytes, length);
	prefixes->cached_bytes += length;
	return 0;
}

/* ---- small files --------------------------------------------------------------------- */

static struct mark *find_mark(const struct prefixes *prefixes, const struct prefix *prefix,
			      uint64_t hash)
{
	struct mark *mark, probe = {.key = {prefix, hash}};

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of it is set */
	HASH_FIND(hh, prefixes->marks, &probe.key, sizeof(probe.key), mark);
	return mark;
}

static int add_mark(struct prefixes *prefixes, struct prefix *prefix, struct content *content,
		    uint64_t hash)
{
	struct mark *mark = arena_take(&prefixes->memory, sizeof(*mark));

	if (!mark)
		return -ENOMEM;
	*mark = (struct mark){.key = {prefix, hash}, .content = content};
	HASH_ADD(hh, prefixes->marks, key, sizeof(mark->key), mark);
	return mark->hh.tbl ? 0 : -ENOMEM;
}

/* Adds the mark of a content. If two contents have the same mark, the first content keeps the mark.
 * The files of the prefix are then compared block by block. */
static int note_mark(struct prefixes *prefixes, struct prefix *prefix, struct content *content,
		     const uint8_t *bytes, size_t length)
{
	uint64_t hash = hash64(bytes, length, prefixes->seed);

	if (!find_mark(prefixes, prefix, hash))
		return add_mark(prefixes, prefix, content, hash);
	prefix->undecided = true;
	return 0;
}

static bool has_bytes(const struct content *content, const uint8_t *bytes, size_t length)
{
	return content && content->bytes && memcmp(content->bytes, bytes, length) == 0;
}

/* Finds the content with these bytes among the contents with bytes in memory. Returns NULL if none
 * is found. The newest content is checked first, as it is nearly always the only content. */
static struct content *find_content(const struct prefixes *prefixes, const struct prefix *prefix,
				    const uint8_t *bytes, size_t length)
{
	const struct mark *mark;

	if (!prefix->contents || has_bytes(prefix->contents, bytes, length))
		return prefix->contents;
	mark = prefix->contents->next
		       ? find_mark(prefixes, prefix, hash64(bytes, length, prefixes->seed))
		       : NULL;
	return mark && has_bytes(mark->content, bytes, length) ? mark->content : NULL;
}

static struct content *add_small_content(struct prefixes *prefixes, struct prefix *prefix,
					 const uint8_t *bytes, size_t length)
{
	struct content *before = prefix->contents, *content = add_content(prefixes, prefix);
	int r = content ? cache_bytes(prefixes, content, bytes, length, prefix->has_uncached)
			: -ENOMEM;

	prefix->undecided |= prefix->has_uncached;
	prefix->has_uncached |= r == 0 && !content->bytes;
	if (r == 0 && before && !before->next && before->bytes)
		r = note_mark(prefixes, prefix, before, before->bytes, length);
	if (r == 0 && before && content->bytes)
		r = note_mark(prefixes, prefix, content, bytes, length);
	return r < 0 ? NULL : content;
}

/* Adds a small file to the content that has the bytes of the file, or to a new content. */
static int add_small(struct prefixes *prefixes, struct prefix *prefix, uint32_t index,
		     const uint8_t *bytes, size_t length)
{
	struct content *content = find_content(prefixes, prefix, bytes, length);

	if (!content)
		content = add_small_content(prefixes, prefix, bytes, length);
	if (!content)
		return -ENOMEM;
	chain(prefixes, content, index);
	return 0;
}

/* ---- all files ------------------------------------------------------------------------ */

static struct prefix *find_or_add(struct prefixes *prefixes, const struct candidate *candidate)
{
	struct prefix *prefix, probe = {.key = {candidate->size, candidate->hash}};

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of it is set */
	HASH_FIND(hh, prefixes->table, &probe.key, sizeof(probe.key), prefix);
	if (prefix)
		return prefix;
	prefix = arena_take(&prefixes->memory, sizeof(*prefix));
	if (!prefix)
		return NULL;
	*prefix = (struct prefix){.key = probe.key};
	HASH_ADD(hh, prefixes->table, key, sizeof(prefix->key), prefix);
	return prefix->hh.tbl ? prefix : NULL;
}

int prefixes_add(struct prefixes *prefixes, uint32_t index, const uint8_t *bytes)
{
	const struct candidate *candidate = &prefixes->window[index];
	struct prefix *prefix = find_or_add(prefixes, candidate);

	if (!prefix)
		return -ENOMEM;
	prefix->files++;
	if (is_small(candidate->size))
		return add_small(prefixes, prefix, index, bytes, (size_t)candidate->size);
	if (!prefix->contents && !add_content(prefixes, prefix))
		return -ENOMEM;
	prefix->undecided = prefix->files > 1;
	chain(prefixes, prefix->contents, index);
	return 0;
}

void prefixes_close(struct prefixes *prefixes)
{
	arena_free(&prefixes->bytes);
	prefixes->cached_bytes = 0;
}

void prefixes_reset(struct prefixes *prefixes)
{
	HASH_CLEAR(hh, prefixes->table);
	HASH_CLEAR(hh, prefixes->marks);
	arena_reset(&prefixes->memory);
	prefixes_close(prefixes);
}
