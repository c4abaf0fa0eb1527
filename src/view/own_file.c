/* SPDX-License-Identifier: MIT */
#include "view/own_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json_path.h"
#include "catalog/query.h"
#include "view/node.h"
#include "view/source_path.h"

/* ---- status.json --------------------------------------------------------------------- */

static const char *state_name(enum view_state state)
{
	switch (state) {
	case VIEW_WALKING:
		return "walking";
	case VIEW_COMPARING:
		return "comparing";
	case VIEW_CURRENT:
		return "current";
	}
	return "unknown";
}

static int set_text(json_t *object, const char *key, const char *text)
{
	return json_object_set_new(object, key, json_string(text)) == 0 ? 0 : -ENOMEM;
}

static int set_number(json_t *object, const char *key, uint64_t number)
{
	json_int_t value = number > INT64_MAX ? INT64_MAX : (json_int_t)number;

	return json_object_set_new(object, key, json_integer(value)) == 0 ? 0 : -ENOMEM;
}

/* ISO 8601 in UTC, to the second. */
static int set_time(json_t *object, const char *key, struct timespec time)
{
	char text[sizeof("-2147483648-12-31T23:59:59Z")];
	struct tm parts;

	if (!gmtime_r(&time.tv_sec, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		return -EOVERFLOW;
	return set_text(object, key, text);
}

static int append_source(json_t *array, const struct source *source)
{
	json_t *object = json_object();
	int r = object ? json_set_path(object, "path", source->path, strlen(source->path))
		       : -ENOMEM;

	if (r == 0)
		r = json_set_path(object, "tree", source->tree, strlen(source->tree));
	if (r < 0) {
		json_decref(object);
		return r;
	}
	return json_array_append_new(array, object) == 0 ? 0 : -ENOMEM;
}

static int set_sources(json_t *status, const struct sources *sources)
{
	json_t *array = json_array();
	int r = array ? 0 : -ENOMEM;

	for (size_t i = 0; i < sources->count && r == 0; i++)
		r = append_source(array, &sources->list[i]);
	if (r < 0) {
		json_decref(array);
		return r;
	}
	return json_object_set_new(status, "sources", array) == 0 ? 0 : -ENOMEM;
}

/* What the daemon is and serves. */
static int set_identity(json_t *status, const struct view *view)
{
	const char *index = catalog_folder(view->catalog);
	int r = set_text(status, "version", TWINFS_VERSION);

	if (r == 0)
		r = set_number(status, "pid", (uint64_t)getpid());
	if (r == 0)
		r = json_set_path(status, "mountpoint", view->mount_point,
				  strlen(view->mount_point));
	if (r == 0)
		r = set_sources(status, view->sources);
	if (r == 0)
		r = json_set_path(status, "index", index, strlen(index));
	if (r == 0)
		r = set_time(status, "since", view->since);
	return r;
}

static int set_counts(json_t *status, const struct catalog_totals *totals, uint64_t pending)
{
	const struct {
		const char *key;
		uint64_t number;
	} counts[] = {
		{"files", totals->files},
		{"directories", totals->directories},
		{"bytes", totals->bytes},
		{"groups", totals->groups},
		{"redundant_files", totals->redundant_files},
		{"redundant_bytes", totals->redundant_bytes},
		{"reclaimable_bytes", totals->redundant_bytes},
		{"pending", pending},
		{"errors", totals->errors},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(counts) && r == 0; i++)
		r = set_number(status, counts[i].key, counts[i].number);
	return r;
}

static int build_status(const struct view_query *query, json_t *status)
{
	const struct view *view = query->view;
	struct catalog_totals totals;
	uint64_t pending = 0, pending_bytes;
	int r = catalog_get_totals(query->reader, &totals);

	if (r == 0)
		r = catalog_count_pending(query->reader, &pending, &pending_bytes);
	if (r < 0)
		return expect_record(r);
	r = set_text(status, "state", state_name(view_get_state(view)));
	if (r == 0 && view->problem)
		r = set_text(status, "problem", error_text(view->problem));
	if (r == 0)
		r = set_number(status, "generation", totals.generation);
	if (r == 0)
		r = set_identity(status, view);
	if (r == 0)
		r = set_counts(status, &totals, pending);
	if (r == 0)
		r = set_text(status, "read_mode", view->read_mode);
	if (r == 0)
		r = set_text(status, "watch", view->watch);
	return r;
}

/* Appends an object as text and a newline. */
static int append_json(struct bytes *content, const json_t *object, size_t flags)
{
	AUTO_FREE char *text = json_dumps(object, flags);
	int r = text ? bytes_append_text(content, text) : -ENOMEM;

	return r < 0 ? r : bytes_append(content, "\n", 1);
}

int own_file_status(const struct view_query *query, struct bytes *content)
{
	json_t *status = json_object();
	int r = status ? build_status(query, status) : -ENOMEM;

	if (r == 0)
		r = append_json(content, status, JSON_INDENT(2));
	json_decref(status);
	return r;
}

/* ---- errors -------------------------------------------------------------------------- */

static int append_error(const struct view_query *query, const struct error_entry *error,
			struct bytes *content)
{
	enum node_kind kind = error->kind == ERROR_DIR ? NODE_DIR : NODE_FILE;
	struct bytes path CLEANUP_BYTES = {0};
	json_t *object;
	int r = source_path_of(query, node_make(kind, error->id), &path);

	if (r < 0)
		return r == -ENOENT ? 0 : r; /* it has lost its last name */
	object = json_object();
	r = object ? json_set_path(object, "path", (const char *)path.data, path.length) : -ENOMEM;
	if (r == 0)
		r = set_text(object, "error", error_name(error->error));
	if (r == 0)
		r = set_text(object, "message", error_text(error->error));
	if (r == 0)
		r = append_json(content, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

int own_file_errors(const struct view_query *query, struct bytes *content)
{
	struct catalog_scan *scan CLEANUP_SCAN = NULL;
	struct error_entry error;
	int r = catalog_scan_errors(query->reader, &scan);

	while (r == 0 && (r = catalog_next_error(scan, &error)) == 0)
		r = append_error(query, &error, content);
	return r == -ENOENT ? 0 : r;
}
