/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"
#include "index/query.h"
#include "index/source.h"
#include "page/page_parts.h"

/* The groups of a page with the most reclaimable bytes, of files and of equal folders, and what of
 * each source is elsewhere. */

/* Highest number of names of one group that are shown. */
#define NAMES_MAX 5

/* Largest picture that the page loads from the view, in bytes. Larger pictures would load
 * slowly. */
#define PICTURE_IN_VIEW_MAX (8UL << 20)

/* ---- paths -------------------------------------------------------------------------------- */

/* Makes the path of a copy, as in uniques/ and redundant/; for all of a single source, the path of
 * the source. */
static int make_path(const struct page_writing *writing, const struct copies *copies,
		     const struct copy *copy, struct bytes *path)
{
	const struct source *source = &writing->settings->sources->list[copy->source];
	const char *tree = source->tree;

	path->length = 0;
	if (copy_is_root(copies, copy))
		return bytes_append_text(path, *tree ? tree : source->path);
	return bytes_format(path, "%s%s%s", tree, *tree ? "/" : "", copy_path(copies, copy));
}

static bool has_link(const struct page_writing *writing, const struct bytes *path)
{
	return writing->settings->view_root && path->length <= PAGE_LINK_MAX &&
	       page_has_room(writing);
}

static void write_link(const struct page_writing *writing, const struct copy *copy,
		       const struct bytes *path)
{
	struct html *html = writing->html;

	html_format(html, "%s%s/", writing->settings->view_root,
		    copy->fate == FATE_KEPT ? "uniques" : "redundant");
	html_link(html, (const char *)path->data, path->length);
}

static void write_name(const struct page_writing *writing, const struct page_group *group,
		       const struct copy *copy, struct bytes *path)
{
	struct html *html = writing->html;
	int r = make_path(writing, &group->copies, copy, path);
	bool linked = has_link(writing, path);

	if (r < 0) {
		html_fail(html, r);
		return;
	}
	html_raw(html, copy->fate == FATE_KEPT ? "<li class=\"kept\">" : "<li>");
	if (linked) {
		html_raw(html, "<a href=\"");
		write_link(writing, copy, path);
		html_raw(html, "\">");
	}
	html_name(html, (const char *)path->data, path->length);
	html_raw(html, linked ? "</a>" : "");
	if (copy->another_name)
		html_raw(html, " <small>link</small>");
	else if (copy->fate == FATE_KEPT)
		html_raw(html, " <small>kept</small>");
	html_raw(html, "</li>\n");
}

/* Ends a list of names, with the number of those that are not shown. */
static void end_names(struct html *html, uint64_t more, const char *one, const char *several)
{
	if (more > 0)
		html_format(html, "<li class=\"more\">and %s more %s</li>\n",
			    html_number(more).text, plural(more, one, several));
	html_raw(html, "</ul>\n");
}

/* Returns the number of copies of which no name is shown. */
static uint64_t count_unnamed(const struct page_group *group)
{
	uint64_t named = 0;

	for (size_t i = 0; i < group->copies.count && i < NAMES_MAX; i++)
		named += !group->copies.list[i].another_name;
	return group->group.inodes - named;
}

static void write_names(const struct page_writing *writing, const struct page_group *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct html *html = writing->html;

	html_raw(html, "<ul class=\"names\">\n");
	for (size_t i = 0; i < group->copies.count && i < NAMES_MAX; i++)
		write_name(writing, group, &group->copies.list[i], &path);
	end_names(html, count_unnamed(group), "copy", "copies");
}

/* ---- pictures ----------------------------------------------------------------------------- */

/* Returns whether a file with this extension is a picture that browsers show. */
static bool is_picture(const char *extension)
{
	static const char *const known[] = {"jpg", "jpeg", "png", "gif", "webp"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(extension, known[i]) == 0)
			return true;
	}
	return false;
}

static void write_data(struct html *html, const struct bytes *picture)
{
	html_format(html, "data:image/%s;base64,", picture->data[0] == 0xff ? "jpeg" : "png");
	if (html->error == 0)
		html->error = base64_encode(&html->text, picture->data, picture->length);
}

static void write_picture(const struct page_writing *writing, const struct page_group *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	const struct copy *kept = &group->copies.list[0];
	const char *whole = copy_path(&group->copies, kept);
	const char *name = strrchr(whole, '/') ? strrchr(whole, '/') + 1 : whole;
	char extension[KIND_NAME_MAX + 1];
	struct html *html = writing->html;
	int r = make_path(writing, &group->copies, kept, &path);
	bool beside;

	kind_name(extension, name, strlen(name));
	beside = has_link(writing, &path) && is_picture(extension) &&
		 group->group.size <= PICTURE_IN_VIEW_MAX;
	html_raw(html, "<div class=\"picture\">");
	if (group->picture.length > 0 || beside) {
		html_raw(html, "<img alt=\"The contents of the file\" loading=\"lazy\" src=\"");
		if (beside)
			write_link(writing, kept, &path);
		else
			write_data(html, &group->picture);
		html_raw(html, "\">");
	} else {
		html_format(html, "<span class=\"icon\" aria-hidden=\"true\">%s%s</span>",
			    *extension ? "." : "", extension);
	}
	html_raw(html, "</div>\n");
	html_fail(html, r);
}

