/* SPDX-License-Identifier: MIT */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/stop.h"
#include "catalog/query.h"
#include "report/format.h"
#include "report/rules.h"

void format_group_name(char name[static GROUP_NAME_MAX], const struct group_record *group)
{
	char digits[HASH128_DIGITS + 1];

	hash128_format(group->hash, digits);
	if (group->ordinal > 1)
		(void)snprintf(name, GROUP_NAME_MAX, "%s~%" PRIu32, digits, group->ordinal);
	else
		(void)snprintf(name, GROUP_NAME_MAX, "%s", digits);
}

bool format_shows(const struct printing *printing, const struct copy *copy)
{
	return printing->report->part != REPORT_REDUNDANT || copy->fate == FATE_REDUNDANT;
}

int format_path(struct printing *printing, const char *source, const struct copies *copies,
		const struct copy *copy)
{
	size_t length = strlen(source);
	int r;

	printing->path.length = 0;
	r = bytes_append(&printing->path, source, length);
	if (r == 0 && (length == 0 || source[length - 1] != '/'))
		r = bytes_append_text(&printing->path, "/");
	if (r == 0)
		r = bytes_append_text(&printing->path, copy_path(copies, copy));
	return r;
}

/* 0, -EINTR when the user wants it to end, or why nothing can be written any more. */
static int worth_going_on(const struct printing *printing)
{
	return stop_requested() ? -EINTR : printing->output->error;
}

static int print_groups(struct printing *printing, const struct format *format)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	CLEANUP_COPIES struct copies copies = {0};
	struct catalog_reader *reader = printing->report->reader;
	struct group_record group;
	int r;

	r = catalog_scan_ranks(reader, &scan);
	if (r < 0)
		return r;
	while ((r = catalog_next_rank(scan, &group)) == 0) {
		if (group.size < printing->report->min_size)
			continue;
		r = copies_collect(&copies, reader, &group);
		if (r == 0)
			r = rules_apply(printing->report->rules, reader, printing->report->sources,
					&group, &copies);
		if (r == 0)
			r = format->group(printing, &group, &copies);
		if (r == 0)
			r = worth_going_on(printing);
		if (r < 0)
			return r;
		printing->printed++;
	}
	return r == -ENOENT ? 0 : r;
}

/* Whether a file whose size others have too is known to have no copy. One that was not read, or
 * could not be, is not.
 */
static int has_no_copy(struct catalog_reader *reader, uint64_t file, bool *alone)
{
	struct content_record content;
	struct group_record group = {0};
	int r;

	*alone = false;
	r = catalog_get_content(reader, file, &content);
	if (r == -ENOENT)
		return 0;
	if (r == 0 && content.group != 0)
		r = catalog_get_group(reader, content.group, &group);
	if (r < 0)
		return r;
	*alone = content.group == 0 || !group_is_visible(&group);
	return 0;
}

static int print_single(struct printing *printing, const struct format *format,
			const struct size_entry *entry, struct copies *names)
{
	int r;

	copies_clear(names);
	r = copies_add_file(names, printing->report->reader, entry->file, FATE_KEPT);
	if (r == 0)
		r = format->single(printing, &(struct single){entry->file, entry->size, names});
	if (r == 0)
		r = worth_going_on(printing);
	printing->printed++;
	return r;
}

/* Looks at a file whose size its neighbours in the order of sizes share, or not. */
static int consider_single(struct printing *printing, const struct format *format,
			   const struct size_entry *entry, bool shared, struct copies *names)
{
	bool alone = true;
	int r = 0;

	if (shared)
		r = has_no_copy(printing->report->reader, entry->file, &alone);
	if (r < 0 || !alone)
		return r;
	return print_single(printing, format, entry, names);
}

static int print_singles(struct printing *printing, const struct format *format)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	CLEANUP_COPIES struct copies names = {0};
	struct size_entry from = {.size = printing->report->min_size};
	struct size_entry entry;
	struct size_entry next;
	bool shared = false;
	int found;
	int r;

	r = catalog_scan_sizes(printing->report->reader, &from, &scan);
	if (r < 0)
		return r;
	for (found = catalog_next_size(scan, &entry); found == 0; entry = next) {
		bool same;

		found = catalog_next_size(scan, &next);
		same = found == 0 && next.size == entry.size;
		r = consider_single(printing, format, &entry, shared || same, &names);
		if (r < 0)
			return r;
		shared = same;
	}
	return found == -ENOENT ? 0 : found;
}

static int print_parts(struct printing *printing, const struct format *format)
{
	int r;

	r = format->begin(printing);
	if (r < 0)
		return r;
	switch (printing->report->part) {
	case REPORT_GROUPS:
	case REPORT_REDUNDANT:
		r = print_groups(printing, format);
		break;
	case REPORT_SINGLES:
		r = print_singles(printing, format);
		break;
	case REPORT_SUMMARY:
		break;
	}
	return r < 0 ? r : format->end(printing);
}

int report_print(const struct report *report, struct output *output, struct report_summary *summary)
{
	static const struct format *const formats[] = {
		[REPORT_TEXT] = &format_text,
		[REPORT_FDUPES] = &format_fdupes,
		[REPORT_JSON] = &format_json,
	};
	struct printing printing = {.report = report, .output = output};
	int r;

	r = report_summarize(report->reader, report->min_size, &printing.summary);
	if (r < 0)
		return r;
	r = print_parts(&printing, formats[report->format]);
	bytes_free(&printing.path);
	*summary = printing.summary;
	if (r < 0)
		return r;
	return output_flush(output);
}
