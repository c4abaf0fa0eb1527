/* SPDX-License-Identifier: MIT */

/* The figures, extensions and ages of a page. */

#include <stdio.h>

#include "base/human_text.h"
#include "base/size.h"
#include "page/page_parts.h"
#include "report/filter.h"

/* ---- figures ------------------------------------------------------------------------------ */

/* Returns the percentage of a part, for the width of a bar. */
static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

/* Writes that nothing is redundant. */
static void write_nothing(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	const struct filter *filter = writing->settings->filter;
	struct html *html = writing->html;
	bool complete = summary->pending == 0 && summary->errors == 0;

	if (summary->files == 0) {
		html_raw(html, "<p class=\"answer\"><strong>No files yet</strong> These folders "
			       "are empty.</p>\n");
		return;
	}
	html_format(html, "<p class=\"answer\"><strong>%s</strong> ",
		    complete ? "All unique" : "No copies so far");
	if (filter && filter_is_selective(filter))
		html_raw(html, "Nothing is redundant: no selected file has a copy.</p>\n");
	else
		html_raw(html, complete ? "Nothing is redundant: no file has a copy, so there is "
					  "nothing to free.</p>\n"
					: "Nothing is redundant among the files that were "
					  "compared.</p>\n");
}

/* Writes why removing the redundant copies frees less than their size. */
static void write_retained(struct html *html, const struct report_summary *summary)
{
	if (summary->reclaimable_bytes >= summary->redundant_bytes)
		return;
	html_raw(html, "<p>The redundant copies have ");
	html_size(html, summary->redundant_bytes);
	html_raw(html, ". The rest is holes, or other files hold its blocks.</p>\n");
}

static void write_answer(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;

	if (summary->groups == 0) {
		write_nothing(writing);
		return;
	}
	html_raw(html, "<p class=\"answer\"><strong>");
	html_size(html, summary->reclaimable_bytes);
	html_raw(html, "</strong> reclaimable, ");
	html_share(html, summary->reclaimable_bytes, summary->bytes);
	html_raw(html, " of the ");
	html_size(html, summary->bytes);
	html_raw(html, " in these folders</p>\n<div class=\"whole\" role=\"img\" "
		       "aria-label=\"Reclaimable bytes as a part of all bytes\">");
	html_format(html, "<span style=\"width:%.2f%%\"></span></div>\n",
		    percent(summary->reclaimable_bytes, summary->bytes));
	write_retained(html, summary);
}

static void begin_figure(struct html *html, const char *name)
{
	html_format(html, "<div><dt>%s</dt><dd>", name);
}

static void write_figure(struct html *html, const char *name, uint64_t number)
{
	begin_figure(html, name);
	html_number(html, number);
	html_raw(html, "</dd></div>\n");
}

void page_write_figures(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;

	html_raw(html, "<section id=\"figures\">\n<h2 class=\"unseen\">Figures</h2>\n");
	write_answer(writing);
	html_raw(html, "<dl class=\"figures\">\n");
	if (summary->groups > 0) {
		write_figure(html, plural(summary->groups, "group", "groups"), summary->groups);
		write_figure(html,
			     plural(summary->redundant_files, "redundant copy", "redundant copies"),
			     summary->redundant_files);
	}
	write_figure(html, plural(summary->files, "file", "files"), summary->files);
	write_figure(html, plural(summary->directories, "folder", "folders"), summary->directories);
	begin_figure(html, "in all");
	html_size(html, summary->bytes);
	html_raw(html, "</dd></div>\n</dl>\n</section>\n");
}

/* ---- tables with bars --------------------------------------------------------------------- */

/* A row: what all files of a kind or an age have, and the redundant copies among them. */
struct figure_row {
	const char *name; /* outside data must be escaped */
	uint64_t bytes, redundant;
};

static void begin_table(struct html *html, const char *id, const char *title, const char *caption)
{
	html_format(html,
		    "<section id=\"%s\">\n<h2>%s</h2>\n"
		    "<p class=\"legend\"><span>%s</span> "
		    "<span><span class=\"key redundant\"></span>redundant copies</span> "
		    "<span><span class=\"key all\"></span>other files</span></p>\n"
		    "<div class=\"wide\"><table class=\"bars\">\n",
		    id, title, caption);
	html_raw(html, "<thead><tr><th scope=\"col\"></th><th scope=\"col\"></th>"
		       "<th scope=\"col\">all files</th><th scope=\"col\">redundant</th>"
		       "<th scope=\"col\">share</th></tr></thead>\n<tbody>\n");
}

