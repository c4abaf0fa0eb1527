/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/sort.h"
#include "choose/figures.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/known_index.h"
#include "index/catalog.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "scan/index_folder.h"

struct index_command_settings {
	struct common_settings common;
	bool forgets;
};

static const struct option_spec index_options[] = {
	{.heading = "Acting"},
	{
		.name = "forget",
		.help = "remove the indexes, which only makes the next scan of their sources "
			"slower; an index that is in use stays",
		.at = offsetof(struct index_command_settings, forgets),
	},
	{0},
};

/* ---- which indexes ------------------------------------------------------------------------ */

/* Adds the folder of an index by its path, or by its name in the default folder. */
static int add_given(struct text_list *folders, const char *given)
{
	CLEANUP_BYTES struct bytes path = {0};
	AUTO_FREE char *folder = NULL;
	int r;

	if (strchr(given, '/')) {
		r = index_folder_given(given, &folder);
		if (r == 0)
			r = bytes_append_text(&path, folder);
	} else {
		r = index_folders_parent(&folder);
		if (r == 0)
			r = bytes_format(&path, "%s/%s", folder, given);
	}
	return r < 0 ? r : text_list_add(folders, (const char *)path.data, path.length);
}

static int find_folders(struct text_list *folders, char *const *given, size_t count)
{
	int r = count == 0 ? index_folders_list(folders) : 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_given(folders, given[i]);
	if (r == 0 && count == 0 && folders->count > 1)
		qsort(folders->items, folders->count, sizeof(*folders->items), texts_by_bytes);
	return r;
}

/* ---- printing ------------------------------------------------------------------------------ */

/* Returns why an index cannot be read. */
static const char *problem_text(int outcome)
{
	switch (outcome) {
	case CATALOG_NEWER:
		return "a newer twinfs wrote it";
	case CATALOG_OLDER:
		return "an older twinfs wrote it; the next scan makes a new one";
	case CATALOG_DAMAGED:
		return "damaged; the next scan makes a new one";
	case CATALOG_REMOTE:
		return "on a network file system";
	case -EPERM:
		return "it belongs to another user";
	default:
		return error_text(outcome < 0 ? outcome : -EIO);
	}
}

static int print_state(struct output *output, const struct known_index *index)
{
	if (index->outcome != 0)
		figure_print(output, "problem", "%s", problem_text(index->outcome));
	if (index->absent)
		figure_print(output, "absent", "%s", "no source exists now");
	if (index->pid > 0)
		figure_print(output, "used by", "process %d", (int)index->pid);
	else if (index->pid < 0)
		figure_print(output, "used by", "%s", "a process");
	return index->pid != 0 && index->mount_point[0] != '\0'
		       ? figure_print_path(output, "view", index->mount_point)
		       : 0;
}

static int print_text(struct output *output, const struct known_index *index, bool first)
{
	char date[CLOCK_TEXT_MAX];
	int r;

	if (!first)
		output_text(output, "\n");
	r = figure_print_path(output, "index", index->folder);
	for (size_t i = 0; r == 0 && i < index->sources.count; i++)
		r = figure_print_path(output,
				      i > 0                ? ""
				      : index->of_operands ? "files in"
							   : "sources",
				      index->sources.items[i]);
	figure_print(output, "on disk", "%s", size_text(index->bytes).text);
	if (index->last_scan.tv_sec)
		figure_print(output, "last scan", "%s", clock_format_local(date, index->last_scan));
	return r < 0 ? r : print_state(output, index);
}

static int set_sources(json_t *object, const struct text_list *sources)
{
	json_t *list = json_array();
	int r = json_object_set_new(object, "sources", list);

	for (size_t i = 0; r == 0 && i < sources->count; i++) {
		json_t *source = json_object();

		r = json_array_append_new(list, source);
		if (r == 0)
			r = json_set_path(source, "path", sources->items[i],
					  strlen(sources->items[i]));
	}
	return r;
}

static int set_use(json_t *object, const struct known_index *index)
{
	int r = json_object_set_new(object, "in_use", json_boolean(index->pid != 0));

	if (r == 0 && index->pid != 0 && index->mount_point[0] != '\0')
		r = json_set_path(object, "view", index->mount_point, strlen(index->mount_point));
	if (r == 0 && index->outcome != 0)
		r = json_object_set_new(object, "problem",
					json_string(problem_text(index->outcome)));
	return r;
}

static int print_json(struct output *output, const struct known_index *index, bool first)
{
	char date[CLOCK_TEXT_MAX];
	bool dated = index->last_scan.tv_sec && clock_format_utc(date, index->last_scan) == 0;
	json_auto_t *object = json_object();
	json_auto_t *facts = json_pack("{s:o, s:s*, s:b, s:b}", "bytes", json_number(index->bytes),
				       "last_scan", dated ? date : NULL, "single_files",
				       (int)index->of_operands, "absent", (int)index->absent);

	if (json_set_path(object, "folder", index->folder, strlen(index->folder)) < 0 ||
	    set_sources(object, &index->sources) < 0 || json_object_update(object, facts) < 0 ||
	    set_use(object, index) < 0)
		return -ENOMEM;
	output_text(output, first ? "\n" : ",\n");
	return output_json_object(output, TAKE(object));
}

