/* SPDX-License-Identifier: MIT */

/* Equal folders, and what of each source is elsewhere. */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/human_text.h"
#include "page/page_parts.h"
#include "source/source.h"

/* Highest number of folders of one group that are shown. */
#define NAMES_MAX 5

void page_write_whole_copies(const struct page_writing *writing)
{
	const struct equal_facts *equal = &writing->facts->equal;
	struct html *html = writing->html;

	if (equal->whole == 0)
		return;
	html_raw(html, "<p class=\"copies\"><strong>");
	html_number(html, equal->whole);
	html_format(html, " %s</strong>: ",
		    plural(equal->whole, "folder is a whole copy", "folders are whole copies"));
	html_size(html, equal->whole_bytes);
	html_raw(html, "</p>\n");
}

/* ---- equal folders ------------------------------------------------------------------------ */

/* Writes a path as in uniques/; for all of a single source, the path of the source. */
static void write_path(const struct page_writing *writing, const struct page_equal *group,
		       const struct copy *copy)
{
	const struct source *source = &writing->settings->sources->list[copy->source];
	const char *path = copy_path(&group->copies, copy);
	CLEANUP_BYTES struct bytes text = {0};
	int r;

	if (copy_is_root(&group->copies, copy))
		r = bytes_append_text(&text, *source->tree ? source->tree : source->path);
	else
		r = bytes_format(&text, "%s%s%s", source->tree, *source->tree ? "/" : "", path);
	html_name(writing->html, (const char *)text.data, text.length);
	html_fail(writing->html, r);
}

/* Begins the link of a folder to its place in folders/ of the view. Returns whether it has one. */
static bool begin_link(const struct page_writing *writing, uint64_t dir)
{
	const struct page_settings *settings = writing->settings;
	CLEANUP_BYTES struct bytes path = {0};
	struct html *html = writing->html;
	int r;

	if (!settings->equal_path || !page_has_room(writing))
		return false;
	r = settings->equal_path(settings->context, dir, &path);
	if (r == -ESTALE || path.length > PAGE_LINK_MAX)
		return false;
	html_fail(html, r);
	html_format(html, "<a href=\"%s", settings->view_root);
	html_link(html, (const char *)path.data, path.length);
	html_raw(html, "/\">");
	return true;
}

static void write_names(const struct page_writing *writing, const struct page_equal *group)
{
	struct html *html = writing->html;

	html_raw(html, "<ul class=\"names\">\n");
	for (size_t i = 0; i < group->copies.count && i < NAMES_MAX; i++) {
		bool kept = group->copies.list[i].fate == FATE_KEPT;
		bool linked;

		html_raw(html, kept ? "<li class=\"kept\">" : "<li>");
		linked = begin_link(writing, group->copies.list[i].file);
		write_path(writing, group, &group->copies.list[i]);
		html_raw(html, linked ? "</a>" : "");
		html_raw(html, kept ? " <small>kept</small></li>\n" : "</li>\n");
	}
	if (group->folders > NAMES_MAX) {
		html_raw(html, "<li class=\"more\">and ");
		html_number(html, group->folders - NAMES_MAX);
		html_format(html, " more %s</li>\n",
			    plural(group->folders - NAMES_MAX, "folder", "folders"));
	}
	html_raw(html, "</ul>\n");
}

static void write_group(const struct page_writing *writing, const struct page_equal *group)
{
	struct html *html = writing->html;

	html_raw(html, "<li class=\"group\">\n<div class=\"said\">\n<h3>");
	html_size(html, group->reclaimable);
	html_raw(html, "</h3>\n<p class=\"what\">");
	html_number(html, group->folders);
	html_raw(html, " equal folders of ");
	html_number(html, group->files);
	html_format(html, " %s, ", plural(group->files, "file", "files"));
	html_size(html, group->bytes);
	html_raw(html, "</p>\n");
	write_names(writing, group);
	html_raw(html, "</div>\n</li>\n");
}

void page_write_equal(const struct page_writing *writing)
{
	const struct equal_facts *equal = &writing->facts->equal;
	struct html *html = writing->html;

	if (equal->count == 0)
		return;
	html_raw(html, "<section id=\"equal\">\n<h2>Equal folders</h2>\n<p class=\"lead\">");
	if (equal->groups > equal->count) {
		html_raw(html, "The first ");
		html_number(html, equal->count);
		html_raw(html, " of ");
		html_number(html, equal->groups);
		html_raw(html, " groups, by");
	} else {
		html_raw(html, "By");
	}
	html_raw(html,
		 " reclaimable bytes if one folder of each group is kept. A group can contain "
		 "folders of another, so these sizes do not add up.</p>\n"
		 "<ol class=\"groups\">\n");
	for (size_t i = 0; i < equal->count; i++)
		write_group(writing, &equal->list[i]);
	html_raw(html, "</ol>\n</section>\n");
}

/* ---- sources ------------------------------------------------------------------------------ */

static bool has_copies_elsewhere(const struct page_elsewhere *source)
{
	return source->all.bytes > source->missing_bytes;
}

static void write_source(const struct page_writing *writing, size_t number)
{
	const struct page_elsewhere *source = &writing->facts->elsewhere.list[number];
	const char *path = writing->settings->sources->list[number].path;
	struct html *html = writing->html;

	html_raw(html, source->missing == 0 ? "<li>All <strong>" : "<li><strong>");
	html_size(html, source->all.bytes - source->missing_bytes);
	html_raw(html, "</strong> of ");
	html_name(html, path, strlen(path));
	html_raw(html, " is elsewhere");
	if (source->missing > 0) {
		html_raw(html, "; ");
		html_number(html, source->missing);
		html_format(html, " %s of ", plural(source->missing, "file", "files"));
		html_size(html, source->missing_bytes);
		html_format(html, " %s not", plural(source->missing, "is", "are"));
	}
	html_raw(html, "</li>\n");
}

void page_write_elsewhere(const struct page_writing *writing)
{
	const struct elsewhere_facts *facts = &writing->facts->elsewhere;
	struct html *html = writing->html;
	size_t count = 0;

	for (size_t i = 0; i < facts->count; i++)
		count += has_copies_elsewhere(&facts->list[i]);
	if (count == 0)
		return;
	html_raw(html,
		 "<section id=\"elsewhere\">\n<h2>Elsewhere, too</h2>\n<p class=\"lead\">"
		 "The content of files that is also in another source, by the index. Symlinks do "
		 "not count. <code>twinfs covered --ignore-symlinks</code> examines the files "
		 "before it says that all is elsewhere.</p>\n<ul class=\"names\">\n");
	for (size_t i = 0; i < facts->count; i++) {
		if (has_copies_elsewhere(&facts->list[i]))
			write_source(writing, i);
	}
	html_raw(html, "</ul>\n</section>\n");
}
