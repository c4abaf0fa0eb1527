/* SPDX-License-Identifier: MIT */

/* One object, written as it becomes known:
 *
 *	{"version": ..., "summary": {...}, "groups": [
 *	{"hash": ..., "size": ..., "reclaimable": ..., "copies": [
 *	{"path": ..., "kept": ..., "inode": ...},
 *	...]},
 *	...]}
 *
 * Only one copy at a time is built in memory, as a group may have 100,000 of them. Paths follow
 * the rule of base/json_path.h.
 */

#include <inttypes.h>

#include <jansson.h>

#include "base/json_path.h"
#include "catalog/source.h"
#include "report/format.h"

static int write_part(const char *text, size_t length, void *context)
{
	struct output *output = context;

	output_bytes(output, text, length);
	return 0;
}

/* Takes the object. */
static int write_object(struct printing *printing, json_t *object)
{
	int r;

	if (object == NULL)
		return -ENOMEM;
	r = json_dump_callback(object, write_part, printing->output, JSON_COMPACT);
	json_decref(object);
	return r == 0 ? 0 : -ENOMEM;
}

static int json_begin(struct printing *printing)
{
	const struct report_summary *s = &printing->summary;
	int r;

	output_text(printing->output, "{\"version\":\"" TWINFS_VERSION "\",\"summary\":");
	r = write_object(printing,
			 json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "groups",
				   (json_int_t)s->groups, "redundant_files",
				   (json_int_t)s->redundant_files, "redundant_bytes",
				   (json_int_t)s->redundant_bytes, "reclaimable_bytes",
				   (json_int_t)s->reclaimable_bytes, "files", (json_int_t)s->files,
				   "directories", (json_int_t)s->directories, "bytes",
				   (json_int_t)s->bytes, "errors", (json_int_t)s->errors, "pending",
				   (json_int_t)s->pending));
	if (printing->report->part == REPORT_SINGLES)
		output_text(printing->output, ",\"singles\":[");
	else if (printing->report->part != REPORT_SUMMARY)
		output_text(printing->output, ",\"groups\":[");
	return r;
}

/* Appends an object for one name of a file; the caller adds to it before it is written. */
static int make_name(struct printing *printing, const struct copies *copies,
		     const struct copy *copy, json_t **object)
{
	const struct source *source = &printing->report->sources->list[copy->source];
	int r;

	r = format_path(printing, source->path, copies, copy);
	if (r < 0)
		return r;
	*object = json_object();
	if (*object == NULL)
		return -ENOMEM;
	r = json_set_path(*object, "path", (const char *)printing->path.data,
			  printing->path.length);
	if (r == 0 &&
	    json_object_set_new(*object, "inode", json_integer((json_int_t)copy->file)) < 0)
		r = -ENOMEM;
	if (r < 0)
		json_decref(*object);
	return r;
}

static int write_copy(struct printing *printing, const struct copies *copies,
		      const struct copy *copy)
{
	json_t *object = NULL;
	int r;

	r = make_name(printing, copies, copy, &object);
	if (r < 0)
		return r;
	if (json_object_set_new(object, "kept", json_boolean(copy->fate == FATE_KEPT)) < 0) {
		json_decref(object);
		return -ENOMEM;
	}
	return write_object(printing, object);
}

static int json_group(struct printing *printing, const struct group_record *group,
		      const struct copies *copies)
{
	const char *separator = "\n";
	char name[GROUP_NAME_MAX];

	format_group_name(name, group);
	output_format(printing->output,
		      "%s\n{\"hash\":\"%s\",\"size\":%" PRIu64 ",\"reclaimable\":%" PRIu64
		      ",\"copies\":[",
		      printing->printed > 0 ? "," : "", name, group->size,
		      group_reclaimable(group));
	for (size_t i = 0; i < copies->count; i++) {
		int r;

		if (!format_shows(printing, &copies->list[i]))
			continue;
		output_text(printing->output, separator);
		separator = ",\n";
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
	if (json_object_set_new(object, "size", json_integer((json_int_t)single->size)) < 0) {
		json_decref(object);
		return -ENOMEM;
	}
	return write_object(printing, object);
}

static int json_single(struct printing *printing, const struct single *single)
{
	for (size_t i = 0; i < single->names->count; i++) {
		int r;

		output_text(printing->output, printing->printed > 0 || i > 0 ? ",\n" : "\n");
		r = write_single_name(printing, single, &single->names->list[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int json_end(struct printing *printing)
{
	output_text(printing->output, printing->report->part == REPORT_SUMMARY ? "}\n" : "]}\n");
	return 0;
}

const struct format format_json = {
	.begin = json_begin,
	.group = json_group,
	.single = json_single,
	.end = json_end,
};
