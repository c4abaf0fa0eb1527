/* SPDX-License-Identifier: MIT */

/* The JSON output is one object:
 *
 *	{"version": ..., "names": [
 *	{"difference": ..., "path": ...},
 *	...], "contents": [
 *	{"difference": ..., "hash": ..., "size": ..., "files": [
 *	{"bytes": ..., "path": ...},
 *	...]},
 *	...], "unverified": [
 *	{"why": ..., "checked": ..., "path": ...},
 *	...], "summary": {...}}
 */

#include <inttypes.h>

#include <jansson.h>

#include "base/numbers.h"
#include "base/text.h"
#include "choose/figures.h"
#include "cli/check.h"
#include "cli/counted.h"
#include "index/query.h"
#include "index/source.h"
#include "row/json_path.h"

/* Format of a word before a path, with the width of the longest word. */
#define WORD_FORMAT "%-16s  "

/* Adds a path to the object and prints it. Takes the object; NULL: memory was short. */
static int print_json_with_path(struct output *output, json_t *object, const char *key,
				const char *path, size_t length)
{
	if (object && json_set_path(object, key, path, length) < 0) {
		json_decref(object);
		object = NULL;
	}
	return output_json_object(output, object);
}

static int print_json_path(struct output *output, const char *key, const char *word,
			   const struct bytes *path)
{
	return print_json_with_path(output, json_pack("{s:s}", key, word), "path",
				    (const char *)path->data, path->length);
}

static int print_text_path(struct output *output, const char *word, const struct bytes *path)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = shell_name_append(&text, (const char *)path->data, path->length);

	output_format(output, WORD_FORMAT, word);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	return r;
}

void check_print_begin(struct check_printing *printing)
{
	if (printing->json)
		output_text(printing->output, "{\"version\":\"" TWINFS_VERSION "\",\"names\":[");
}

int check_print_name(struct check_printing *printing, const struct name_differences *differences,
		     const struct name_difference *difference)
{
	static const char *const words[] = {
		[NAME_NOT_INDEXED] = "not in the index",
		[NAME_MISSING] = "not on the disk",
		[NAME_DIFFERS] = "not as indexed",
	};
	CLEANUP_BYTES struct bytes path = {0};
	const char *word = words[difference->kind];
	int r = source_absolute_path(printing->sources, difference->source,
				     name_difference_path(differences, difference), &path);

	if (r < 0)
		return r;
	if (!printing->json)
		return print_text_path(printing->output, word, &path);
	output_text(printing->output, printing->names++ == 0 ? "\n" : ",\n");
	return print_json_path(printing->output, "difference", word, &path);
}

void check_print_contents(struct check_printing *printing)
{
	if (printing->json)
		output_text(printing->output, "],\"contents\":[");
}

static const char *const content_words[] = {
	[CONTENT_NOT_EQUAL] = "not equal",
	[CONTENT_NOT_GROUPED] = "not grouped",
	[CONTENT_OTHER] = "other bytes",
	[CONTENT_NOT_KEPT] = "not kept",
};

void check_print_content(struct check_printing *printing, enum content_difference what,
			 const struct group_record *group)
{
	struct output *output = printing->output;
	char name[GROUP_NAME_SIZE];

	printing->files = 0;
	printing->grouped = group;
	if (printing->json) {
		if (printing->contents++ > 0)
			output_text(output, "]},");
		output_format(output, "\n{\"difference\":\"%s\",", content_words[what]);
	} else if (group) {
		group_name_make(name, group->hash, group->ordinal);
		output_format(output, WORD_FORMAT "%s, files of %s:\n", content_words[what], name,
			      figure_text(group->size).text);
	}
	if (printing->json && group) {
		group_name_make(name, group->hash, group->ordinal);
		output_format(output, "\"hash\":\"%s\",\"size\":%" PRIu64 ",", name, group->size);
	}
	if (printing->json)
		output_text(output, "\"files\":[");
}

int check_print_file(struct check_printing *printing, const struct bytes *path,
		     enum content_state state)
{
	static const char *const words[] = {
		[CONTENT_AS_RECORDED] = "as recorded",
		[CONTENT_CHANGED] = "other bytes",
		[CONTENT_UNKNOWN] = "unknown",
	};
	static const char *const indented[] = {
		[CONTENT_AS_RECORDED] = "  as recorded",
		[CONTENT_CHANGED] = "  other bytes",
		[CONTENT_UNKNOWN] = "  unreadable",
	};

	if (!printing->json)
		return print_text_path(printing->output,
				       printing->grouped ? indented[state] : words[state], path);
	output_text(printing->output, printing->files++ == 0 ? "\n" : ",\n");
	return print_json_path(printing->output, "bytes", words[state], path);
}

void check_print_unverified(struct check_printing *printing)
{
	if (!printing->json)
		return;
	if (printing->contents > 0)
		output_text(printing->output, "]}");
	output_text(printing->output, "],\"unverified\":[");
}

int check_print_unverified_file(struct check_printing *printing, const struct bytes *path,
				const struct unverified *unverified)
{
	static const char *const words[] = {
		[UNVERIFIED_NO_HASH] = "no hash",
		[UNVERIFIED_BUSY] = "open for writing",
		[UNVERIFIED_UNREADABLE] = "unreadable",
	};
	json_t *object = json_pack("{s:s, s:I}", "why", words[unverified->reason], "checked",
				   (json_int_t)unverified->checked);

	output_text(printing->output, printing->unverified++ == 0 ? "\n" : ",\n");
	return print_json_with_path(printing->output, object, "path", (const char *)path->data,
				    path->length);
}

/* ---- figures ------------------------------------------------------------------------- */

static int print_json_figures(struct output *output, const struct check_figures *figures)
{
	json_t *object =
		json_pack("{s:s, s:I, s:I, s:b, s:b, s:I, s:I, s:I}", "structure",
			  figures->structure, "names", (json_int_t)figures->names_compared,
			  "names_different", (json_int_t)figures->names_different, "names_cut_off",
			  figures->names_cut_off, "contents_compared", figures->contents_compared,
			  "groups", (json_int_t)figures->contents.groups, "contents_different",
			  (json_int_t)figures->contents.differences, "contents_unverified",
			  (json_int_t)figures->contents.unverified);

	return print_json_with_path(output, object, "index", figures->folder,
				    strlen(figures->folder));
}

static int print_text_figures(struct output *output, const struct check_figures *figures)
{
	int r = figure_print_path(output, "index", figures->folder);

	figure_print(output, "structure", "%s", figures->structure);
	if (figures->names_checked)
		figure_print(output, "names", "%s compared with the disk, %s%s",
			     number_text(figures->names_compared).text,
			     figures->names_cut_off ? "more than " : "",
			     counted(figures->names_different, "difference", "differences").text);
	else
		figure_print(output, "names", "not compared");
	if (figures->contents_compared)
		figure_print(output, "contents", "%s compared again, %s",
			     counted(figures->contents.groups, "group", "groups").text,
			     counted(figures->contents.differences, "difference", "differences")
				     .text);
	else
		figure_print(output, "contents", "not compared");
	if (figures->contents_compared)
		figure_print(output, "unverified",
			     "%s: no full hash is indexed, or the file cannot be read",
			     counted(figures->contents.unverified, "file", "files").text);
	return r;
}

int check_print_end(struct check_printing *printing, const struct check_figures *figures)
{
	int r;

	if (!printing->json)
		return print_text_figures(printing->output, figures);
	output_text(printing->output, "],\"summary\":");
	r = print_json_figures(printing->output, figures);
	output_text(printing->output, "}\n");
	return r;
}
