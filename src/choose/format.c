/* SPDX-License-Identifier: MIT */
#include "choose/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/text.h"
#include "choose/figures.h"
#include "index/managed.h"
#include "index/query.h"
#include "index/source.h"
#include "row/json_path.h"
#include "row/json_text.h"

/* Returns what the summary of a report counts. */
static enum summary_of summary_of(const struct report *report)
{
	if (report->part == REPORT_SIMILAR)
		return SUMMARY_OF_SIMILAR;
	if (report->part == REPORT_MISSING)
		return report->missing->others == MISSING_SKIP_OTHERS ? SUMMARY_OF_MISSING
								      : SUMMARY_OF_COVERED;
	if (report->folders)
		return SUMMARY_OF_FOLDERS;
	return report->part == REPORT_SINGLES ? SUMMARY_OF_SINGLES : SUMMARY_OF_GROUPS;
}

/* Sets printing->path to a path below a source, or to that of the source. Valid until the next
 * call. Returns 0 or -errno. */
static int set_path(struct printing *printing, const char *source, const char *relative)
{
	size_t length = strlen(source);
	int r;

	printing->path.length = 0;
	r = bytes_append(&printing->path, source, length);
	if (r == 0 && *relative && (length == 0 || source[length - 1] != '/'))
		r = bytes_append_text(&printing->path, "/");
	if (r == 0)
		r = bytes_append_text(&printing->path, relative);
	return r;
}

/* Sets printing->path to the path of a copy, which begins with the given path of its source. */
static int format_path(struct printing *printing, const char *source, const struct copies *copies,
		       const struct copy *copy)
{
	return set_path(printing, source,
			copy_is_root(copies, copy) ? "" : copy_path(copies, copy));
}

/* Sets printing->path to the path of a folder: as the user wrote it (shown), or the absolute path.
 */
static int format_folder(struct printing *printing, const struct similar_folder *folder, bool shown)
{
	const struct report *report = printing->report;

	return set_path(printing,
			shown ? report->shown[folder->source]
			      : report->sources->list[folder->source].path,
			folder->path);
}

