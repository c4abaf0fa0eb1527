/* SPDX-License-Identifier: MIT */

/* One object, written piece by piece:
 *
 *	{"version": ..., "groups": [
 *	{"hash": ..., "size": ..., "reclaimable": ..., "copies": [
 *	{"path": ..., "inode": ..., "kept": ..., "fate": ...},
 *	...]},
 *	...], "summary": {...}}
 *
 * The format jsonl has only the objects of the list, one a line. Only one copy at a time is built
 * in memory, because a group can have 100,000 copies. Paths follow the rule of base/json_path.h.
 */

#include <inttypes.h>

#include <jansson.h>

#include "base/group_name.h"
#include "base/json_number.h"
#include "base/json_path.h"
#include "report/format.h"

static int write_summary(struct printing *printing)
{
	struct summary_figure figures[SUMMARY_FIGURES_MAX];
	size_t count =
		summary_list(&printing->summary, printing->report->part == REPORT_SINGLES, figures);
	json_t *object = json_object();

	for (size_t i = 0; object && i < count; i++) {
		if (json_object_set_new(object, figures[i].name, json_number(figures[i].value)) <
		    0) {
			json_decref(object);
			object = NULL;
		}
	}
	output_text(printing->output, "\"summary\":");
	return output_json_object(printing->output, object);
}

static void begin_object(struct printing *printing)
{
	output_text(printing->output, "{\"version\":\"" TWINFS_VERSION "\",");
}

/* ---- names, groups and files -------------------------------------------------------------- */

/* Makes an object for one name of a file. The caller adds members to it and writes it. */
static int make_name(struct printing *printing, const struct copies *copies,
		     const struct copy *copy, json_t **object)
{
	int r;

	r = format_absolute_path(printing, copies, copy);
	if (r < 0)
		return r;
	*object = json_object();
	if (!*object)
		return -ENOMEM;
	r = json_set_path(*object, "path", (const char *)printing->path.data,
			  printing->path.length);
	if (r == 0 && json_object_set_new(*object, "inode", json_number(copy->file)) < 0)
		r = -ENOMEM;
	if (r < 0)
		json_decref(*object);
	return r;
}

static int set_fate(json_t *object, const struct copy *copy, bool explain)
{
	int r = json_object_set_new(object, "kept", json_boolean(copy->fate == FATE_KEPT));

	if (r == 0)
		r = json_object_set_new(object, "fate", json_string(format_fate(copy->fate)));
	if (r == 0 && explain)
		r = json_object_set_new(object, "why", json_string(copy->why));
	return r == 0 ? 0 : -ENOMEM;
}

static int write_copy(struct printing *printing, const struct copies *copies,
		      const struct copy *copy)
{
	json_t *object = NULL;
	int r;

	r = make_name(printing, copies, copy, &object);
	if (r < 0)
		return r;
	r = set_fate(object, copy, printing->report->explain);
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return output_json_object(printing->output, object);
}

/* Writes a group, with line_end before each copy. */
static int write_group(struct printing *printing, const struct group_record *group,
		       const struct copies *copies, const char *line_end)
{
	const char *comma = "";
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->hash, group->ordinal);
	output_format(printing->output,
		      "{\"hash\":\"%s\",\"size\":%" PRIu64 ",\"reclaimable\":%" JSON_INTEGER_FORMAT
		      ",\"copies\":[",
		      name, group->size, json_number_of(format_reclaimable(group, copies)));
	for (size_t i = 0; i < copies->count; i++) {
		int r;

		if (!format_shows(printing, &copies->list[i]))
			continue;
		output_format(printing->output, "%s%s", comma, line_end);
		comma = ",";
		r = write_copy(printing, copies, &copies->list[i]);
		if (r < 0)
			return r;
	}
	output_text(printing->output, "]}");
	return 0;
}

static int write_single_name(struct printing *printing, const struct single *single,
			     const struct copy *name)
{
	json_t *object = NULL;
	int r;

	r = make_name(printing, single->names, name, &object);
	if (r < 0)
		return r;
	if (json_object_set_new(object, "size", json_number(single->size)) < 0) {
		json_decref(object);
		return -ENOMEM;
	}
	return output_json_object(printing->output, object);
}

/* ---- one object --------------------------------------------------------------------------- */

static void json_begin(struct printing *printing)
{
	begin_object(printing);
	if (printing->report->part == REPORT_SINGLES)
		output_text(printing->output, "\"singles\":[");
	else if (printing->report->part != REPORT_SUMMARY)
		output_text(printing->output, "\"groups\":[");
}

static int json_group(struct printing *printing, const struct group_record *group,
		      const struct copies *copies)
{
	output_text(printing->output, printing->printed > 0 ? ",\n" : "\n");
	return write_group(printing, group, copies, "\n");
}

static int json_single(struct printing *printing, const struct single *single,
		       const struct copy *name)
{
	bool first = printing->printed == 0 && name == single->names->list;

	output_text(printing->output, first ? "\n" : ",\n");
	return write_single_name(printing, single, name);
}

static int json_end(struct printing *printing)
{
	int r;

	if (printing->report->part != REPORT_SUMMARY)
		output_text(printing->output, "],\n");
	r = write_summary(printing);
	output_text(printing->output, "}\n");
	return r;
}

const struct format format_json = {
	.begin = json_begin,
	.group = json_group,
	.single = json_single,
	.end = json_end,
	.can_summarize = true,
	.can_explain = true,
};

/* ---- an object a line --------------------------------------------------------------------- */

static int jsonl_group(struct printing *printing, const struct group_record *group,
		       const struct copies *copies)
{
	int r = write_group(printing, group, copies, "");

	output_text(printing->output, "\n");
	return r;
}

static int jsonl_single(struct printing *printing, const struct single *single,
			const struct copy *name)
{
	int r = write_single_name(printing, single, name);

	output_text(printing->output, "\n");
	return r;
}

static int jsonl_end(struct printing *printing)
{
	if (printing->report->part != REPORT_SUMMARY)
		return 0;
	begin_object(printing);
	return json_end(printing);
}

const struct format format_jsonl = {
	.group = jsonl_group,
	.single = jsonl_single,
	.end = jsonl_end,
	.can_summarize = true,
	.can_explain = true,
};
