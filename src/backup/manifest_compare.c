/* SPDX-License-Identifier: MIT */
#include "backup/manifest_compare.h"

#include <string.h>
#include <sys/stat.h>

#include "backup/manifest_reader.h"
#include "base/clock.h"

struct comparing {
	const struct manifest_comparison *comparison;
	struct manifest_reader reader; /* its name is the next one of the manifest */
	int at_end; /* MANIFEST_END after the last name, else 0 */
	struct manifest_compared *result;
};

/* ---- one name ---------------------------------------------------------------------------- */

static bool same_content(const struct manifest_name *a, const struct manifest_name *b)
{
	if (a->unread != b->unread)
		return false;
	if (a->type != b->type || a->size != b->size || a->hashed != b->hashed)
		return S_ISDIR(a->type) && S_ISDIR(b->type);
	return hash128_equal(a->hash, b->hash) && a->device == b->device &&
	       bytes_compare(&a->target, &b->target) == 0;
}

/* The time of a directory changes with each new name, which affects no name of the manifest. */
static bool same_metadata(const struct manifest_name *a, const struct manifest_name *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       (S_ISDIR(a->type) || clock_equal(a->mtime, b->mtime)) && a->links == b->links &&
	       a->flags == b->flags && xattrs_equal(&a->xattrs, &b->xattrs);
}

static enum manifest_difference find_difference(const struct manifest_name *before,
						const struct manifest_name *now)
{
	bool was_busy = S_ISREG(before->type) && !before->hashed;

	if (was_busy && S_ISREG(now->type) && now->content.length == 0)
		return MANIFEST_SAME;
	if (!same_content(before, now))
		return MANIFEST_CONTENT;
	if (bytes_compare(&before->content, &now->content) != 0)
		return MANIFEST_PLACE;
	return same_metadata(before, now) ? MANIFEST_SAME : MANIFEST_METADATA;
}

/* ---- all names --------------------------------------------------------------------------- */

static int report(struct comparing *comparing, const struct bytes *name,
		  enum manifest_difference difference)
{
	const struct manifest_comparison *comparison = comparing->comparison;

	if (difference == MANIFEST_SAME)
		return 0;
	comparing->result->affected++;
	return comparison->found(comparison->context, name, difference);
}

/* Reads the next name of the manifest, unless it has ended. */
static int advance(struct comparing *comparing)
{
	int r = comparing->at_end ? 0 : manifest_reader_next(&comparing->reader);

	if (r == MANIFEST_END)
		comparing->at_end = r;
	comparing->result->unread += r == 0 && !comparing->at_end && comparing->reader.name.unread;
	return r < 0 ? r : 0;
}

/* Compares a name of the index. Names of the manifest before it are gone. */
static int compare_name(void *context, const struct manifest_name *name)
{
	struct comparing *comparing = context;
	const struct manifest_name *before = &comparing->reader.name;
	int order = 1;
	int r = 0;

	while (r == 0 && !comparing->at_end &&
	       (order = path_order(&before->path, &name->path)) < 0) {
		r = report(comparing, &before->path, MANIFEST_GONE);
		if (r == 0)
			r = advance(comparing);
	}
	if (r < 0)
		return r;
	if (comparing->at_end || order > 0)
		return comparing->reader.format == MANIFEST_ALL
			       ? 0
			       : report(comparing, &name->path, MANIFEST_NEW);
	r = report(comparing, &before->path, find_difference(before, name));
	return r < 0 ? r : advance(comparing);
}

/* Compares the root, if the manifest has its metadata. */
static int compare_root(struct comparing *comparing, const struct manifest_names *names)
{
	CLEANUP_MANIFEST_NAME struct manifest_name now = {0};
	const struct manifest_name *before = &comparing->reader.root;
	int r;

	if (before->path.length == 0)
		return 0;
	manifest_name_clear(&now);
	r = manifest_names_root(names, &now);
	if (r < 0)
		return r;
	return report(comparing, &before->path,
		      same_metadata(before, &now) ? MANIFEST_SAME : MANIFEST_METADATA);
}

static int compare_all(struct comparing *comparing)
{
	const struct manifest_comparison *comparison = comparing->comparison;
	const struct manifest_names names = {
		.catalog = comparison->catalog,
		.reader = comparison->reader,
		.sources = comparison->sources,
		.all = comparing->reader.format == MANIFEST_ALL,
		.known = comparison->known,
		.visit = compare_name,
		.context = comparing,
	};
	struct manifest_figures figures;
	int r = compare_root(comparing, &names);

	if (r == 0)
		r = advance(comparing);
	if (r == 0)
		r = manifest_names_visit(&names, &figures);
	while (r == 0 && !comparing->at_end) {
		r = report(comparing, &comparing->reader.name.path, MANIFEST_GONE);
		if (r == 0)
			r = advance(comparing);
	}
	return r;
}

int manifest_compare(const struct manifest_comparison *comparison, struct manifest_compared *result)
{
	struct comparing comparing = {.comparison = comparison, .result = result};
	int r = manifest_reader_init(&comparing.reader, comparison->fd, comparison->path);

	*result = (struct manifest_compared){0};
	if (r == 0)
		r = compare_all(&comparing);
	manifest_reader_deinit(&comparing.reader);
	return r;
}

/* ---- directories ------------------------------------------------------------------------- */

static bool is_below(const struct bytes *path, const struct bytes *directory)
{
	size_t length = directory->length;

	return length == 0 || (path->length > length && path->data[length] == '/' &&
			       memcmp(path->data, directory->data, length) == 0);
}

int manifest_find_below(int fd, const char *path, const struct text_list *directories,
			const char **found)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	const struct bytes *name = &reader.name.path;
	size_t i = 0;
	int r = manifest_reader_init(&reader, fd, path);

	*found = NULL;
	while (r == 0 && i < directories->count && (r = manifest_reader_next(&reader)) == 0) {
		for (; !*found && i < directories->count; i++) {
			char *text = directories->items[i];
			const struct bytes directory = {.data = (uint8_t *)text,
							.length = strlen(text)};

			if (is_below(name, &directory))
				*found = text;
			else if (path_order(name, &directory) <= 0)
				break;
		}
		if (*found)
			return 0;
	}
	return r == MANIFEST_END ? 0 : r;
}