/* Sets printing->path to the absolute path of a copy. */
static int format_absolute_path(struct printing *printing, const struct copies *copies,
				const struct copy *copy)
{
	return format_path(printing, printing->report->sources->list[copy->source].path, copies,
			   copy);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* The format for people: groups with their reclaimable bytes, then the figures. Odd names are
 * quoted for terminal and shell. */

/* Highest number of bytes of the text before a path, with the NUL. */
#define MARK_SIZE 64

static void begin_files(struct printing *printing, const struct item *item)
{
	char inodes[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	output_format(printing->output, "%s copies of %s, ", number_format(inodes, item->inodes),
		      figure_size(size, item->size));
}

static void begin_folders(struct printing *printing, const struct item *item)
{
	char folders[NUMBER_TEXT_MAX];
	char files[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];

	output_format(printing->output, "%s equal folders of %s %s, %s, ",
		      number_format(folders, item->inodes), number_format(files, item->files),
		      plural(item->files, "file", "files"), figure_size(size, item->size));
}

static void text_begin_item(struct printing *printing, const struct item *item)
{
	char reclaimable[SIZE_TEXT_MAX], redundant[SIZE_TEXT_MAX];

	if (!item->is_group)
		return;
	if (printing->report->folders)
		begin_folders(printing, item);
	else
		begin_files(printing, item);
	output_text(printing->output, size_format(reclaimable, item->reclaimable));
	if (item->reclaimable < item->redundant)
		output_format(printing->output, " of %s", size_format(redundant, item->redundant));
	output_format(printing->output, " reclaimable, kept: %s, %s\n", item->copies->list[0].why,
		      item->name[0] ? item->name : "no hash");
}

/* Formats the text before a path: a word for the fate, or "link" for a further name of an inode.
 * With explain, formats the fate and its reason. */
static void format_mark(char mark[static MARK_SIZE], const struct printing *printing,
			const struct copy *copy)
{
	static const char *const words[] = {
		[FATE_KEPT] = "kept",
		[FATE_REDUNDANT] = "copy",
		[FATE_SPARED] = "stay",
	};
	const char *word = copy->another_name ? "link" : words[copy->fate];

	if (printing->report->explain)
		(void)snprintf(mark, MARK_SIZE, "  %-9s  %-30s  ", fate_word(copy->fate),
			       copy->why);
	else
		(void)snprintf(mark, MARK_SIZE, "  %s  ", word);
}

static int text_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	CLEANUP_BYTES struct bytes shown = {0};
	char mark[MARK_SIZE] = "";
	int r;

	r = format_path(printing, printing->report->shown[name->source], item->copies, name);
	if (r == 0)
		r = shell_name_append(&shown, (const char *)printing->path.data,
				      printing->path.length);
	if (r < 0)
		return r;
	if (item->is_group)
		format_mark(mark, printing, name);
	output_text(printing->output, mark);
	output_bytes(printing->output, shown.data, shown.length);
	if (name->place.kind && !printing->report->explain)
		output_format(printing->output, "  [%s]", name->place.kind->where);
	output_text(printing->output, "\n");
	return 0;
}

static void text_end_item(struct printing *printing, const struct item *item)
{
	if (item->is_group)
		output_text(printing->output, "\n");
}

/* Prints a folder of a pair, and what only it has. */
static int text_folder(struct printing *printing, const struct similar_folder *folder)
{
	CLEANUP_BYTES struct bytes shown = {0};
	char number[NUMBER_TEXT_MAX];
	char size[SIZE_TEXT_MAX];
	int r = format_folder(printing, folder, true);

	if (r == 0)
		r = shell_name_append(&shown, (const char *)printing->path.data,
				      printing->path.length);
	if (r < 0)
		return r;
	output_text(printing->output, "  ");
	output_bytes(printing->output, shown.data, shown.length);
	if (folder->only == 0)
		output_text(printing->output, "  only here: nothing\n");
	else
		output_format(printing->output, "  only here: %s %s, %s\n",
			      number_format(number, folder->only),
			      plural(folder->only, "file", "files"),
			      size_format(size, folder->only_bytes));
	return 0;
}

static int text_pair(struct printing *printing, const struct similar_pair *pair)
{
	char number[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];
	int r;

	output_format(printing->output, "%s in both, %s %s, %u %%\n",
		      figure_size(size, pair->shared_bytes), number_format(number, pair->shared),
		      plural(pair->shared, "file", "files"), pair->percent);
	r = text_folder(printing, &pair->folders[0]);
	if (r == 0)
		r = text_folder(printing, &pair->folders[1]);
	output_text(printing->output, "\n");
	return r;
}

static int text_end(struct printing *printing)
{
	if (printing->report->folders)
		figures_print_folders(printing->output, &printing->summary);
	else if (report_has_groups(printing->report->part))
		figures_print(printing->output, &printing->summary);
	return 0;
}

static const struct format format_text = {
	.begin_item = text_begin_item,
	.name = text_name,
	.end_item = text_end_item,
	.pair = text_pair,
	.end = text_end,
	.describes_groups = true,
	.has_figures = true,
	.can_summarize = true,
	.can_explain = true,
};

/* ---- names only ----------------------------------------------------------------------------- */

/* Names are written as exact bytes. Only on a terminal, odd characters are quoted. What an act
 * would do is marked.
 *
 * fdupes: as fdupes and jdupes print, one path a line, an empty line between groups. The marks are
 * those of 'fdupes -d': [+] stays, [-] goes.
 *
 * null: for xargs -0 and similar programs, each path followed by a NUL. Paths are absolute, so that
 * no program parses a path as an option. '+' precedes the path of a file that stays, '-' that of
 * one that goes. */

/* Prints printing->path.
 *
 * marks	before the name of a plan that stays, and before one that goes
 * end		one byte */
static void print_marked(struct printing *printing, const struct copy *name,
			 const char *const marks[static 2], const char *end)
{
	if (printing->report->part == REPORT_PLANNED)
		output_text(printing->output, marks[name->fate != FATE_KEPT]);
	output_name(printing->output, printing->path.data, printing->path.length);
	output_bytes(printing->output, end, 1);
}

static void fdupes_begin_item(struct printing *printing, const struct item *item)
{
	if (item->is_group && printing->items > 0)
		output_text(printing->output, "\n");
}

static int fdupes_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	static const char *const marks[] = {"   [+] ", "   [-] "};
	int r = format_path(printing, printing->report->shown[name->source], item->copies, name);

	if (r == 0)
		print_marked(printing, name, marks, "\n");
	return r;
}

