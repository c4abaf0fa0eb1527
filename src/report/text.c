/* SPDX-License-Identifier: MIT */

/* For people: groups with what they cost, odd names quoted for terminal and shell, figures last. */

#include "base/size.h"
#include "report/figures.h"
#include "report/format.h"
#include "report/words.h"

static int text_begin(struct printing *printing)
{
	(void)printing;
	return 0;
}

static int print_path(struct printing *printing, const char *mark, const struct copies *copies,
		      const struct copy *copy)
{
	CLEANUP_BYTES struct bytes shown = {0};
	int r;

	r = format_path(printing, printing->report->shown[copy->source], copies, copy);
	if (r < 0)
		return r;
	r = shell_name_append(&shown, (const char *)printing->path.data, printing->path.length);
	if (r < 0)
		return r;
	output_text(printing->output, mark);
	output_bytes(printing->output, shown.data, shown.length);
	output_text(printing->output, "\n");
	return 0;
}

static void print_head(struct printing *printing, const struct group_record *group,
		       const struct copies *copies)
{
	char inodes[NUMBER_TEXT_MAX];
	char size[FIGURE_SIZE_MAX];
	char reclaimable[SIZE_TEXT_MAX];
	char name[GROUP_NAME_MAX];

	format_group_name(name, group);
	output_format(printing->output, "%s copies of %s, %s reclaimable, kept: %s, %s\n",
		      number_format(inodes, group->inodes), figure_size(size, group->size),
		      size_format(reclaimable, group_reclaimable(group)), copies->list[0].why,
		      name);
}

static int text_group(struct printing *printing, const struct group_record *group,
		      const struct copies *copies)
{
	print_head(printing, group, copies);
	for (size_t i = 0; i < copies->count; i++) {
		const struct copy *copy = &copies->list[i];
		const char *mark = copy->fate == FATE_KEPT ? "  kept  " : "  copy  ";
		int r;

		if (!format_shows(printing, copy))
			continue;
		if (copy->another_name)
			mark = "  link  ";
		r = print_path(printing, mark, copies, copy);
		if (r < 0)
			return r;
	}
	output_text(printing->output, "\n");
	return 0;
}

static int text_single(struct printing *printing, const struct single *single)
{
	for (size_t i = 0; i < single->names->count; i++) {
		int r = print_path(printing, "", single->names, &single->names->list[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int text_end(struct printing *printing)
{
	if (printing->report->part != REPORT_SINGLES)
		figures_print(printing->output, &printing->summary);
	return 0;
}

const struct format format_text = {
	.begin = text_begin,
	.group = text_group,
	.single = text_single,
	.end = text_end,
};
