/* SPDX-License-Identifier: MIT */

/* One object, written piece by piece:
 *
 *	{"version": ..., "groups": [
 *	{"hash": ..., "size": ..., "reclaimable": ..., "copies": [
 *	{"path": ..., "inode": ..., "dev": ..., "ino": ..., "kept": ..., "fate": ...},
 *	...]},
 *	...], "summary": {...}}
 *
 * Groups of folders also have "files", and have "folders" instead of "copies", without "inode",
 * "dev" and "ino".
 * Their "hash" can be null. The format jsonl has only the objects of the list, one a line. Only one
 * copy at a time is built in memory, because a group can have 100,000 copies. Paths follow the rule
 * of row/json_path.h.
 */

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/text.h"
#include "choose/format.h"
#include "index/managed.h"
#include "index/query.h"
#include "row/json_path.h"
#include "row/json_text.h"

static int set_summary(const struct printing *printing, json_t *object)
{
	const struct report *report = printing->report;
	struct summary_figure figures[SUMMARY_FIGURES_MAX];
	size_t count = summary_list(&printing->summary, format_summary_of(report), figures);
	char date[CLOCK_TEXT_MAX];
	int r = object ? 0 : -1;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = json_object_set_new(object, figures[i].name, json_number(figures[i].value));
	if (r == 0 && report->last_scan.tv_sec && clock_format_utc(date, report->last_scan) == 0)
		r = json_object_set_new(object, "last_scan", json_string(date));
	return r;
}

static int write_summary(struct printing *printing)
{
	json_t *object = json_object();

	if (set_summary(printing, object) < 0) {
		json_decref(object);
		object = NULL;
	}
	output_text(printing->output, "\"summary\":");
	return output_json_object(printing->output, object);
}

static void begin_object(struct printing *printing)
{
	output_text(printing->output, "{\"version\":\"" TWINFS_VERSION "\",");
}

/* ---- items -------------------------------------------------------------------------------- */

static int set_fate(json_t *object, const struct copy *copy, bool explain)
{
	int r = json_object_set_new(object, "kept", json_boolean(copy->fate == FATE_KEPT));

	if (r == 0)
		r = json_object_set_new(object, "fate", json_string(fate_word(copy->fate)));
	if (r == 0 && explain)
		r = json_object_set_new(object, "why", json_string(copy->why));
	if (r == 0 && copy->place.kind)
		r = json_object_set_new(object, "store", json_string(copy->place.kind->name));
	return r;
}

/* Finds the present st_dev of a file, whose path is printing->path. Looks at the disk only for the
 * first file of each file system, and not if the sources must not be examined. Returns whether it
 * is known. */
static bool find_device(struct printing *printing, const struct attributes *file, dev_t *device)
{
	const char *path = bytes_text(&printing->path);
	struct stat status;

	for (size_t i = 0; i < printing->device_count; i++) {
		*device = printing->devices[i].device;
		if (printing->devices[i].filesystem == file->filesystem)
			return true;
	}
	if (printing->report->last_scan.tv_sec || !path || lstat(path, &status) < 0 ||
	    status.st_ino != file->inode)
		return false;
	*device = status.st_dev;
	if (printing->device_count < SEEN_DEVICES_MAX)
		printing->devices[printing->device_count++] =
			(struct seen_device){file->filesystem, status.st_dev};
	return true;
}

/* Sets the members that identify the file: its number in the index, and those of stat(2). A plan
 * has only the first, as the snapshot in which it is printed can lack the file. */
static int set_identity(struct printing *printing, uint64_t id, json_t *object)
{
	struct file_record file;
	dev_t device;
	int r;

	if (json_object_set_new(object, "inode", json_number(id)) < 0)
		return -ENOMEM;
	if (printing->report->part == REPORT_PLANNED)
		return 0;
	r = catalog_get_file(printing->report->reader, id, &file);
	if (r < 0)
		return r;
	r = json_object_set_new(object, "dev",
				find_device(printing, &file.attributes, &device)
					? json_identity(device)
					: json_null());
	if (r == 0)
		r = json_object_set_new(object, "ino", json_identity(file.attributes.inode));
	return r == 0 ? 0 : -ENOMEM;
}