static int fdupes_end(struct printing *printing)
{
	const struct report_summary *summary = &printing->summary;

	if (printing->report->part != REPORT_SUMMARY)
		return 0;
	if (printing->report->folders)
		output_format(printing->output,
			      "%" PRIu64 " duplicate folders (in %" PRIu64
			      " sets), occupying %" PRIu64 " bytes\n",
			      summary->redundant_folders, summary->groups,
			      summary->reclaimable_bytes);
	else
		output_format(printing->output,
			      "%" PRIu64 " duplicate files (in %" PRIu64
			      " sets), occupying %" PRIu64 " bytes\n",
			      summary->redundant_files, summary->groups, summary->redundant_bytes);
	return 0;
}

static const struct format format_fdupes = {
	.begin_item = fdupes_begin_item,
	.name = fdupes_name,
	.end = fdupes_end,
	.can_summarize = true,
};

static int null_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	static const char *const marks[] = {"+", "-"};
	int r = format_absolute_path(printing, item->copies, name);

	if (r == 0)
		print_marked(printing, name, marks, "");
	return r;
}

static int null_pair(struct printing *printing, const struct similar_pair *pair)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(pair->folders); i++) {
		r = format_folder(printing, &pair->folders[i], false);
		if (r < 0)
			break;
		output_name(printing->output, printing->path.data, printing->path.length);
		output_bytes(printing->output, "", 1);
	}
	return r;
}

static const struct format format_null = {
	.name = null_name,
	.pair = null_pair,
};

/* ---- CSV ------------------------------------------------------------------------------------ */

/* The format of RFC 4180: a line of column names, then a line for each name of a file. Lines end
 * with CR LF. A path is always quoted, because it can contain line ends, commas and quotes. If a
 * path is not UTF-8, the column path_base64 has its bytes, by the rule of row/json_path.h. For
 * other paths that column is empty. */

#define CSV_END "\r\n"

static void csv_figures(struct printing *printing)
{
	struct summary_figure figures[SUMMARY_FIGURES_MAX];
	size_t count = summary_list(&printing->summary, summary_of(printing->report), figures);

	for (size_t i = 0; i < count; i++)
		output_format(printing->output, "%s%s", figures[i].name,
			      i + 1 < count ? "," : CSV_END);
	for (size_t i = 0; i < count; i++)
		output_format(printing->output, "%" PRIu64 "%s", figures[i].value,
			      i + 1 < count ? "," : CSV_END);
}

static void csv_begin(struct printing *printing)
{
	if (printing->report->part == REPORT_SUMMARY)
		return;
	if (printing->report->part == REPORT_SIMILAR) {
		output_text(printing->output,
			    "shared_files,shared_bytes,percent,first_only_files,first_only_bytes,"
			    "second_only_files,second_only_bytes,first_path,first_path_base64,"
			    "second_path,second_path_base64" CSV_END);
		return;
	}
	if (report_has_groups(printing->report->part)) {
		output_text(printing->output, "group,redundant,reclaimable,fate,");
		if (printing->report->explain)
			output_text(printing->output, "why,");
	}
	output_text(printing->output, printing->report->folders
					      ? "files,size,path,path_base64" CSV_END
					      : "size,inode,path,path_base64" CSV_END);
}

static void print_quoted(struct output *output, const struct bytes *text)
{
	const char *at = (const char *)text->data;
	size_t left = text->length;

	output_text(output, "\"");
	while (left > 0) {
		const char *quote = memchr(at, '"', left);
		size_t length = quote ? (size_t)(quote - at) + 1 : left;

		output_bytes(output, at, length);
		if (quote)
			output_text(output, "\"");
		at += length;
		left -= length;
	}
	output_text(output, "\"");
}

