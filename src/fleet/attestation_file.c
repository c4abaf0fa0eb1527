/* SPDX-License-Identifier: MIT */
#include "fleet/attestation_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/quote.h"
#include "base/system_call.h"
#include "fleet/output_folder.h"
#include "row/fields.h"
#include "row/json_text.h"

/* Room for a name. The temporary name is attested-HOST-NUMBER.jsonl.new, with another NUMBER for
 * each process, so that no process gives the file of another one its name. */
#define NAME_SIZE (sizeof("attested--.jsonl.new") + HOST_NAME_BYTES_MAX + NUMBER_DIGITS)
#define NUMBER_DIGITS 16
#define TEMPORARY_SUFFIX ".jsonl.new"

#define FORMAT "twinfs-attestation"

/* ---- lines --------------------------------------------------------------------------- */

#define HEAD(member, key, type) FIELD(struct attestation_head, member, key, type)
#define NO_TIMES "it has no valid times"

static const struct field head_fields[] = {
	{HEAD(format, "format", FIELD_TEXT), .count = sizeof(FORMAT), REQUIRED("it has no format")},
	{HEAD(schema, "schema", FIELD_COUNT), REQUIRED("it has no schema")},
	{FIELD_PLAN(struct attestation_head, plan)},
	{FIELD_HOST(struct attestation_head, host, "host"), .fault = "it has no valid host"},
	{HEAD(list, "list", FIELD_SHA256), REQUIRED("it does not name its keep list")},
	{HEAD(begun, "begun", FIELD_SECONDS), REQUIRED(NO_TIMES)},
	{HEAD(created, "created", FIELD_SECONDS), REQUIRED(NO_TIMES)},
	{HEAD(rows, "rows", FIELD_SIZE), REQUIRED("it has no number of rows")},
};

#define ROW(member, key, type) FIELD(struct attestation_row, member, key, type)
#define NO_FILE "it does not say which file is kept"

static const struct field row_fields[] = {
	{ROW(sha256, "sha256", FIELD_SHA256), REQUIRED("it has no valid sha256")},
	{ROW(size, "size", FIELD_SIZE), .min = 1, REQUIRED("it has no valid size")},
	{ROW(kept, "kept", FIELD_BOOL), REQUIRED("it does not say whether the content is kept")},
};

static const struct field kept_fields[] = {
	{ROW(inode, "inode", FIELD_HEX64), REQUIRED(NO_FILE)},
	{ROW(born_ns, "born", FIELD_HEX64), REQUIRED(NO_FILE)},
};

static const struct field lost_fields[] = {
	{ROW(reason, "reason", FIELD_PATH)},
};

int attestation_head_get(const struct json_lines *lines, const json_t *object,
			 struct attestation_head *head)
{
	int r = json_lines_check_format(lines, object, FORMAT);

	return r < 0 ? r : json_lines_get(lines, object, head, FIELDS(head_fields));
}

int attestation_row_get(const struct json_lines *lines, const json_t *object,
			struct attestation_row *row)
{
	int r;

	*row = (struct attestation_row){.size = 0};
	r = json_lines_get(lines, object, row, FIELDS(row_fields));
	if (r < 0 || row->kept)
		return r < 0 ? r : json_lines_get(lines, object, row, FIELDS(kept_fields));
	return json_is_string(json_object_get(object, "reason"))
		       ? 0
		       : json_lines_complain(lines, "it has no reason");
}

/* ---- the folder ---------------------------------------------------------------------- */

static int explain(const struct attestation_file *file, int error)
{
	const char *remedy = output_folder_remedy(error);

	if (error < 0 && error != -ENOMEM)
		log_error("cannot write the attestation to %s: %s%s%s", quote_path(file->folder),
			  error_text(error), remedy ? "; " : "", remedy ? remedy : "");
	return error;
}

static bool is_left(const char *name, const char *host)
{
	char prefix[NAME_SIZE];
	size_t length = (size_t)snprintf(prefix, sizeof(prefix), "attested-%s-", host);

	return strncmp(name, prefix, length) == 0 &&
	       strspn(name + length, "0123456789abcdef") == NUMBER_DIGITS &&
	       strcmp(name + length + NUMBER_DIGITS, TEMPORARY_SUFFIX) == 0;
}

static int remove_left(void *context, int directory, const struct dirent *entry)
{
	const struct attestation_file *file = context;

	if (!is_left(entry->d_name, file->list->host))
		return 0;
	return unlinkat(directory, entry->d_name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

int attestation_file_init(struct attestation_file *file, const char *folder,
			  const struct file_list *list)
{
	bool made;

	*file = (struct attestation_file){.folder = folder, .list = list};
	file->fd = output_folder_open(folder, &made);
	return explain(file,
		       file->fd < 0 ? file->fd : directory_visit(file->fd, remove_left, file));
}

void attestation_file_deinit(struct attestation_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
}

/* ---- the file ------------------------------------------------------------------------ */

static int append_head(struct new_file *new, const struct file_list *list, struct timespec begun)
{
	CLEANUP_BYTES struct bytes line = {0};
	struct attestation_head head = {
		.format = FORMAT,
		.schema = 1,
		.begun = begun.tv_sec,
		.created = clock_now().tv_sec,
		.rows = list->count,
	};
	int r;

	memcpy(head.plan, list->plan, sizeof(head.plan));
	memcpy(head.host, list->host, sizeof(head.host));
	memcpy(head.list, list->sha256, sizeof(head.list));
	r = fields_append_line(&line, &head, FIELDS(head_fields));
	return r < 0 ? r : new_file_append(new, line.data, line.length);
}

static int append_row(struct new_file *new, const struct listed_file *listed,
		      const struct attested *attested)
{
	CLEANUP_BYTES struct bytes line = {0};
	json_auto_t *object = json_object();
	struct attestation_row row = {
		.size = listed->size,
		.kept = attested->state == ATTESTED_KEPT,
		.inode = attested->inode,
		.born_ns = attested->born_ns,
	};
	int r = object ? 0 : -ENOMEM;

	memcpy(row.sha256, listed->sha256, SHA256_BYTES);
	if (!row.kept)
		row.reason = attested_reason(attested->state);
	if (r == 0)
		r = fields_set(object, &row, FIELDS(row_fields));
	if (r == 0)
		r = fields_set(object, &row, row.kept ? FIELDS(kept_fields) : FIELDS(lost_fields));
	if (r == 0)
		r = json_append_line(&line, object, JSON_COMPACT);
	return r < 0 ? r : new_file_append(new, line.data, line.length);
}

int attestation_file_write(const struct attestation_file *file, const struct attested *results,
			   struct timespec begun)
{
	const struct file_list *list = file->list;
	CLEANUP_NEW_FILE struct new_file new = {.fd = -1};
	char name[NAME_SIZE], temporary[NAME_SIZE];
	uint64_t number;
	int r;

	if (random_fill(&number, sizeof(number)) < 0)
		return explain(file, -EIO);
	(void)snprintf(name, sizeof(name), "attested-%s.jsonl", list->host);
	(void)snprintf(temporary, sizeof(temporary), "attested-%s-%016" PRIx64 TEMPORARY_SUFFIX,
		       list->host, number);
	r = new_file_begin(&new, file->fd, temporary);
	if (r == 0)
		r = append_head(&new, list, begun);
	for (size_t i = 0; r == 0 && i < list->count; i++)
		r = append_row(&new, &list->rows[i], &results[i]);
	return explain(file, r == 0 ? new_file_commit(&new, name) : r);
}
