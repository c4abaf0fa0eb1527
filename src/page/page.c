/* SPDX-License-Identifier: MIT */
#include "page/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/numbers.h"
#include "base/text.h"
#include "choose/filter.h"
#include "choose/rules.h"
#include "index/operands.h"
#include "index/source.h"
#include "page/page_parts.h"

/* ---- what to do next ------------------------------------------------------------------------ */

/* What to do next: commands that can be copied, with the sources or the mount point. */

/* Longest list of sources and options that commands repeat, in bytes. Instead of a longer list,
 * they have "SOURCE...". */
#define WORDS_MAX 2000

/* The words that commands of the page have in common. */
struct next_words {
	struct bytes targets; /* the mount point, the sources or the named files; quoted */
	struct bytes group_options, scan_options; /* each after a space */
};

static void words_free(struct next_words *words)
{
	bytes_free(&words->targets);
	bytes_free(&words->group_options);
	bytes_free(&words->scan_options);
}

static int add_target(struct bytes *targets, const char *path)
{
	int r = targets->length > 0 ? bytes_append_text(targets, " ") : 0;

	return r < 0 ? r : shell_word_append(targets, path, strlen(path));
}

static int add_operands(struct bytes *targets, const struct operands *operands)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < operands->count && targets->length <= WORDS_MAX; i++) {
		const struct operand *operand = &operands->list[i];

		path.length = 0;
		r = bytes_format(&path, "%s%s%s", operands->folder, operand->length > 0 ? "/" : "",
				 operand->path);
		if (r == 0)
			r = bytes_text(&path) ? add_target(targets, bytes_text(&path)) : -ENOMEM;
	}
	return r;
}

static int add_targets(struct bytes *targets, const struct page_settings *settings)
{
	const struct sources *sources = settings->sources;
	int r = 0;

	if (settings->mount_point)
		return add_target(targets, settings->mount_point);
	if (sources->operands)
		return add_operands(targets, sources->operands);
	for (size_t i = 0; r == 0 && i < sources->count && targets->length <= WORDS_MAX; i++)
		r = add_target(targets, sources->list[i].path);
	return r;
}

static int words_init(struct next_words *words, const struct page_settings *settings)
{
	const char *scan = settings->scan_options ? settings->scan_options : "";
	const char *group = settings->group_options ? settings->group_options : "";
	int r = add_targets(&words->targets, settings);

	if (words->targets.length > WORDS_MAX) {
		words->targets.length = 0;
		r = bytes_append_text(&words->targets, "SOURCE...");
	}
	if (r == 0)
		r = bytes_append_text(&words->scan_options,
				      strlen(scan) > WORDS_MAX ? " OPTION..." : scan);
	return r < 0 ? r
		     : bytes_append_text(&words->group_options,
					 strlen(group) > WORDS_MAX ? " OPTION..." : group);
}

/* ---- steps -------------------------------------------------------------------------------- */

static void write_bytes(struct html *html, const struct bytes *bytes)
{
	html_text(html, (const char *)bytes->data, bytes->length);
}

/* Ends the sentences of a step, and writes a command of twinfs.
 *
 * group_options	NULL: the command does not act upon the shown groups
 */
static void end_step(struct html *html, const struct next_words *words, const char *command,
		     const struct bytes *group_options)
{
	html_format(html, "</p>\n<code class=\"command\">twinfs %s", command);
	write_bytes(html, &words->scan_options);
	if (group_options)
		write_bytes(html, group_options);
	html_raw(html, " ");
	write_bytes(html, &words->targets);
	html_raw(html, "</code></li>\n");
}

static void end_act(struct html *html, const struct next_words *words, const char *command)
{
	end_step(html, words, command, &words->group_options);
}

static void write_acts(const struct page_writing *writing, const struct next_words *words)
{
	const struct equal_facts *equal = &writing->facts->equal;
	struct html *html = writing->html;

	html_raw(html,
		 "<li><p><strong>See what can go.</strong> Lists each redundant copy, with the "
		 "copy that stays and why. Nothing is changed.");
	end_act(html, words, "remove --dry-run");
	html_format(html,
		    "<li><p><strong>Free the space.</strong> Asks first, then moves the redundant "
		    "copies to the trash; emptying the trash frees up to %s. One copy of each file "
		    "stays where it is. <code>twinfs undo</code> brings the others back.",
		    html_size(writing->facts->summary.reclaimable_bytes).text);
	end_act(html, words, "remove --trash");
	if (equal->whole == 0)
		return;
	html_format(html,
		    "<li><p><strong>Or free only whole folders:</strong> %s %s, %s. Again, this "
		    "only lists them:",
		    html_number(equal->whole).text,
		    plural(equal->whole, "folder is a whole copy", "folders are whole copies"),
		    html_size(equal->whole_bytes).text);
	end_act(html, words, "remove --folders --dry-run");
}