/* Appends a path in its readable form. Sets whole to false if some bytes of the path are not UTF-8.
 * If the output is a terminal, control characters are quoted. Returns 0 or -ENOMEM. */
static int append_readable(const struct output *output, struct bytes *text,
			   const struct bytes *path, bool *whole)
{
	CLEANUP_BYTES struct bytes readable = {0};
	int r;

	if (!output->terminal)
		return readable_path_append(text, (const char *)path->data, path->length, whole);
	r = readable_path_append(&readable, (const char *)path->data, path->length, whole);
	return r < 0 ? r : shell_name_append(text, (const char *)readable.data, readable.length);
}

static void print_group_columns(struct printing *printing, const struct item *item,
				const struct copy *copy)
{
	output_format(printing->output, "%s,%" PRIu64 ",%" PRIu64 ",%s,", item->name,
		      item->redundant, item->reclaimable, fate_word(copy->fate));
	if (printing->report->explain)
		output_format(printing->output, "%s,", copy->why);
}

int format_csv_path(struct output *output, const struct bytes *path)
{
	CLEANUP_BYTES struct bytes readable = {0};
	CLEANUP_BYTES struct bytes base64 = {0};
	bool whole = true;
	int r = append_readable(output, &readable, path, &whole);

	if (r == 0 && !whole)
		r = base64_encode(&base64, path->data, path->length);
	if (r < 0)
		return r;
	print_quoted(output, &readable);
	output_text(output, ",");
	output_bytes(output, base64.data, base64.length);
	return 0;
}

static int csv_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	int r = format_absolute_path(printing, item->copies, name);

	if (r < 0)
		return r;
	if (item->is_group)
		print_group_columns(printing, item, name);
	if (printing->report->folders)
		output_format(printing->output, "%" PRIu64 ",%" PRIu64 ",", item->files,
			      item->size);
	else
		output_format(printing->output, "%" PRIu64 ",%" PRIu64 ",", item->size, name->file);
	r = format_csv_path(printing->output, &printing->path);
	output_text(printing->output, CSV_END);
	return r;
}

static int csv_pair(struct printing *printing, const struct similar_pair *pair)
{
	const struct similar_folder *folders = pair->folders;
	int r;

	output_format(printing->output, "%" PRIu64 ",%" PRIu64 ",%u", pair->shared,
		      pair->shared_bytes, pair->percent);
	for (size_t i = 0; i < ARRAY_SIZE(pair->folders); i++)
		output_format(printing->output, ",%" PRIu64 ",%" PRIu64, folders[i].only,
			      folders[i].only_bytes);
	for (size_t i = 0; i < ARRAY_SIZE(pair->folders); i++) {
		output_text(printing->output, ",");
		r = format_folder(printing, &folders[i], false);
		if (r == 0)
			r = format_csv_path(printing->output, &printing->path);
		if (r < 0)
			return r;
	}
	output_text(printing->output, CSV_END);
	return 0;
}

static int csv_end(struct printing *printing)
{
	if (printing->report->part == REPORT_SUMMARY)
		csv_figures(printing);
	return 0;
}

static const struct format format_csv = {
	.begin = csv_begin,
	.name = csv_name,
	.pair = csv_pair,
	.end = csv_end,
	.describes_groups = true,
	.can_summarize = true,
	.can_explain = true,
};

/* ---- JSON ----------------------------------------------------------------------------------- */

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