/* ---- groups ------------------------------------------------------------------------------- */

static void write_head(const struct page_writing *writing, const struct page_group *group)
{
	const char *root = writing->settings->view_root;
	struct html *html = writing->html;
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->group.hash, group->group.ordinal);
	html_format(html, "<h3>%s</h3>\n<p class=\"what\">%s copies of %s ",
		    html_size(group_reclaimable(&group->group)).text,
		    html_number(group->group.inodes).text, html_size(group->group.size).text);
	if (root)
		html_format(html, "<a class=\"hash\" href=\"%sdups/%s/\">%s</a></p>\n", root, name,
			    name);
	else
		html_format(html, "<span class=\"hash\">%s</span></p>\n", name);
}

static void write_group(const struct page_writing *writing, const struct page_group *group)
{
	html_raw(writing->html, "<li class=\"group\">\n");
	write_picture(writing, group);
	html_raw(writing->html, "<div class=\"said\">\n");
	write_head(writing, group);
	write_names(writing, group);
	html_raw(writing->html, "</div>\n</li>\n");
}

void page_write_groups(const struct page_writing *writing)
{
	const struct page_facts *facts = writing->facts;
	struct html *html = writing->html;

	if (facts->group_count == 0)
		return;
	html_raw(html, "<section id=\"groups\">\n<h2>The largest groups</h2>\n<p class=\"lead\">");
	if (facts->summary.groups > facts->group_count)
		html_format(html, "The first %s of %s, by", html_number(facts->group_count).text,
			    html_number(facts->summary.groups).text);
	else
		html_raw(html, "By");
	html_raw(html,
		 " reclaimable bytes if one copy of each is kept.</p>\n<ol class=\"groups\">\n");
	for (size_t i = 0; i < facts->group_count; i++) {
		if (facts->groups[i].copies.count > 0)
			write_group(writing, &facts->groups[i]);
	}
	html_raw(html, "</ol>\n</section>\n");
}

/* ---- equal folders ------------------------------------------------------------------------ */

void page_write_whole_copies(const struct page_writing *writing)
{
	const struct equal_facts *equal = &writing->facts->equal;

	if (equal->whole > 0)
		html_format(writing->html, "<p class=\"copies\"><strong>%s %s</strong>: %s</p>\n",
			    html_number(equal->whole).text,
			    plural(equal->whole, "folder is a whole copy",
				   "folders are whole copies"),
			    html_size(equal->whole_bytes).text);
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

static void write_equal_names(const struct page_writing *writing, const struct page_equal *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct html *html = writing->html;

	html_raw(html, "<ul class=\"names\">\n");
	for (size_t i = 0; i < group->copies.count && i < NAMES_MAX; i++) {
		bool kept = group->copies.list[i].fate == FATE_KEPT;
		bool linked;

		html_raw(html, kept ? "<li class=\"kept\">" : "<li>");
		linked = begin_link(writing, group->copies.list[i].file);
		html_fail(html, make_path(writing, &group->copies, &group->copies.list[i], &path));
		html_name(html, (const char *)path.data, path.length);
		html_raw(html, linked ? "</a>" : "");
		html_raw(html, kept ? " <small>kept</small></li>\n" : "</li>\n");
	}
	end_names(html, group->folders > NAMES_MAX ? group->folders - NAMES_MAX : 0, "folder",
		  "folders");
}

static void write_equal_group(const struct page_writing *writing, const struct page_equal *group)
{
	struct html *html = writing->html;

	html_format(html,
		    "<li class=\"group\">\n<div class=\"said\">\n<h3>%s</h3>\n<p class=\"what\">"
		    "%s equal folders of %s %s, %s</p>\n",
		    html_size(group->reclaimable).text, html_number(group->folders).text,
		    html_number(group->files).text, plural(group->files, "file", "files"),
		    html_size(group->bytes).text);
	write_equal_names(writing, group);
	html_raw(html, "</div>\n</li>\n");
}

void page_write_equal(const struct page_writing *writing)
{
	const struct equal_facts *equal = &writing->facts->equal;
	struct html *html = writing->html;

	if (equal->count == 0)
		return;
	html_raw(html, "<section id=\"equal\">\n<h2>Equal folders</h2>\n<p class=\"lead\">");
	if (equal->groups > equal->count)
		html_format(html, "The first %s of %s groups, by", html_number(equal->count).text,
			    html_number(equal->groups).text);
	else
		html_raw(html, "By");
	html_raw(html,
		 " reclaimable bytes if one folder of each group is kept. A group can contain "
		 "folders of another, so these sizes do not add up.</p>\n"
		 "<ol class=\"groups\">\n");
	for (size_t i = 0; i < equal->count; i++)
		write_equal_group(writing, &equal->list[i]);
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

	html_format(html, "<li>%s<strong>%s</strong> of ", source->missing == 0 ? "All " : "",
		    html_size(source->all.bytes - source->missing_bytes).text);
	html_name(html, path, strlen(path));
	html_raw(html, " is elsewhere");
	if (source->missing > 0)
		html_format(html, "; %s %s of %s %s not", html_number(source->missing).text,
			    plural(source->missing, "file", "files"),
			    html_size(source->missing_bytes).text,
			    plural(source->missing, "is", "are"));
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