/* Writes a row. largest: the bytes of the longest bar of the table. */
static void write_row(struct html *html, const struct figure_row *row, uint64_t largest)
{
	html_format(html, "<tr><th scope=\"row\">%s</th>", row->name);
	html_format(html, "<td class=\"bar\"><span class=\"all\" style=\"width:%.2f%%\">",
		    percent(row->bytes, largest));
	if (row->redundant > 0)
		html_format(html, "<span class=\"redundant\" style=\"width:%.2f%%\"></span>",
			    percent(row->redundant, row->bytes));
	html_raw(html, "</span></td><td>");
	html_size(html, row->bytes);
	html_raw(html, "</td><td>");
	html_size(html, row->redundant);
	html_raw(html, "</td><td>");
	if (row->redundant > 0)
		html_share(html, row->redundant, row->bytes);
	html_raw(html, "</td></tr>\n");
}

static void end_table(struct html *html)
{
	html_raw(html, "</tbody>\n</table></div>\n</section>\n");
}

static void keep_largest(uint64_t *largest, uint64_t bytes)
{
	if (bytes > *largest)
		*largest = bytes;
}

/* ---- extensions --------------------------------------------------------------------------- */

/* Highest number of extensions in the table. */
#define KINDS_SHOWN 12

/* Makes the rows of the kinds with the most redundant bytes, and one row of all other kinds with
 * redundant bytes. Returns the number of rows. */
static size_t make_kind_rows(const struct kinds *kinds, char names[KINDS_SHOWN + 1][32],
			     struct figure_row rows[KINDS_SHOWN + 1])
{
	struct figure_row others = {0};
	size_t count = 0;
	size_t more = 0;

	for (size_t i = 0; i < kinds->count && kinds->list[i].redundant > 0; i++) {
		const struct kind *kind = &kinds->list[i];

		if (i >= KINDS_SHOWN) {
			others.bytes = size_add(others.bytes, kind->bytes);
			others.redundant = size_add(others.redundant, kind->redundant);
			more++;
			continue;
		}
		(void)snprintf(names[count], sizeof(names[count]), "%s%s",
			       *kind->name ? "." : "no extension", kind->name);
		rows[count] = (struct figure_row){names[count], kind->bytes, kind->redundant};
		count++;
	}
	if (more == 0)
		return count;
	(void)snprintf(names[count], sizeof(names[count]), "%zu %s", more,
		       plural(more, "other", "others"));
	others.name = names[count];
	rows[count] = others;
	return count + 1;
}

void page_write_kinds(const struct page_writing *writing)
{
	char names[KINDS_SHOWN + 1][32];
	struct figure_row rows[KINDS_SHOWN + 1];
	size_t count = make_kind_rows(&writing->facts->kinds, names, rows);
	struct html *html = writing->html;
	uint64_t largest = 0;

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++)
		keep_largest(&largest, rows[i].bytes);
	begin_table(html, "kinds", "By extension", "The extensions with the most redundant bytes.");
	for (size_t i = 0; i < count; i++)
		write_row(html, &rows[i], largest);
	end_table(html);
}

/* ---- ages --------------------------------------------------------------------------------- */

void page_write_ages(const struct page_writing *writing)
{
	const struct ages *all = &writing->facts->all;
	const struct ages *redundant = &writing->facts->redundant;
	struct html *html = writing->html;
	uint64_t largest = 0;

	if (writing->facts->summary.groups == 0)
		return;
	for (size_t i = 0; i < AGE_COUNT; i++)
		keep_largest(&largest, all->bytes[i]);
	if (largest == 0)
		return;
	begin_table(html, "ages", "By age",
		    "By the time since the last change of the file, up to:");
	for (size_t i = 1; i <= AGE_COUNT; i++) {
		enum age age = (enum age)(i % AGE_COUNT); /* the future is last */
		const struct figure_row row = {age_name(age), all->bytes[age],
					       redundant->bytes[age]};

		if (row.bytes > 0)
			write_row(html, &row, largest);
	}
	end_table(html);
}