static int set_summary(const struct printing *printing, json_t *object)
{
	const struct report *report = printing->report;
	struct summary_figure figures[SUMMARY_FIGURES_MAX];
	size_t count = summary_list(&printing->summary, summary_of(report), figures);
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
	json_auto_t *object = json_object();
	int r = format_absolute_path(printing, item->copies, name);

	if (r == 0)
		r = object ? set_members(printing, item, name, object) : -ENOMEM;
	return r < 0 ? r : output_json_object(printing->output, TAKE(object));
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
	json_auto_t *figures =
		json_pack("{s:o, s:o, s:i, s:[{s:o, s:o}, {s:o, s:o}]}", "shared_files",
			  json_number(pair->shared), "shared_bytes",
			  json_number(pair->shared_bytes), "percent", (int)pair->percent, "only",
			  "files", json_number(folders[0].only), "bytes",
			  json_number(folders[0].only_bytes), "files", json_number(folders[1].only),
			  "bytes", json_number(folders[1].only_bytes));
	int r = figures ? set_folders(printing, pair, object) : -ENOMEM;

	if (r < 0)
		return r;
	return json_object_update(object, figures) < 0 ? -ENOMEM : 0;
}

static int write_pair(struct printing *printing, const struct similar_pair *pair)
{
	json_auto_t *object = json_object();
	int r = object ? set_pair(printing, pair, object) : -ENOMEM;

	return r < 0 ? r : output_json_object(printing->output, TAKE(object));
}

/* ---- one object, or an object a line ------------------------------------------------------ */

static bool has_lines(const struct printing *printing)
{
	return printing->report->format == REPORT_JSONL;
}

/* Begins a member of a list. The members of the outermost list are the lines of the format jsonl.
 */
static void begin_member(struct printing *printing, bool outermost, bool first)
{
	if (!first && !(outermost && has_lines(printing)))
		output_text(printing->output, ",");
	if (!has_lines(printing))
		output_text(printing->output, "\n");
}

/* Ends a member of the outermost list. */
static void end_member(struct printing *printing)
{
	if (has_lines(printing))
		output_text(printing->output, "\n");
}

static void json_begin(struct printing *printing)
{
	static const char *const lists[] = {
		[REPORT_GROUPS] = "\"groups\":[",
		[REPORT_REDUNDANT] = "\"groups\":[",
		[REPORT_PLANNED] = "\"groups\":[",
		[REPORT_SINGLES] = "\"singles\":[",
		[REPORT_MISSING] = "\"missing\":[",
		[REPORT_SIMILAR] = "\"similar\":[",
		[REPORT_SUMMARY] = "",
	};

	begin_object(printing);
	output_text(printing->output, lists[printing->report->part]);
}

static void json_begin_item(struct printing *printing, const struct item *item)
{
	if (!item->is_group)
		return;
	begin_member(printing, true, printing->items == 0);
	begin_group(printing, item);
}

static int json_name(struct printing *printing, const struct item *item, const struct copy *name)
{
	bool first = printing->names == 0 && (item->is_group || printing->items == 0);
	int r;

	begin_member(printing, !item->is_group, first);
	r = write_name(printing, item, name);
	if (!item->is_group)
		end_member(printing);
	return r;
}

static void json_end_item(struct printing *printing, const struct item *item)
{
	if (!item->is_group)
		return;
	output_text(printing->output, "]}");
	end_member(printing);
}

static int json_pair(struct printing *printing, const struct similar_pair *pair)
{
	int r;

	begin_member(printing, true, printing->items == 0);
	r = write_pair(printing, pair);
	end_member(printing);
	return r;
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

static const struct format format_json = {
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

static int jsonl_end(struct printing *printing)
{
	if (printing->report->part != REPORT_SUMMARY)
		return 0;
	begin_object(printing);
	return json_end(printing);
}

static const struct format format_jsonl = {
	.begin_item = json_begin_item,
	.name = json_name,
	.end_item = json_end_item,
	.pair = json_pair,
	.end = jsonl_end,
	.describes_groups = true,
	.can_summarize = true,
	.can_explain = true,
};

/* ---- all ------------------------------------------------------------------------------------ */

const struct format *format_of(enum report_format format)
{
	static const struct format *const formats[] = {
		[REPORT_TEXT] = &format_text, [REPORT_FDUPES] = &format_fdupes,
		[REPORT_JSON] = &format_json, [REPORT_JSONL] = &format_jsonl,
		[REPORT_CSV] = &format_csv,   [REPORT_NULL] = &format_null,
	};

	return formats[format];
}
