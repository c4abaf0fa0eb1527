/* SPDX-License-Identifier: MIT */

/* Each run has its bytes, its destination (path and offset) and its source. One object in JSON:
 *
 *	{"version": ..., "runs": [
 *	{"bytes": ..., "offset": ..., "path": ..., "source_offset": ..., "source_path": ...},
 *	...], "summary": {"runs": ..., "bytes": ..., "shared_bytes": ..., "files": ...}}
 *
 * The format jsonl has only the objects of the list, one a line. Paths follow the rule of
 * row/json_path.h.
 */

#include <errno.h>
#include <inttypes.h>

#include <jansson.h>

#include "base/numbers.h"
#include "base/stop.h"
#include "choose/format.h"
#include "partial/files.h"
#include "partial/partial.h"
#include "row/fields.h"

#define CSV_LINE_END "\r\n"

/* A run that is printed. */
struct printed_run {
	uint64_t bytes;
	struct block_place place, source;
	struct bytes path, source_path;
};

typedef int print_run_fn(struct output *output, const struct printed_run *run);

static int print_text(struct output *output, const struct printed_run *run)
{
	char size[SIZE_TEXT_MAX];

	output_format(output, "%9s  ", size_format(size, run->bytes));
	output_name(output, run->path.data, run->path.length);
	output_format(output, " at %" PRIu64 " like ", run->place.offset);
	output_name(output, run->source_path.data, run->source_path.length);
	output_format(output, " at %" PRIu64 "\n", run->source.offset);
	return 0;
}

static int print_null(struct output *output, const struct printed_run *run)
{
	output_format(output, "%" PRIu64 " %" PRIu64 " %" PRIu64, run->bytes, run->place.offset,
		      run->source.offset);
	output_bytes(output, "", 1);
	output_name(output, run->path.data, run->path.length);
	output_bytes(output, "", 1);
	output_name(output, run->source_path.data, run->source_path.length);
	output_bytes(output, "", 1);
	return 0;
}

/* ---- csv ----------------------------------------------------------------------------- */

static int print_csv(struct output *output, const struct printed_run *run)
{
	int r;

	output_format(output, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", run->bytes, run->place.offset,
		      run->source.offset);
	r = format_csv_path(output, &run->path);
	output_text(output, ",");
	if (r == 0)
		r = format_csv_path(output, &run->source_path);
	output_text(output, CSV_LINE_END);
	return r;
}

/* ---- json ---------------------------------------------------------------------------- */

#define RUN(member, key, type) FIELD(struct printed_run, member, key, type), .required = true

static const struct field fields[] = {
	{RUN(bytes, "bytes", FIELD_SIZE)},
	{RUN(place.offset, "offset", FIELD_SIZE)},
	{RUN(path, "path", FIELD_BYTES)},
	{RUN(source.offset, "source_offset", FIELD_SIZE)},
	{RUN(source_path, "source_path", FIELD_BYTES)},
};

static int print_object(struct output *output, const struct printed_run *run)
{
	json_t *object = json_object();

	if (object && fields_set(object, run, FIELDS(fields)) == 0)
		return output_json_object(output, object);
	json_decref(object);
	return -ENOMEM;
}

static int print_jsonl(struct output *output, const struct printed_run *run)
{
	int r = print_object(output, run);

	output_text(output, "\n");
	return r;
}

static void begin(struct output *output, enum report_format format)
{
	if (format == REPORT_JSON)
		output_text(output, "{\"version\":\"" TWINFS_VERSION "\",\"runs\":[");
	else if (format == REPORT_CSV)
		output_text(output, "bytes,offset,source_offset,path,path_base64,source_path,"
				    "source_path_base64" CSV_LINE_END);
}

static void end(struct output *output, enum report_format format, const struct partial *partial)
{
	if (format != REPORT_JSON)
		return;
	output_format(output,
		      "\n],\"summary\":{\"runs\":%" PRIu64 ",\"bytes\":%" PRIu64
		      ",\"shared_bytes\":%" PRIu64 ",\"files\":%" PRIu64 "}}\n",
		      partial->planned.count, partial->planned.bytes, partial->already.bytes,
		      partial->read.count + partial->known.count);
}

/* ---- runs ---------------------------------------------------------------------------- */

/* Describes a run. Returns -ENOENT if one of its files has no name any more. */
static int describe(const struct partial *partial, const struct block_run *run,
		    const char *const *shown, struct printed_run *printed)
{
	const struct block_file *files = partial->table.files;
	int r;

	printed->bytes = run_bytes(&partial->table, run);
	printed->place = block_table_locate(&partial->table, run->destination);
	printed->source = block_table_locate(&partial->table, run->source);
	printed->path.length = 0;
	printed->source_path.length = 0;
	r = file_text_path(partial, files[printed->place.file].id, shown, &printed->path);
	return r < 0 ? r
		     : file_text_path(partial, files[printed->source.file].id, shown,
				      &printed->source_path);
}

static print_run_fn *const prints[] = {
	[REPORT_TEXT] = print_text, [REPORT_JSON] = print_object, [REPORT_JSONL] = print_jsonl,
	[REPORT_CSV] = print_csv,   [REPORT_NULL] = print_null,
};

bool partial_can_print(enum report_format format)
{
	return format < ARRAY_SIZE(prints) && prints[format];
}

int partial_print(const struct partial *partial, enum report_format format,
		  const char *const *shown, struct output *output)
{
	struct printed_run printed = {0};
	bool first = true;
	int r = 0;

	begin(output, format);
	for (size_t i = 0; r == 0 && i < partial->runs.count; i++) {
		r = stop_requested() ? -EINTR
				     : describe(partial, &partial->runs.list[i],
						format == REPORT_TEXT ? shown : NULL, &printed);
		if (r == 0 && format == REPORT_JSON)
			output_text(output, first ? "\n" : ",\n");
		if (r == 0)
			r = prints[format](output, &printed);
		first &= r != 0;
		if (r == -ENOENT)
			r = 0;
		if (r == 0)
			r = output->error;
	}
	bytes_free(&printed.path);
	bytes_free(&printed.source_path);
	if (r == 0)
		end(output, format, partial);
	return r < 0 ? r : output_flush(output);
}
