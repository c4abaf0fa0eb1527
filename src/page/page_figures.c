/* SPDX-License-Identifier: MIT */

/* The figures and the ages of a page. */

#include "base/human_text.h"
#include "page/page_parts.h"
#include "report/filter.h"

/* ---- figures ------------------------------------------------------------------------------ */

/* Returns the percentage of a part, for the width of a bar. */
static double percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void write_answer(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	const struct filter *filter = writing->settings->filter;
	struct html *html = writing->html;

	if (summary->groups == 0) {
		html_format(html,
			    "<p class=\"answer\"><strong>Nothing</strong> is reclaimable: no %s "
			    "has a copy.</p>\n",
			    filter && filter_is_selective(filter) ? "selected file" : "file");
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
	write_figure(html, plural(summary->groups, "group", "groups"), summary->groups);
	write_figure(html, plural(summary->redundant_files, "redundant copy", "redundant copies"),
		     summary->redundant_files);
	write_figure(html, plural(summary->files, "file", "files"), summary->files);
	write_figure(html, plural(summary->directories, "folder", "folders"), summary->directories);
	begin_figure(html, "in all");
	html_size(html, summary->bytes);
	html_raw(html, "</dd></div>\n</dl>\n</section>\n");
}

/* ---- ages --------------------------------------------------------------------------------- */

static uint64_t largest_of(const struct ages *ages)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < AGE_COUNT; i++) {
		if (ages->bytes[i] > largest)
			largest = ages->bytes[i];
	}
	return largest;
}

static void write_bar(struct html *html, const char *kind, uint64_t bytes, uint64_t largest)
{
	html_format(html,
		    "<td class=\"bar %s\"><div><span class=\"track\"><span "
		    "style=\"width:%.2f%%\"></span></span>",
		    kind, percent(bytes, largest));
	html_size(html, bytes);
	html_raw(html, "</div></td>");
}

static void write_age(const struct page_writing *writing, enum age age)
{
	const struct ages *all = &writing->facts->all;
	const struct ages *redundant = &writing->facts->redundant;
	struct html *html = writing->html;

	html_format(html, "<tr><th scope=\"row\">%s</th>", age_name(age));
	write_bar(html, "all", all->bytes[age], largest_of(all));
	write_bar(html, "redundant", redundant->bytes[age], largest_of(redundant));
	html_raw(html, "<td>");
	html_share(html, redundant->bytes[age], all->bytes[age]);
	html_raw(html, "</td></tr>\n");
}

void page_write_ages(const struct page_writing *writing)
{
	const struct page_facts *facts = writing->facts;
	struct html *html = writing->html;

	if (facts->summary.files == 0)
		return;
	html_raw(html, "<section id=\"ages\">\n<h2>Ages of files</h2>\n"
		       "<div class=\"wide\"><table class=\"ages\">\n"
		       "<caption>Bytes by the time since the last change of the file. Each column "
		       "has its own scale.</caption>\n"
		       "<thead><tr><th scope=\"col\">up to</th><th scope=\"col\">all files</th>"
		       "<th scope=\"col\">redundant copies</th>"
		       "<th scope=\"col\">share</th></tr></thead>\n<tbody>\n");
	for (enum age age = AGE_DAY; age < AGE_COUNT; age++)
		write_age(writing, age);
	if (facts->all.files[AGE_FUTURE] > 0)
		write_age(writing, AGE_FUTURE);
	html_raw(html, "</tbody>\n</table></div>\n</section>\n");
}