static void write_mounting(struct html *html, const struct next_words *words)
{
	html_raw(html, "Makes a folder &quot;view&quot; that shows the copies and follows every "
		       "change, for any file manager. <code>twinfs unmount view</code> ends it."
		       "</p>\n<code class=\"command\">mkdir -p view &amp;&amp; twinfs mount "
		       "--wait");
	write_bytes(html, &words->scan_options);
	html_raw(html, " ");
	write_bytes(html, &words->targets);
	html_raw(html, " view</code></li>\n");
}

static void write_browsing(const struct page_writing *writing, const struct next_words *words)
{
	const char *root = writing->settings->view_root;
	struct html *html = writing->html;

	html_raw(html, "<li><p><strong>Browse the copies.</strong> ");
	if (root) {
		html_format(html,
			    "This page is in a view that follows its sources: "
			    "<a href=\"%sby-size/\">by-size</a> has the groups, the largest first, "
			    "<a href=\"%sdups/\">dups</a> all groups, "
			    "<a href=\"%sfolders/\">folders</a> the equal folders, "
			    "<a href=\"%sredundant/\">redundant</a> only what can go.</p></li>\n",
			    root, root, root, root);
	} else if (writing->settings->mount_point) {
		html_raw(html, "The view has the groups in by-size/, the largest first, and equal "
			       "folders in folders/.</p>\n<code class=\"command\">ls ");
		write_bytes(html, &words->targets);
		html_raw(html, "/by-size</code></li>\n");
	} else {
		write_mounting(html, words);
	}
}

static void write_backup(const struct page_writing *writing, const struct next_words *words)
{
	struct html *html = writing->html;

	html_raw(html,
		 "<li><p><strong>Back up each content once.</strong> In a view, uniques/ has one "
		 "copy of every file. Replace BACKUP by the folder of the backup.</p>\n"
		 "<code class=\"command\">rsync -aHAXS ");
	if (writing->settings->mount_point)
		write_bytes(html, &words->targets);
	else
		html_raw(html, "view");
	html_raw(html, "/uniques/ BACKUP/</code></li>\n");
}

/* Writes how to share equal parts of different files, if some are known. */
static void write_parts(const struct page_writing *writing, const struct next_words *words)
{
	const struct equal_parts *parts = &writing->facts->parts;

	if (parts->runs == 0)
		return;
	html_format(
		writing->html,
		"<li><p><strong>Share equal parts of different files.</strong> The last dry run, "
		"on %s, found %s in %s %s of equal blocks. Every file keeps its content.",
		html_time(parts->time).text, html_size(parts->bytes).text,
		html_number(parts->runs).text, plural(parts->runs, "run", "runs"));
	end_step(writing->html, words, "dedupe --partial", NULL);
}

/* Returns whether a view of these sources could be mounted. A view has whole folders. */
static bool is_mountable(const struct page_settings *settings)
{
	return !settings->sources->operands && !settings->mount_point;
}

static void write_steps(const struct page_writing *writing, const struct next_words *words)
{
	struct html *html = writing->html;

	if (writing->facts->summary.groups == 0) {
		write_parts(writing, words);
		if (!is_mountable(writing->settings))
			return;
		html_raw(html, "<li><p><strong>See copies as soon as there are any.</strong> ");
		write_mounting(html, words);
		return;
	}
	write_acts(writing, words);
	write_parts(writing, words);
	if (writing->settings->sources->operands) /* a view has whole folders */
		return;
	write_browsing(writing, words);
	write_backup(writing, words);
}

/* Writes the commands to go on with. Writes nothing if there are none. If memory is short,
 * stores -ENOMEM in html. */
static void write_next(const struct page_writing *writing)
{
	CLEANUP(words_free) struct next_words words = {0};
	const struct page_settings *settings = writing->settings;
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;
	int r;

	if (summary->groups == 0 && writing->facts->parts.runs == 0 &&
	    (summary->files == 0 || !is_mountable(settings)))
		return;
	r = words_init(&words, settings);
	html_fail(html, r);
	html_raw(html, "<section id=\"next\">\n<h2>What to do next</h2>\n<ol class=\"steps\">\n");
	write_steps(writing, &words);
	html_raw(html, "</ol>\n</section>\n");
}

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

static void write_answer(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;

	if (summary->groups == 0) {
		write_nothing(writing);
		return;
	}
	html_format(
		html,
		"<p class=\"answer\"><strong>%s</strong> reclaimable, %s of the %s in these "
		"folders</p>\n<div class=\"whole\" role=\"img\" aria-label=\"Reclaimable bytes as "
		"a part of all bytes\"><span style=\"width:%.2f%%\"></span></div>\n",
		html_size(summary->reclaimable_bytes).text,
		html_share(summary->reclaimable_bytes, summary->bytes).text,
		html_size(summary->bytes).text,
		percent(summary->reclaimable_bytes, summary->bytes));
	if (summary->reclaimable_bytes < summary->redundant_bytes)
		html_format(
			html,
			"<p>The redundant copies have %s. The rest is holes, or other files hold "
			"its blocks.</p>\n",
			html_size(summary->redundant_bytes).text);
}

