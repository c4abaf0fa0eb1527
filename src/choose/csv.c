/* SPDX-License-Identifier: MIT */

/* The format of RFC 4180: a line of column names, then a line for each name of a file. Lines end
 * with CR LF. A path is always quoted, because it can contain line ends, commas and quotes. If a
 * path is not UTF-8, the column path_base64 has its bytes, by the rule of row/json_path.h. For
 * other paths that column is empty.
 */

#include <inttypes.h>

#include "base/text.h"
#include "choose/format.h"
#include "row/json_path.h"

#define LINE_END "\r\n"

static void print_figures(struct printing *printing)
{
	struct summary_figure figures[SUMMARY_FIGURES_MAX];
	size_t count =
		summary_list(&printing->summary, format_summary_of(printing->report), figures);

	for (size_t i = 0; i < count; i++)
		output_format(printing->output, "%s%s", figures[i].name,
			      i + 1 < count ? "," : LINE_END);
	for (size_t i = 0; i < count; i++)
		output_format(printing->output, "%" PRIu64 "%s", figures[i].value,
			      i + 1 < count ? "," : LINE_END);
}

static void csv_begin(struct printing *printing)
{
	if (printing->report->part == REPORT_SUMMARY)
		return;
	if (printing->report->part == REPORT_SIMILAR) {
		output_text(printing->output,
			    "shared_files,shared_bytes,percent,first_only_files,first_only_bytes,"
			    "second_only_files,second_only_bytes,first_path,first_path_base64,"
			    "second_path,second_path_base64" LINE_END);
		return;
	}
	if (report_has_groups(printing->report->part)) {
		output_text(printing->output, "group,redundant,reclaimable,fate,");
		if (printing->report->explain)
			output_text(printing->output, "why,");
	}
	output_text(printing->output, printing->report->folders
					      ? "files,size,path,path_base64" LINE_END
					      : "size,inode,path,path_base64" LINE_END);
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

/* Prints printing->path and the column of its bytes. Returns 0 or -ENOMEM. */
static int print_path(struct printing *printing)
{
	CLEANUP_BYTES struct bytes readable = {0};
	CLEANUP_BYTES struct bytes base64 = {0};
	const struct bytes *path = &printing->path;
	bool whole = true;
	int r = append_readable(printing->output, &readable, path, &whole);

	if (r == 0 && !whole)
		r = base64_encode(&base64, path->data, path->length);
	if (r < 0)
		return r;
	print_quoted(printing->output, &readable);
	output_text(printing->output, ",");
	output_bytes(printing->output, base64.data, base64.length);
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
	r = print_path(printing);
	output_text(printing->output, LINE_END);
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
			r = print_path(printing);
		if (r < 0)
			return r;
	}
	output_text(printing->output, LINE_END);
	return 0;
}

static int csv_end(struct printing *printing)
{
	if (printing->report->part == REPORT_SUMMARY)
		print_figures(printing);
	return 0;
}

const struct format format_csv = {
	.begin = csv_begin,
	.name = csv_name,
	.pair = csv_pair,
	.end = csv_end,
	.describes_groups = true,
	.can_summarize = true,
	.can_explain = true,
};
