/* SPDX-License-Identifier: MIT */
#include "elsewhere/missing_from.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/human_text.h"
#include "base/log.h"
#include "base/path.h"
#include "base/quote.h"
#include "catalog/query.h"
#include "catalog/scan_settings.h"
#include "index/current_index.h"
#include "mountpoint/table.h"
#include "source/source.h"

void missing_from_free(struct missing_from *missing)
{
	text_list_free(&missing->given);
	text_list_free(&missing->operands);
	text_list_free(&missing->of);
	text_list_free(&missing->in);
}

/* Adds paths, with their symlinks resolved. */
static int add_resolved(struct text_list *list, char *const *paths, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		AUTO_FREE char *found = realpath(paths[i], NULL);

		r = found ? text_list_add(list, found, strlen(found)) : -errno;
		if (!found)
			log_error("cannot find %s: %s", quote_path(paths[i]), error_text(r));
	}
	return r;
}

static int add_operands(struct text_list *list, char *const *paths, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = text_list_add(list, paths[i], strlen(paths[i]));
	return r;
}

static int refuse_itself(const struct missing_from *missing, const char *folder)
{
	log_error("cannot compare %s with itself; give another folder with %s", quote_path(folder),
		  missing->option);
	return -EINVAL;
}

/* Refuses a folder that is the other one, or that shares files with it through another mount: each
 * file of it would seem to be elsewhere, too. One below the other by its path is allowed. */
static int check_pair(const struct missing_from *missing, const struct mount_table *table,
		      const char *of, const char *in)
{
	int r;

	if (strcmp(of, in) == 0)
		return refuse_itself(missing, of);
	if (path_below(of, in) || path_below(in, of))
		return 0;
	r = mount_table_overlap(table, of, in);
	if (r > 0)
		log_error("cannot compare %s with %s: both show the same files, through two "
			  "mounts; give another folder with %s",
			  quote_path(of), quote_path(in), missing->option);
	else if (r < 0)
		log_error("cannot find the mounts of %s and %s: %s", quote_path(of), quote_path(in),
			  error_text(r));
	return r == 0 ? 0 : -EINVAL;
}

static int check_distinct(const struct missing_from *missing)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < missing->of.count; i++) {
		for (size_t j = 0; r == 0 && j < missing->in.count; j++)
			r = check_pair(missing, &table, missing->of.items[i], missing->in.items[j]);
	}
	return r;
}

int missing_from_resolve(struct missing_from *missing, char *const *operands, size_t count)
{
	int r = add_resolved(&missing->in, missing->given.items, missing->given.count);

	if (r == 0)
		r = add_resolved(&missing->of, operands, count);
	return r < 0 ? r : check_distinct(missing);
}

int missing_from_begin(struct missing_from *missing, char *const *operands, size_t count)
{
	bool of_view = count == 1 && current_index_is_view(operands[0]);
	int r = missing_from_resolve(missing, operands, of_view ? 0 : count);

	if (r == 0 && !of_view)
		r = add_operands(&missing->operands, missing->given.items, missing->given.count);
	return r < 0 ? r : add_operands(&missing->operands, operands, count);
}

/* Adds the sources of a view, except those in the folders of --missing-from. */
static int add_sources(struct missing_from *missing, const struct sources *sources)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < sources->count; i++) {
		const char *path = sources->list[i].path;
		bool inside = false;

		for (size_t j = 0; j < missing->in.count && !inside; j++)
			inside = path_below(path, missing->in.items[j]);
		if (!inside)
			r = text_list_add(&missing->of, path, strlen(path));
	}
	return r == 0 && missing->of.count == 0 ? refuse_itself(missing, missing->in.items[0]) : r;
}

int missing_from_locate(struct missing_from *missing, const struct current_index *index)
{
	int r = index->given_count == 0 ? add_sources(missing, index->sources) : 0;

	missing->folders =
		(struct missing_folders){.of = missing->of.items, .in = missing->in.items};
	return r;
}

static int explain_folder(const char *folder, int fault)
{
	if (fault == MISSING_NOT_ENTERED)
		log_error("cannot compare %s: it is on another file system than the source that "
			  "contains it; add --cross-file-systems",
			  quote_path(folder));
	else
		log_error("cannot compare %s: it is not in the index; give a folder that is not "
			  "excluded and, for a view, that is in a source of the view",
			  quote_path(folder));
	return -EXDEV;
}

/* Warns if the index lacks names that a view leaves out, but not the user. Returns 0 or -errno. */
static int check_left_out(const struct current_index *index, struct catalog_reader *reader,
			  enum twinfs_exit *status)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings asked = {0};
	CLEANUP_SCAN_SETTINGS struct scan_settings known = {0};
	int r = catalog_get_scan_settings(reader, &known);

	if (r == 0)
		r = scan_settings_set_excludes(&asked, index->indexing.settings->excludes.items);
	if (r < 0 || scan_settings_exclude_all(&asked, &known))
		return r;
	*status = TWINFS_EXIT_INCOMPLETE;
	log_warning("the result is incomplete: the view leaves out names with --exclude; unmount "
		    "it, or choose another index with --index");
	return 0;
}

int missing_from_check(const struct missing_folders *folders, const struct current_index *index,
		       struct catalog_reader *reader, enum twinfs_exit *status)
{
	char number[NUMBER_TEXT_MAX];
	const char *folder = NULL;
	uint64_t count = 0;
	int r = missing_check(folders, reader, index->sources, &folder);

	if (r > 0)
		return explain_folder(folder, r);
	if (r == 0)
		r = missing_count_not_entered(folders, reader, index->sources, &count);
	if (r == 0)
		r = check_left_out(index, reader, status);
	if (r < 0 || count == 0)
		return r;
	*status = TWINFS_EXIT_INCOMPLETE;
	log_warning("the result is incomplete: %s %s on other file systems; "
		    "--cross-file-systems includes %s",
		    number_format(number, count), plural(count, "folder is", "folders are"),
		    plural(count, "it", "them"));
	return 0;
}
