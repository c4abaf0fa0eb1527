/* SPDX-License-Identifier: MIT */

/* The format for people: groups with their reclaimable bytes, then the figures. Odd names are
 * quoted for terminal and shell. */

#include "base/text.h"

#include "base/numbers.h"
#include "choose/figures.h"
#include "choose/format.h"
#include "index/managed.h"

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
static int print_folder(struct printing *printing, const struct similar_folder *folder)
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
	r = print_folder(printing, &pair->folders[0]);
	if (r == 0)
		r = print_folder(printing, &pair->folders[1]);
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

const struct format format_text = {
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
