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

/* A small file: joins the content that has its bytes, or becomes a new one. */
static int add_small(struct heads *heads, struct head *head, uint32_t index, const uint8_t *bytes,
		     size_t length)
{
	struct content *content;
	bool unknown = false;

	for (content = head->contents; content; content = content->next) {
		if (content->bytes && memcmp(content->bytes, bytes, length) == 0)
			break;
		unknown |= !content->bytes;
	}
	if (!content) {
		head->undecided |= unknown;
		content = add_content(heads, head);
		if (!content || keep_bytes(heads, content, bytes, length, unknown) < 0)
			return -ENOMEM;
	}
	chain(heads, content, index);
	return 0;
}

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
	arena_reset(&heads->memory);
	heads_close(heads);
}
