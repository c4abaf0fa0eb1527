/* SPDX-License-Identifier: MIT */
#include "view/event_lines.h"

#include <errno.h>

#include <jansson.h>

#include "base/error.h"
#include "base/group_name.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "view/node.h"
#include "view/query.h"
#include "view/source_path.h"

struct lines {
	struct view_query query;
	const struct invalidation *invalidation;
	struct bytes text;
};

static void lines_deinit(struct lines *lines)
{
	query_end(&lines->query);
	bytes_free(&lines->text);
}

/* If r is 0, adds the members that every event has to the object, and appends the object as a line.
 * Takes the object; NULL only if r is below 0. Returns 0 or -errno. */
static int append_event(struct lines *lines, json_t *object, int r)
{
	if (r == 0)
		r = json_set_number(object, "generation", lines->invalidation->delta.generation);
	if (r == 0)
		r = json_set_time_ms(object, "time", lines->invalidation->time);
	if (r == 0)
		r = json_append_line(&lines->text, object, JSON_COMPACT);
	json_decref(object);
	return r;
}

static json_t *begin_event(const char *event)
{
	return json_pack("{ss}", "event", event);
}

static int set_hash(json_t *object, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->hash, group->ordinal);
	return json_set_text(object, "hash", name);
}

/* Sets the path of the kept copy, if its group still exists and the copy has a name. */
static int set_kept(struct lines *lines, json_t *object, const struct group_record *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = group_is_visible(group)
			? source_path_of(&lines->query, node_make(NODE_FILE, group->kept), &path)
			: -ENOENT;

	if (r < 0)
		return r == -ENOENT || r == -EUCLEAN ? 0 : r;
	return json_set_path(object, "kept", (const char *)path.data, path.length);
}

static int append_group(struct lines *lines, const struct delta_group *delta)
{
	bool before = group_is_visible(&delta->before), now = group_is_visible(&delta->now);
	const struct group_record *group = now ? &delta->now : &delta->before;
	const char *event = before == now ? "group_changed" : now ? "group_appeared" : "group_gone";
	json_t *object;
	int r;

	if (!before && !now)
		return 0;
	/* only what removing the copies would free has changed */
	if (before && now && clock_equal(delta->before.changed, delta->now.changed))
		return 0;
	object = begin_event(event);
	r = object ? set_hash(object, group) : -ENOMEM;
	if (r == 0)
		r = json_set_number(object, "size", group->size);
	if (r == 0)
		r = json_set_number(object, "copies", delta->now.inodes);
	if (r == 0)
		r = set_kept(lines, object, &delta->now);
	return append_event(lines, object, r);
}

static int append_folder_group(struct lines *lines, const struct delta_folder_group *delta)
{
	bool before = delta->before.ranked > 0, now = delta->now.ranked > 0;
	const struct folder_group *group = now ? &delta->now : &delta->before;
	const char *event = before == now ? "folders_changed"
			    : now         ? "folders_appeared"
					  : "folders_gone";
	json_t *object;
	int r;

	if (delta->before.ranked == delta->now.ranked)
		return 0;
	object = begin_event(event);
	r = object ? json_set_number(object, "group", group->id) : -ENOMEM;
	if (r == 0)
		r = json_set_number(object, "size", group->bytes);
	if (r == 0)
		r = json_set_number(object, "files", group->files);
	if (r == 0)
		r = json_set_number(object, "folders", now ? group->folders : 0);
	return append_event(lines, object, r);
}

/* Begins an event about a node. *object is NULL if the node no longer exists; other events report
 * the removal of its names. */
static int begin_path_event(struct lines *lines, const char *event, uint64_t node, json_t **object)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = source_path_of(&lines->query, node, &path);

	*object = NULL;
	if (r < 0)
		return r == -ENOENT || r == -EUCLEAN ? 0 : r;
	*object = begin_event(event);
	if (!*object)
		return -ENOMEM;
	return json_set_path(*object, "path", (const char *)path.data, path.length);
}

static int append_flip(struct lines *lines, const struct delta_flip *change)
{
	const struct delta_group *delta = &lines->invalidation->delta.groups[change->group];
	json_t *object;
	int r = begin_path_event(lines, change->redundant ? "file_redundant" : "file_unique",
				 node_make(NODE_FILE, change->file), &object);

	if (r == 0 && !object)
		return 0;
	if (r == 0)
		r = set_hash(object, change->redundant ? &delta->now : &delta->before);
	if (r == 0)
		r = set_kept(lines, object, &delta->now);
	return append_event(lines, object, r);
}

static int append_error(struct lines *lines, const struct delta_error *error)
{
	enum node_kind kind = error->kind == ERROR_DIR ? NODE_DIR : NODE_FILE;
	json_t *object;
	int r = begin_path_event(lines, "error", node_make(kind, error->id), &object);

	if (r == 0 && !object)
		return 0;
	if (r == 0)
		r = json_set_text(object, "error", error_name(error->error));
	if (r == 0)
		r = json_set_text(object, "message", error_text(error->error));
	return append_event(lines, object, r);
}

/* Appends all events. Their order matters to programs that act on an event: a group appears before
 * files become its copies. */
static int append_all(struct lines *lines)
{
	const struct commit_delta *delta = &lines->invalidation->delta;
	int r = 0;

	for (size_t i = 0; i < delta->group_count && r == 0; i++)
		r = append_group(lines, &delta->groups[i]);
	for (size_t i = 0; i < delta->redundancy_count && r == 0; i++)
		r = append_flip(lines, &delta->redundancy[i]);
	for (size_t i = 0; i < delta->folder_group_count && r == 0; i++)
		r = append_folder_group(lines, &delta->folder_groups[i]);
	for (size_t i = 0; i < delta->error_count && r == 0; i++) {
		if (delta->errors[i].error)
			r = append_error(lines, &delta->errors[i]);
	}
	return r;
}

int event_lines_add(struct view *view, const struct invalidation *invalidation)
{
	CLEANUP(lines_deinit) struct lines lines = {.invalidation = invalidation};
	int r;

	if (!atomic_load(&view->events.wanted))
		return 0;
	r = query_begin(&lines.query, view);
	if (r == 0)
		r = append_all(&lines);
	query_end(&lines.query);
	if (r < 0 || lines.text.length == 0)
		return r;
	return event_log_append(&view->events, &lines.text, invalidation->time);
}
