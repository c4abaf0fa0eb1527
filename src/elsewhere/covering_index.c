/* SPDX-License-Identifier: MIT */
#include "elsewhere/covering_index.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "index/index_folder.h"
#include "index/known_index.h"

/* The best index so far. */
struct choice {
	const struct missing_from *missing;
	struct text_list operands; /* its sources; empty: no index was found */
	struct timespec last_scan;
};

static bool is_below_any(const char *path, const struct text_list *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		if (path_below(path, folders->items[i]))
			return true;
	}
	return false;
}

static bool all_below_any(const struct text_list *paths, const struct text_list *folders)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (!is_below_any(paths->items[i], folders))
			return false;
	}
	return true;
}

/* Returns whether the index has all folders, and something to compare them with. */
static bool covers(const struct missing_from *missing, const struct known_index *index)
{
	if (index->of_operands || !all_below_any(&missing->of, &index->sources) ||
	    !all_below_any(&missing->in, &index->sources))
		return false;
	return missing->in.count > 0 || !all_below_any(&index->sources, &missing->of);
}

static int take(struct choice *choice, const struct known_index *index)
{
	text_list_free(&choice->operands);
	choice->last_scan = index->last_scan;
	return text_list_add_all(&choice->operands, index->sources.items);
}

/* is_only: the user wants no other index. */
static int consider(struct choice *choice, const char *folder, bool is_only)
{
	CLEANUP_KNOWN_INDEX struct known_index index = {0};
	int r = known_index_read(&index, folder);
	bool of_view = index.mount_point && index.mount_point[0] != '\0';

	if (r < 0 || index.outcome != 0 || !covers(choice->missing, &index))
		return r;
	if (!is_only && (of_view || index.absent ||
			 (choice->operands.count > 0 &&
			  clock_ns(index.last_scan) <= clock_ns(choice->last_scan))))
		return 0;
	return take(choice, &index);
}

static int consider_all(struct choice *choice)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = index_folders_list(&folders);

	for (size_t i = 0; r == 0 && i < folders.count; i++)
		r = consider(choice, folders.items[i], false);
	return r;
}

static int consider_given(struct choice *choice, const char *folder)
{
	AUTO_FREE char *given = NULL;
	int r = index_folder_given(folder, &given);

	return r < 0 ? r : consider(choice, given, true);
}

int covering_index_choose(struct missing_from *missing, const char *folder)
{
	struct choice choice = {.missing = missing};
	int r = 0;

	if (folder)
		r = consider_given(&choice, folder);
	else if (missing->in.count == 0)
		r = consider_all(&choice);
	missing->operands = choice.operands;
	if (r < 0 || missing->operands.count > 0)
		return r;
	if (missing->in.count == 0) {
		log_error("no index has %s and other folders, unless a view uses it; give these "
			  "with --by, or scan a folder that contains all of them",
			  quote_path(missing->of.items[0]));
		return -ENOENT;
	}
	r = text_list_add_all(&missing->operands, missing->in.items);
	return r < 0 ? r : text_list_add_all(&missing->operands, missing->of.items);
}