/* Sets a list of the symlinks that lead to a copy. */
static int set_symlinks(const struct copies *copies, const struct copy *copy, json_t *object)
{
	const char *path = (const char *)copies->paths.data + copy->symlink_paths;
	json_t *list = json_array();
	int r = list ? json_object_set_new(object, "symlinks", list) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < copy->symlinks; i++, path += strlen(path) + 1) {
		json_t *link = json_object();

		r = link ? json_array_append_new(list, link) : -ENOMEM;
		if (r == 0)
			r = json_set_path(link, "path", path, strlen(path));
	}
	return r == 0 ? 0 : -ENOMEM;
}

/* Sets the members of an object for one name: the fate of a copy in a group, or the size of a file
 * without a copy. */
static int set_members(struct printing *printing, const struct item *item, const struct copy *name,
		       json_t *object)
{
	int r = json_set_path(object, "path", (const char *)printing->path.data,
			      printing->path.length);

	if (r < 0)
		return r;
	if (!printing->report->folders)
		r = set_identity(printing, name->file, object);
	if (r < 0)
		return r;
	if (name->symlinks > 0)
		r = set_symlinks(item->copies, name, object);
	if (r < 0)
		return r;
	r = item->is_group ? set_fate(object, name, printing->report->explain)
			   : json_object_set_new(object, "size", json_number(item->size));
	return r == 0 ? 0 : -ENOMEM;
}

static int write_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	json_t *object;
	int r = format_absolute_path(printing, item->copies, name);

	if (r < 0)
		return r;
	object = json_object();
	r = object ? set_members(printing, item, name, object) : -ENOMEM;
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return output_json_object(printing->output, object);
}

/* Writes the members of a group up to its copies. */
static void begin_group(struct printing *printing, const struct item *item)
{
	struct output *output = printing->output;
	bool folders = printing->report->folders;

	output_format(output, item->name[0] ? "{\"hash\":\"%s\"," : "{\"hash\":null%s,",
		      item->name);
	if (folders)
		output_format(output, "\"files\":%" PRIu64 ",", item->files);
	output_format(output,
		      "\"size\":%" JSON_INTEGER_FORMAT ",\"redundant\":%" JSON_INTEGER_FORMAT
		      ",\"reclaimable\":%" JSON_INTEGER_FORMAT ",\"%s\":[",
		      json_number_of(item->size), json_number_of(item->redundant),
		      json_number_of(item->reclaimable), folders ? "folders" : "copies");
}

/* ---- pairs -------------------------------------------------------------------------------- */

/* Appends the path of a folder, and sets whole to false if it is not UTF-8; or appends its bytes in
 * base64 if whole is NULL. */
static int append_folder(struct printing *printing, const struct similar_folder *folder,
			 json_t *list, bool *whole)
{
	CLEANUP_BYTES struct bytes text = {0};
	const struct bytes *path = &printing->path;
	bool is_utf8 = true;
	int r = format_folder(printing, folder, false);

	if (r == 0)
		r = whole ? readable_path_append(&text, (const char *)path->data, path->length,
						 &is_utf8)
			  : base64_encode(&text, path->data, path->length);
	if (r < 0)
		return r;
	if (whole)
		*whole &= is_utf8;
	r = json_array_append_new(list, json_stringn((const char *)text.data, text.length));
	return r < 0 ? -ENOMEM : 0;
}

/* Sets a list of both paths, as append_folder() has them. */
static int set_list(struct printing *printing, const struct similar_pair *pair, json_t *object,
		    bool *whole)
{
	json_t *list = json_array();
	int r = list ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pair->folders); i++)
		r = append_folder(printing, &pair->folders[i], list, whole);
	if (r < 0) {
		json_decref(list);
		return r;
	}
	r = json_object_set_new(object, whole ? "folders" : "folders_base64", list);
	return r < 0 ? -ENOMEM : 0;
}

/* Sets the paths of both folders, by the rule of row/json_path.h. */
static int set_folders(struct printing *printing, const struct similar_pair *pair, json_t *object)
{
	bool whole = true;
	int r = set_list(printing, pair, object, &whole);

	return r < 0 || whole ? r : set_list(printing, pair, object, NULL);
}

