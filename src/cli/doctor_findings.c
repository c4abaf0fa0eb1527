/* SPDX-License-Identifier: MIT */

/* The JSON output is one object:
 *
 *	{"version": ..., "problems": ..., "notes": ..., "checks": [
 *	 {"about": "source", "path": ..., "check": ..., "verdict": ..., "found": ...,
 *	  "remedy": ...}, ...]}
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/array.h"
#include "base/log.h"
#include "base/numbers.h"
#include "cli/doctor.h"
#include "row/json_path.h"

struct printed_finding {
	const char *about;
	char *path; /* NULL: none */
	const char *check;
	enum verdict verdict;
	char *found;
	char *remedy; /* NULL: none */
};

static const char *const verdict_names[] = {
	[VERDICT_OK] = "ok",
	[VERDICT_NOTE] = "note",
	[VERDICT_PROBLEM] = "problem",
};

void findings_deinit(struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		free(findings->list[i].path);
		free(findings->list[i].found);
		free(findings->list[i].remedy);
	}
	free(findings->list);
	*findings = (struct findings){0};
}

void findings_about(struct findings *findings, const char *about, const char *path)
{
	findings->about = about;
	findings->path = path;
}

char *findings_path_below(struct findings *findings, const char *below)
{
	const char *path = strcmp(findings->path, "/") == 0 ? "" : findings->path;
	char *joined = NULL;

	if (*below == '\0')
		joined = strdup(findings->path);
	else if (asprintf(&joined, "%s/%s", path, below) < 0)
		joined = NULL;
	if (!joined)
		findings->error = -ENOMEM;
	return joined;
}

void findings_add(struct findings *findings, enum verdict verdict, const char *check,
		  const char *format, ...)
{
	struct printed_finding finding = {.about = findings->about,
					  .check = check,
					  .verdict = verdict};
	va_list args;
	int length;

	findings->notes += verdict == VERDICT_NOTE;
	findings->problems += verdict == VERDICT_PROBLEM;
	va_start(args, format);
	length = vasprintf(&finding.found, format, args);
	va_end(args);
	if (length < 0)
		finding.found = NULL;
	finding.path = findings->path ? strdup(findings->path) : NULL;
	if (finding.found && (finding.path || !findings->path) &&
	    array_reserve(&findings->list, &findings->capacity, findings->count + 1,
			  sizeof(*findings->list)) == 0) {
		findings->list[findings->count++] = finding;
		return;
	}
	free(finding.found);
	free(finding.path);
	findings->error = -ENOMEM;
}

/* Adds a remedy to the last finding.
 *
 * prefix	words before it */
static void add_remedy(struct findings *findings, const char *prefix, const char *format,
		       va_list args)
{
	struct printed_finding *last = &findings->list[findings->count - 1];
	AUTO_FREE char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (!text || asprintf(&last->remedy, "%s%s", prefix, text) < 0) {
		last->remedy = NULL;
		findings->error = -ENOMEM;
	}
}

void findings_remedy(struct findings *findings, const char *format, ...)
{
	va_list args;

	if (findings->error < 0)
		return;
	va_start(args, format);
	add_remedy(findings, "", format, args);
	va_end(args);
}

void findings_remedy_of_root(struct findings *findings, const char *format, ...)
{
	va_list args;

	if (findings->error < 0)
		return;
	va_start(args, format);
	add_remedy(findings, geteuid() == 0 ? "as root: " : "ask the administrator: ", format,
		   args);
	va_end(args);
}

/* ---- printing ------------------------------------------------------------------------ */

static bool is_same_place(const struct printed_finding *a, const struct printed_finding *b)
{
	if (strcmp(a->about, b->about) != 0 || (!a->path) != (!b->path))
		return false;
	return !a->path || strcmp(a->path, b->path) == 0;
}

static void print_text(const struct findings *findings, struct output *output)
{
	const struct printed_finding *before = NULL;

	for (size_t i = 0; i < findings->count; i++) {
		const struct printed_finding *finding = &findings->list[i];

		if (!before || !is_same_place(before, finding))
			output_format(output, "%s%s%s\n", finding->about, finding->path ? " " : "",
				      finding->path ? quote_path(finding->path) : "");
		output_format(output, "  %-7s  %-12s  %s\n", verdict_names[finding->verdict],
			      finding->check, finding->found);
		if (finding->remedy)
			output_format(output, "  %-7s  %-12s  %s\n", "",
				      "remedy:", finding->remedy);
		before = finding;
	}
	if (findings->problems == 0)
		output_text(output, "no problems found");
	else
		output_format(output, "%zu %s", findings->problems,
			      plural(findings->problems, "problem", "problems"));
	if (findings->notes > 0)
		output_format(output, ", %zu %s", findings->notes,
			      plural(findings->notes, "note", "notes"));
	output_text(output, "\n");
}

/* Returns the object, or NULL if memory is short. */
static json_t *finding_json(const struct printed_finding *finding)
{
	const char *path = finding->path;
	json_auto_t *object = json_pack("{s:s}", "about", finding->about);
	json_auto_t *rest = json_pack("{s:s, s:s, s:s, s:s*}", "check", finding->check, "verdict",
				      verdict_names[finding->verdict], "found", finding->found,
				      "remedy", finding->remedy);

	if (!object || !rest || (path && json_set_path(object, "path", path, strlen(path)) < 0) ||
	    json_object_update(object, rest) < 0)
		return NULL;
	return TAKE(object);
}

static int print_json(const struct findings *findings, struct output *output)
{
	json_auto_t *checks = json_array();
	json_auto_t *all = NULL;
	AUTO_FREE char *text = NULL;

	for (size_t i = 0; i < findings->count; i++) {
		if (json_array_append_new(checks, finding_json(&findings->list[i])) < 0)
			return -ENOMEM;
	}
	all = json_pack("{s:s, s:I, s:I, s:O}", "version", TWINFS_VERSION, "problems",
			(json_int_t)findings->problems, "notes", (json_int_t)findings->notes,
			"checks", checks);
	text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
	if (!text)
		return -ENOMEM;
	output_json(output, text, strlen(text));
	output_text(output, "\n");
	return 0;
}

int findings_print(const struct findings *findings, struct output *output, bool json)
{
	int r = findings->error;

	if (r == 0 && json)
		r = print_json(findings, output);
	else if (r == 0)
		print_text(findings, output);
	return r == 0 ? output_flush(output) : r;
}