static void write_figure(struct html *html, const char *name, struct html_markup figure)
{
	html_format(html, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, figure.text);
}

/* Writes the figures and the share of reclaimable bytes. */
static void write_figures(const struct page_writing *writing)
{
	const struct report_summary *summary = &writing->facts->summary;
	struct html *html = writing->html;

	html_raw(html, "<section id=\"figures\">\n<h2 class=\"unseen\">Figures</h2>\n");
	write_answer(writing);
	html_raw(html, "<dl class=\"figures\">\n");
	if (summary->groups > 0) {
		write_figure(html, plural(summary->groups, "group", "groups"),
			     html_number(summary->groups));
		write_figure(html,
			     plural(summary->redundant_files, "redundant copy", "redundant copies"),
			     html_number(summary->redundant_files));
	}
	write_figure(html, plural(summary->files, "file", "files"), html_number(summary->files));
	write_figure(html, plural(summary->directories, "folder", "folders"),
		     html_number(summary->directories));
	write_figure(html, "in all", html_size(summary->bytes));
	html_raw(html, "</dl>\n</section>\n");
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
		    "<div class=\"wide\"><table class=\"bars\">\n"
		    "<thead><tr><th scope=\"col\"></th><th scope=\"col\"></th>"
		    "<th scope=\"col\">all files</th><th scope=\"col\">redundant</th>"
		    "<th scope=\"col\">share</th></tr></thead>\n<tbody>\n",
		    id, title, caption);
}

/* Writes a row. largest: the bytes of the longest bar of the table. */
static void write_row(struct html *html, const struct figure_row *row, uint64_t largest)
{
	html_format(html,
		    "<tr><th scope=\"row\">%s</th>"
		    "<td class=\"bar\"><span class=\"all\" style=\"width:%.2f%%\">",
		    row->name, percent(row->bytes, largest));
	if (row->redundant > 0)
		html_format(html, "<span class=\"redundant\" style=\"width:%.2f%%\"></span>",
			    percent(row->redundant, row->bytes));
	html_format(html, "</span></td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
		    html_size(row->bytes).text, html_size(row->redundant).text,
		    row->redundant > 0 ? html_share(row->redundant, row->bytes).text : "");
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

/* Writes redundant bytes by extension. Writes nothing if nothing is redundant. */
static void write_kinds(const struct page_writing *writing)
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

/* Writes the ages of all files and of redundant copies. Writes nothing if nothing is redundant. */
static void write_ages(const struct page_writing *writing)
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

/* ---- page ----------------------------------------------------------------------------------- */

#define SOURCES_SHOWN_MAX 20

/* Highest number of bytes that the page shows of the keep rules. */
#define RULES_SHOWN_MAX 1000

/* The browser may load nothing but pictures, which are in the page or in the view. A page that is
 * opened as a file has no origin, so 'self' alone does not suffice for such a page. */
static void write_head(const struct page_writing *writing)
{
	const struct html_value values[] = {
		{"pictures", writing->settings->view_root ? "'self' data: file:" : "data:"},
		{"title", "Where the space went"},
		{"style", page_style},
		{0},
	};

	html_fill(writing->html, page_head, values);
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
	html_format(html, "<p class=\"made\">%s</p>\n", html_time(writing->settings->now).text);
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

	html_format(html, "<p>Not complete: %s %s could not be read.</p>\n", html_number(all).text,
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
	if (all > unreadable->count)
		html_format(html, "<li class=\"more\">and %s more</li>\n",
			    html_number(all - unreadable->count).text);
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
	if (summary->pending > 0)
		html_format(html, "<p>Not complete: %s %s not compared yet.</p>\n",
			    html_number(summary->pending).text,
			    plural(summary->pending, "file is", "files are"));
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
	html_format(html, "<p>twinfs %s, generation %s</p>\n</footer>\n</body>\n</html>\n",
		    TWINFS_VERSION, html_number(writing->facts->generation).text);
}

static void write_page(const struct page_writing *writing)
{
	write_head(writing);
	write_header(writing);
	html_raw(writing->html, "<main>\n");
	page_write_whole_copies(writing);
	write_figures(writing);
	write_caveats(writing);
	write_next(writing);
	page_write_equal(writing);
	page_write_elsewhere(writing);
	page_write_folders(writing);
	write_kinds(writing);
	write_ages(writing);
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