static int set_pair(struct printing *printing, const struct similar_pair *pair, json_t *object)
{
	const struct similar_folder *folders = pair->folders;
	json_t *only = json_array();
	int r = set_folders(printing, pair, object);

	if (r == 0)
		r = json_object_set_new(object, "shared_files", json_number(pair->shared));
	if (r == 0)
		r = json_object_set_new(object, "shared_bytes", json_number(pair->shared_bytes));
	if (r == 0)
		r = json_object_set_new(object, "percent", json_integer(pair->percent));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pair->folders); i++)
		r = json_array_append_new(only, json_pack("{s:o, s:o}", "files",
							  json_number(folders[i].only), "bytes",
							  json_number(folders[i].only_bytes)));
	if (r == 0)
		r = json_object_set(object, "only", only);
	json_decref(only);
	return r < 0 ? -ENOMEM : 0;
}

static int write_pair(struct printing *printing, const struct similar_pair *pair)
{
	json_t *object = json_object();
	int r = object ? set_pair(printing, pair, object) : -ENOMEM;

	if (r < 0) {
		json_decref(object);
		return r;
	}
	return output_json_object(printing->output, object);
}

/* ---- one object --------------------------------------------------------------------------- */

static void json_begin(struct printing *printing)
{
	begin_object(printing);
	if (printing->report->part == REPORT_SINGLES)
		output_text(printing->output, "\"singles\":[");
	else if (printing->report->part == REPORT_MISSING)
		output_text(printing->output, "\"missing\":[");
	else if (printing->report->part == REPORT_SIMILAR)
		output_text(printing->output, "\"similar\":[");
	else if (printing->report->part != REPORT_SUMMARY)
		output_text(printing->output, "\"groups\":[");
}

static void json_begin_item(struct printing *printing, const struct item *item)
{
	if (!item->is_group)
		return;
	output_text(printing->output, printing->items > 0 ? ",\n" : "\n");
	begin_group(printing, item);
}

static int json_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	bool first = printing->names == 0 && (item->is_group || printing->items == 0);

	output_text(printing->output, first ? "\n" : ",\n");
	return write_name(printing, item, name);
}

static void json_end_item(struct printing *printing, const struct item *item)
{
	if (item->is_group)
		output_text(printing->output, "]}");
}

static int json_pair(struct printing *printing, const struct similar_pair *pair)
{
	output_text(printing->output, printing->items > 0 ? ",\n" : "\n");
	return write_pair(printing, pair);
}

static int json_end(struct printing *printing)
{
	int r;

	if (printing->report->part != REPORT_SUMMARY)
		output_text(printing->output, "],\n");
	r = write_summary(printing);
	output_text(printing->output, "}\n");
	return r;
}

const struct format format_json = {
	.begin = json_begin,
	.begin_item = json_begin_item,
	.name = json_name,
	.end_item = json_end_item,
	.pair = json_pair,
	.end = json_end,
	.describes_groups = true,
	.has_figures = true,
	.can_summarize = true,
	.can_explain = true,
};

/* ---- an object a line --------------------------------------------------------------------- */

static void jsonl_begin_item(struct printing *printing, const struct item *item)
{
	if (item->is_group)
		begin_group(printing, item);
}

static int jsonl_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	int r;

	if (item->is_group && printing->names > 0)
		output_text(printing->output, ",");
	r = write_name(printing, item, name);
	if (!item->is_group)
		output_text(printing->output, "\n");
	return r;
}

static void jsonl_end_item(struct printing *printing, const struct item *item)
{
	if (item->is_group)
		output_text(printing->output, "]}\n");
}

static int jsonl_pair(struct printing *printing, const struct similar_pair *pair)
{
	int r = write_pair(printing, pair);

	output_text(printing->output, "\n");
	return r;
}

static int jsonl_end(struct printing *printing)
{
	if (printing->report->part != REPORT_SUMMARY)
		return 0;
	begin_object(printing);
	return json_end(printing);
}

const struct format format_jsonl = {
	.begin_item = jsonl_begin_item,
	.name = jsonl_name,
	.end_item = jsonl_end_item,
	.pair = jsonl_pair,
	.end = jsonl_end,
	.describes_groups = true,
	.can_summarize = true,
	.can_explain = true,
};
