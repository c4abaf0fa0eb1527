/* SPDX-License-Identifier: MIT */

/* What to do next: commands that can be copied, with the sources or the mount point. */

#include <string.h>

#include "base/human_text.h"
#include "page/page_parts.h"
#include "source/operands.h"
#include "source/source.h"

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

static void begin_step(struct html *html, const char *title)
{
	html_format(html, "<li><p><strong>%s</strong> ", title);
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

	begin_step(html, "See what can go.");
	html_raw(html, "Lists each redundant copy, with the copy that stays and why. Nothing is "
		       "changed.");
	end_act(html, words, "remove --dry-run");
	begin_step(html, "Free the space.");
	html_raw(html, "Asks first, then moves the redundant copies to the trash; emptying the "
		       "trash frees up to ");
	html_size(html, writing->facts->summary.reclaimable_bytes);
	html_raw(html, ". One copy of each file stays where it is. <code>twinfs undo</code> brings "
		       "the others back.");
	end_act(html, words, "remove --trash");
	if (equal->whole == 0)
		return;
	begin_step(html, "Or free only whole folders:");
	html_number(html, equal->whole);
	html_format(html, " %s, ",
		    plural(equal->whole, "folder is a whole copy", "folders are whole copies"));
	html_size(html, equal->whole_bytes);
	html_raw(html, ". Again, this only lists them:");
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

/* Writes the name of a folder in the root of the view, with a link to it. */
static void write_folder_link(const struct page_writing *writing, const char *name)
{
	html_format(writing->html, "<a href=\"%s%s/\">%s</a>", writing->settings->view_root, name,
		    name);
}

static void write_browsing(const struct page_writing *writing, const struct next_words *words)
{
	struct html *html = writing->html;

	begin_step(html, "Browse the copies.");
	if (writing->settings->view_root) {
		html_raw(html, "This page is in a view that follows its sources: ");
		write_folder_link(writing, "by-size");
		html_raw(html, " has the groups, the largest first, ");
		write_folder_link(writing, "dups");
		html_raw(html, " all groups, ");
		write_folder_link(writing, "folders");
		html_raw(html, " the equal folders, ");
		write_folder_link(writing, "redundant");
		html_raw(html, " only what can go.</p></li>\n");
		return;
	}
	if (writing->settings->mount_point) {
		html_raw(html, "The view has the groups in by-size/, the largest first, and equal "
			       "folders in folders/.</p>\n<code class=\"command\">ls ");
		write_bytes(html, &words->targets);
		html_raw(html, "/by-size</code></li>\n");
		return;
	}
	write_mounting(html, words);
}

static void write_backup(const struct page_writing *writing, const struct next_words *words)
{
	struct html *html = writing->html;

	begin_step(html, "Back up each content once.");
	html_raw(html,
		 "In a view, uniques/ has one copy of every file. Replace "
		 "BACKUP by the folder of the backup.</p>\n<code class=\"command\">rsync -aHAXS ");
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
	struct html *html = writing->html;

	if (parts->runs == 0)
		return;
	begin_step(html, "Share equal parts of different files.");
	html_raw(html, "The last dry run, on ");
	html_time(html, parts->time);
	html_raw(html, ", found ");
	html_size(html, parts->bytes);
	html_raw(html, " in ");
	html_number(html, parts->runs);
	html_format(html, " %s of equal blocks. Every file keeps its content.",
		    plural(parts->runs, "run", "runs"));
	end_step(html, words, "dedupe --partial", NULL);
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
		begin_step(html, "See copies as soon as there are any.");
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

void page_write_next(const struct page_writing *writing)
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
