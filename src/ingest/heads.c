/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "ingest/heads.h"

#include <errno.h>
#include <string.h>

static void chain(struct heads *heads, struct content *content, uint32_t index)
{
	heads->window[index].next = content->first;
	content->first = index + 1;
	content->count++;
}

static struct content *add_content(struct heads *heads, struct head *head)
{
	struct content *content = arena_take(&heads->memory, sizeof(*content));

	if (!content)
		return NULL;
	*content = (struct content){.next = head->contents};
	head->contents = content;
	return content;
}

/* Keeps the bytes for files to come. Half of the budget is for contents that were seen twice (the
 * first one's bytes were not kept): more copies of them are likely. */
static int keep_bytes(struct heads *heads, struct content *content, const uint8_t *bytes,
		      size_t length, bool seen_before)
{
	size_t budget = seen_before ? heads->budget_bytes : heads->budget_bytes / 2;

	if (heads->kept_bytes + length > budget)
		return 0;
	content->bytes = arena_take(&heads->bytes, length ? length : 1);
	if (!content->bytes)
		return -ENOMEM;
	memcpy(content->bytes, bytes, length);
	heads->kept_bytes += length;
	return 0;
}

/* ---- small files --------------------------------------------------------------------- */

static struct mark *find_mark(const struct heads *heads, const struct head *head, uint64_t hash)
{
	struct mark *mark, probe = {.key = {head, hash}};

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of it is set */
	HASH_FIND(hh, heads->marks, &probe.key, sizeof(probe.key), mark);
	return mark;
}

static int add_mark(struct heads *heads, struct head *head, struct content *content, uint64_t hash)
{
	struct mark *mark = arena_take(&heads->memory, sizeof(*mark));

	if (!mark)
		return -ENOMEM;
	*mark = (struct mark){.key = {head, hash}, .content = content};
	HASH_ADD(hh, heads->marks, key, sizeof(mark->key), mark);
	return mark->hh.tbl ? 0 : -ENOMEM;
}

/* Enters a content under its mark. Another one with the same mark stays: then the two are left to be
 * compared with everything. */
static int note_mark(struct heads *heads, struct head *head, struct content *content,
		     const uint8_t *bytes, size_t length)
{
	uint64_t hash = hash64(bytes, length, heads->seed);

	if (!find_mark(heads, head, hash))
		return add_mark(heads, head, content, hash);
	head->undecided = true;
	return 0;
}

static bool has_bytes(const struct content *content, const uint8_t *bytes, size_t length)
{
	return content && content->bytes && memcmp(content->bytes, bytes, length) == 0;
}

/* The content with these bytes, of those that were kept; NULL: there is none. The last one is asked first:
 * nearly always there is no other. */
static struct content *find_content(const struct heads *heads, const struct head *head,
				    const uint8_t *bytes, size_t length)
{
	const struct mark *mark;

	if (!head->contents || has_bytes(head->contents, bytes, length))
		return head->contents;
	mark = head->contents->next ? find_mark(heads, head, hash64(bytes, length, heads->seed))
				    : NULL;
	return mark && has_bytes(mark->content, bytes, length) ? mark->content : NULL;
}

static struct content *add_small_content(struct heads *heads, struct head *head,
					 const uint8_t *bytes, size_t length)
{
	struct content *before = head->contents, *content = add_content(heads, head);
	int r = content ? keep_bytes(heads, content, bytes, length, head->has_unkept) : -ENOMEM;

	head->undecided |= head->has_unkept;
	head->has_unkept |= r == 0 && !content->bytes;
	if (r == 0 && before && !before->next && before->bytes)
		r = note_mark(heads, head, before, before->bytes, length);
	if (r == 0 && before && content->bytes)
		r = note_mark(heads, head, content, bytes, length);
	return r < 0 ? NULL : content;
}

/* A small file: joins the content that has its bytes, or becomes a new one. */
static int add_small(struct heads *heads, struct head *head, uint32_t index, const uint8_t *bytes,
		     size_t length)
{
	struct content *content = find_content(heads, head, bytes, length);

	if (!content)
		content = add_small_content(heads, head, bytes, length);
	if (!content)
		return -ENOMEM;
	chain(heads, content, index);
	return 0;
}

/* ---- all files ------------------------------------------------------------------------ */

static struct head *find_or_add(struct heads *heads, const struct candidate *candidate)
{
	struct head *head, probe = {.key = {candidate->size, candidate->hash}};

	/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): all of it is set */
	HASH_FIND(hh, heads->table, &probe.key, sizeof(probe.key), head);
	if (head)
		return head;
	head = arena_take(&heads->memory, sizeof(*head));
	if (!head)
		return NULL;
	*head = (struct head){.key = probe.key};
	HASH_ADD(hh, heads->table, key, sizeof(head->key), head);
	return head->hh.tbl ? head : NULL;
}

int heads_add(struct heads *heads, uint32_t index, const uint8_t *bytes)
{
	const struct candidate *candidate = &heads->window[index];
	struct head *head = find_or_add(heads, candidate);

	if (!head)
		return -ENOMEM;
	head->files++;
	if (is_small(candidate->size))
		return add_small(heads, head, index, bytes, (size_t)candidate->size);
	if (!head->contents && !add_content(heads, head))
		return -ENOMEM;
	head->undecided = head->files > 1;
	chain(heads, head->contents, index);
	return 0;
}

void heads_close(struct heads *heads)
{
	arena_free(&heads->bytes);
	heads->kept_bytes = 0;
}

void heads_reset(struct heads *heads)
{
	HASH_CLEAR(hh, heads->table);
	HASH_CLEAR(hh, heads->marks);
	arena_reset(&heads->memory);
	heads_close(heads);
}
