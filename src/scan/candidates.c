/* SPDX-License-Identifier: MIT */
#define HASH_NONFATAL_OOM 1
#include "scan/candidates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "index/scan.h"

/* A size that is being collected. Its unread files are at the end of the window, from first on. */
struct size_group {
	uint64_t size;
	size_t first;
	uint64_t files;
	bool rivals;
};

static const struct size_entry behind_all = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

/* Sets the position to the next size of candidates->sizes. */
static void next_size(struct candidates *candidates)
{
	candidates->position = behind_all;
	if (candidates->next_size < candidates->sizes->count)
		candidates->position = (struct size_entry){
			.size = candidates->sizes->list[candidates->next_size++]};
}

int candidates_begin(struct candidates *candidates)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	uint64_t min_size = 0;
	int r = catalog_read_begin(candidates->catalog, &reader);

	if (r == 0)
		r = catalog_get_min_size(reader, &min_size);
	candidates->position = (struct size_entry){
		.size = candidates->range.from > min_size ? candidates->range.from : min_size};
	while (r == 0 && candidates->sizes) {
		next_size(candidates);
		if (candidates->position.size >= min_size)
			break;
	}
	return r;
}

bool candidates_are_done(const struct candidates *candidates)
{
	return candidates->position.size == behind_all.size;
}

void window_free(struct window *window)
{
	free(window->list);
	*window = (struct window){0};
}

static int add(struct window *window, const struct size_entry *entry)
{
	int r = array_reserve(&window->list, &window->capacity, window->count + 1,
			      sizeof(*window->list));

	if (r == 0)
		window->list[window->count++] =
			(struct candidate){.file = entry->file, .size = entry->size};
	return r;
}

/* Ends a size after its last file. A file with a unique size need not be read. */
static void close_size(struct window *window, const struct size_group *group)
{
	if (group->files < 2)
		window->count = group->first;
	for (size_t i = group->first; i < window->count; i++)
		window->list[i].rivals = group->rivals;
}

static int is_wanted(const struct candidates *candidates, struct catalog_reader *reader,
		     const struct size_entry *entry, bool *wanted)
{
	const struct ingest_sizes *sizes = candidates->sizes;
	int error = 0, r = 0;

	*wanted = entry->prefix == 0;
	if (*wanted && candidates->skip_errors)
		r = catalog_get_error(reader, ERROR_FILE, entry->file, &error);
	if (error) /* the file could not be read, and did not change since */
		*wanted = sizes && sizes->again && sizes->again(sizes->context, entry->file);
	else if (*wanted && sizes && sizes->waits)
		*wanted = !sizes->waits(sizes->context, entry->file);
	return r;
}

/* Ends a window that became full within a size. All files of this size move to the next window. But
 * if the size fills the window alone, it is split, and its earlier files are rivals of the later
 * files. */
static void end_window(struct candidates *candidates, struct window *window,
		       struct size_group *group, const struct size_entry *next)
{
	candidates->split = group->first == 0;
	if (candidates->split) {
		candidates->position = *next;
		group->files = 2; /* next is a further file of this size */
		group->rivals = true; /* compared files of this size possibly follow after next */
		close_size(window, group);
	} else {
		candidates->position = (struct size_entry){.size = group->size};
		window->count = group->first;
	}
}

/* Outcome of collecting from candidates->position on. */
enum {
	WINDOW_FULL = 1
};

static int collect(struct candidates *candidates, struct window *window,
		   struct catalog_reader *reader)
{
	struct size_group group = {.size = candidates->position.size,
				   .first = window->count,
				   .files = candidates->split,
				   .rivals = candidates->split};
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry;
	bool wanted;
	int r = catalog_scan_sizes(reader, &candidates->position, &scan);

	while (r == 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		if (candidates->sizes ? entry.size != group.size
				      : !ingest_range_has(candidates->range, entry.size))
			break;
		if (entry.size != group.size) {
			close_size(window, &group);
			group = (struct size_group){.size = entry.size, .first = window->count};
		}
		r = is_wanted(candidates, reader, &entry, &wanted);
		if (r == 0 && wanted && window->count >= candidates->window_files) {
			end_window(candidates, window, &group, &entry);
			return WINDOW_FULL;
		}
		group.files++;
		group.rivals |= entry.prefix != 0;
		if (r == 0 && wanted)
			r = add(window, &entry);
		if (candidates->sizes && entry.prefix)
			break; /* the unread files of a size come first */
	}
	close_size(window, &group);
	candidates->split = false;
	return r == -ENOENT ? 0 : r;
}

static int collect_window(struct candidates *candidates, struct window *window,
			  struct catalog_reader *reader)
{
	int r = 0;

	while (r == 0 && !candidates_are_done(candidates)) {
		r = collect(candidates, window, reader);
		if (r == 0 && candidates->sizes)
			next_size(candidates);
		else if (r == 0)
			candidates->position = behind_all;
	}
	return r < 0 ? r : 0;
}

static int by_file(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->file < y->file ? -1 : x->file > y->file;
}

int candidates_next(struct candidates *candidates, struct window *window)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	int r = catalog_read_begin(candidates->catalog, &reader);

	window->count = 0;
	if (r == 0)
		r = collect_window(candidates, window, reader);
	if (r == 0 && window->count > 1)
		qsort(window->list, window->count, sizeof(*window->list), by_file);
	return r;
}

/* ---- prefixes ------------------------------------------------------------------------------- */

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