/* Offers to remove an index whose sources are long gone. */
static void offer(const struct known_index *index)
{
	if (known_index_is_old(index))
		log_info(
			"the sources of %s do not exist, and were not scanned for 90 days; 'twinfs "
			"index --forget' removes the index",
			quote_path(index->folder));
}

struct index_listing {
	struct output output;
	bool json;
	bool given; /* the user named the folders */
	size_t printed;
	size_t failed; /* folders without an index that the user named */
};

static int explain_missing(const char *folder)
{
	log_error("cannot find an index in %s; 'twinfs index' lists all", quote_path(folder));
	return CATALOG_NO_INDEX;
}

static int print_one(struct index_listing *listing, const char *folder)
{
	CLEANUP_KNOWN_INDEX struct known_index index = {0};
	bool first = listing->printed == 0;
	int r = known_index_read(&index, folder);

	if (r < 0)
		return r;
	if (index.outcome == CATALOG_NO_INDEX) {
		listing->failed += listing->given && explain_missing(folder) != 0;
		return 0;
	}
	listing->printed++;
	offer(&index);
	return listing->json ? print_json(&listing->output, &index, first)
			     : print_text(&listing->output, &index, first);
}

static enum twinfs_exit print_indexes(struct index_listing *listing,
				      const struct text_list *folders)
{
	int r = 0;

	output_init(&listing->output, STDOUT_FILENO);
	if (listing->json)
		output_text(&listing->output, "{\"version\":\"" TWINFS_VERSION "\",\"indexes\":[");
	for (size_t i = 0; r == 0 && i < folders->count; i++)
		r = print_one(listing, folders->items[i]);
	if (listing->json)
		output_text(&listing->output, "]}\n");
	if (r == 0)
		r = output_flush(&listing->output);
	output_deinit(&listing->output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot print the indexes: %s", error_text(r));
	if (r < 0 || (listing->failed > 0 && listing->printed == 0))
		return TWINFS_EXIT_FAILED;
	return listing->failed > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

/* ---- forgetting ----------------------------------------------------------------------------- */

static int forget(const char *folder)
{
	int r = catalog_forget(folder);

	if (r == 0)
		log_info("removed the index %s", quote_path(folder));
	else if (r == -ENOTEMPTY)
		log_info("removed the index in %s; the folder stays, as it has a log of acts or "
			 "other files",
			 quote_path(folder));
	else if (r == CATALOG_HAS_ACTS)
		log_error("cannot remove the index %s: an act was interrupted; run 'twinfs "
			  "recover' first",
			  quote_path(folder));
	else if (r == CATALOG_NO_INDEX)
		r = explain_missing(folder);
	else if (r < 0 && r != -EPERM)
		log_error("cannot remove the index %s: %s", quote_path(folder), error_text(r));
	else
		index_explain(folder, r);
	return r == -ENOTEMPTY ? 0 : r;
}

static enum twinfs_exit forget_indexes(const struct text_list *folders)
{
	size_t failed = 0;

	for (size_t i = 0; i < folders->count; i++)
		failed += forget(folders->items[i]) != 0;
	if (failed == 0)
		return TWINFS_EXIT_COMPLETE;
	return failed == folders->count ? TWINFS_EXIT_FAILED : TWINFS_EXIT_INCOMPLETE;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const void *context, char *const *operands, size_t count)
{
	const struct index_command_settings *settings = context;

	(void)operands;
	if (!settings->forgets)
		return NULL;
	if (count == 0)
		return "--forget needs the FOLDER of each index";
	return settings->common.json ? "--forget prints no list: omit --format" : NULL;
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	const struct index_command_settings *settings = context;
	struct index_listing listing = {.json = settings->common.json, .given = count > 0};
	CLEANUP_TEXT_LIST struct text_list folders = {0};

	if (find_folders(&folders, operands, count) < 0)
		return TWINFS_EXIT_FAILED;
	return settings->forgets ? forget_indexes(&folders) : print_indexes(&listing, &folders);
}

const struct command index_command = {
	.options = {.command = "twinfs index",
		    .usage = {"[FOLDER...]"},
		    .summary = "Prints the indexes of this user: their sources, their size and the "
			       "time of their last scan. FOLDER is the folder of an index, or its "
			       "name in the default folder. Without a FOLDER, prints all indexes "
			       "in the default folder.",
		    .options = {index_options, format_option, version_option}},
	.settings_bytes = sizeof(struct index_command_settings),
	.find_fault = find_fault,
	.run = run,
};
