/* SPDX-License-Identifier: MIT */
#include "page/page.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/human_text.h"
#include "page/page_parts.h"
#include "report/filter.h"
#include "report/rules.h"
#include "source/source.h"

#define SOURCES_SHOWN_MAX 20

/* Highest number of bytes that the page shows of the keep rules. */
#define RULES_SHOWN_MAX 1000

/* Forbids the browser to load anything but pictures, which are in the page or in the view. A page
 * that is opened as a file has no origin, so 'self' alone does not suffice for such a page. */
#define POLICY(pictures)                                                                        \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src " \
	"'unsafe-inline'; img-src " pictures "; base-uri 'none'; form-action 'none'\">\n"

static void write_head(const struct page_writing *writing)
{
	struct html *html = writing->html;

	html_raw(html, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	html_raw(html,
		 writing->settings->view_root ? POLICY("'self' data: file:") : POLICY("data:"));
	html_raw(html, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		       "<meta name=\"color-scheme\" content=\"light dark\">\n"
		       "<meta name=\"referrer\" content=\"no-referrer\">\n"
		       "<meta name=\"robots\" content=\"noindex\">\n"
		       "<link rel=\"icon\" href=\"data:,\">\n"
		       "<title>Where the space went</title>\n<style>\n");
	for (const char *const *piece = page_style; *piece; piece++)
		html_raw(html, *piece);
	html_raw(html, "</style>\n</head>\n<body>\n");
}

static void write_sources(const struct page_writing *writing)
{
	const struct sources *sources = writing->settings->sources;
	struct html *html = writing->html;

	html_raw(html, "<ul class=\"sources\">\n");
	for (size_t i = 0; i < sources->count && i < SOURCES_SHOWN_MAX; i++) {
		const char *path = sources->list[i].path;

		html_raw(html, sources->operands ? "<li>named files in " : "<li>");
		html_name(html, path, strlen(path));
		html_raw(html, "</li>\n");
	}
	if (sources->count > SOURCES_SHOWN_MAX)
		html_format(html, "<li>and %zu more</li>\n", sources->count - SOURCES_SHOWN_MAX);
	html_raw(html, "</ul>\n");
}

/* Writes which rules choose the kept copies, if there are any. */
static void write_rules(const struct page_writing *writing)
{
	const struct rules *rules = writing->settings->rules;
	const struct keep_rules *keep = rules ? rules->of_index : NULL;
	struct html *html = writing->html;
	size_t length;

	if (rules && rules->keep && rules->keep->count > 0)
		keep = rules->keep;
	if (!keep || keep->count == 0)
		return;
	length = keep->text.length < RULES_SHOWN_MAX ? keep->text.length : RULES_SHOWN_MAX;
	html_raw(html, "<p class=\"made\">Kept copies are chosen by: ");
	html_name(html, (const char *)keep->text.data, length);
	html_raw(html, keep->text.length > length ? " ...</p>\n" : "</p>\n");
}

static void write_header(const struct page_writing *writing)
{
	struct html *html = writing->html;

	html_raw(html, "<header>\n<h1>Where the space went</h1>\n");
	write_sources(writing);
	html_raw(html, "<p class=\"made\">");
	html_time(html, writing->settings->now);
	html_raw(html, "</p>\n");
	if (writing->settings->filter && filter_is_selective(writing->settings->filter))
		html_raw(html, "<p class=\"made\">Only the groups that the options of this report "
			       "select are counted.</p>\n");
	write_rules(writing);
	html_raw(html, "</header>\n");
}

/* Writes which files and folders could not be read. */
static void write_unreadable(const struct page_writing *writing)
{
	const struct unreadable_facts *unreadable = &writing->facts->unreadable;
	uint64_t all = writing->facts->summary.errors;
	struct html *html = writing->html;

	html_raw(html, "<p>Not complete: ");
	html_number(html, all);
	html_format(html, " %s could not be read.</p>\n",
		    plural(all, "file or folder", "files or folders"));
	if (unreadable->count == 0)
		return;
	html_raw(html, "<ul class=\"names\">\n");
	for (size_t i = 0; i < unreadable->count; i++) {
		const struct bytes *path = &unreadable->list[i].path;

		html_raw(html, "<li>");
		html_name(html, (const char *)path->data, path->length);
		html_format(html, " <small>%s</small></li>\n",
			    error_text(unreadable->list[i].error));
	}
	if (all > unreadable->count) {
		html_raw(html, "<li class=\"more\">and ");
		html_number(html, all - unreadable->count);
		html_raw(html, " more</li>\n");
	}
	html_raw(html, "</ul>\n");
}

/* Writes why the figures can be incomplete or inconsistent. */
static void write_caveats(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;

	if (summary->errors == 0 && summary->pending == 0 && !writing->facts->changed)
		return;
	html_raw(html, "<aside class=\"caveats\">\n");
	if (summary->errors > 0)
		write_unreadable(writing);
	if (summary->pending > 0) {
		html_raw(html, "<p>Not complete: ");
		html_number(html, summary->pending);
		html_format(html, " %s not compared yet.</p>\n",
			    plural(summary->pending, "file is", "files are"));
	}
	if (writing->facts->changed)
		html_raw(html, "<p>Files changed while this page was made, so its figures can "
			       "differ slightly from each other.</p>\n");
	html_raw(html, "</aside>\n");
}

static void write_footer(const struct page_writing *writing)
{
	struct html *html = writing->html;

	html_raw(html, "<footer>\n");
	if (writing->facts->summary.groups > 0)
		html_raw(html,
			 "<p>All copies counted here were compared byte by byte and are equal. "
			 "Hard links of a file count as one copy. One copy of each group is kept; "
			 "the "
			 "others are redundant. twinfs never removes the last copy.</p>\n");
	html_format(html, "<p>twinfs %s, generation ", TWINFS_VERSION);
	html_number(html, writing->facts->generation);
	html_raw(html, "</p>\n</footer>\n</body>\n</html>\n");
}

static void write_page(const struct page_writing *writing)
{
	write_head(writing);
	write_header(writing);
	html_raw(writing->html, "<main>\n");
	page_write_whole_copies(writing);
	page_write_figures(writing);
	write_caveats(writing);
	page_write_next(writing);
	page_write_equal(writing);
	page_write_elsewhere(writing);
	page_write_folders(writing);
	page_write_kinds(writing);
	page_write_ages(writing);
	page_write_groups(writing);
	html_raw(writing->html, "</main>\n");
	write_footer(writing);
}

int page_make(const struct page_settings *settings, struct bytes *page, struct page_result *result)
{
	CLEANUP_PAGE_FACTS struct page_facts facts = {0};
	struct html html = {0};
	const struct page_writing writing = {settings, &facts, &html};
	int r = page_facts_gather(&facts, settings);

	if (r < 0)
		return r;
	*result = (struct page_result){facts.summary.errors, facts.summary.pending};
	html.text = *page;
	*page = (struct bytes){0};
	write_page(&writing);
	*page = html.text;
	html.text = (struct bytes){0};
	return html.error;
}
