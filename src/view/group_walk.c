/* SPDX-License-Identifier: MIT */
#include "view/group_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "catalog/query.h"
#include "view/fill.h"
#include "view/group_marks.h"
#include "view/node.h"
#include "view/rights.h"
#include "view/share.h"

/* ---- the walk ------------------------------------------------------------------------ */

struct walk {
	const struct view_query *query;
	struct catalog_reader *reader;
	struct catalog_scan *members;
	struct catalog_scan *links; /* further names of the file; NULL: none are left */
	struct file_record file; /* whose names are walked; id 0: none yet */
	bool first_pending; /* its first name is still to come */
	bool link_pending; /* link was read ahead */
	struct position link;
	struct position at; /* the last name that was given */
};

static void walk_deinit(struct walk *walk)
{
	catalog_scan_end(walk->links);
	catalog_scan_end(walk->members);
}

static int walk_init(struct walk *walk, const struct view_query *query, uint64_t group,
		     const struct position *after)
{
	*walk = (struct walk){.query = query, .reader = query->reader, .at = *after};
	/* the inode itself is met again: it may have further names */
	return catalog_scan_members(query->reader, group, after->file ? after->file - 1 : 0,
				    &walk->members);
}

static bool position_before(const struct position *a, const struct position *b)
{
	return a->dir != b->dir ? a->dir < b->dir : a->cookie < b->cookie;
}

/* Turns to the names, behind after, of a file. */
static int walk_names(struct walk *walk, uint64_t id, struct position after)
{
	struct position first;
	int r = catalog_get_file(walk->reader, id, &walk->file);

	if (r < 0)
		return expect_record(r);
	first = (struct position){id, walk->file.dir, walk->file.cookie};
	walk->first_pending = walk->file.names > 0 && position_before(&after, &first);
	walk->link_pending = false;
	if (walk->file.names < 2)
		return 0;
	return catalog_scan_links(walk->reader, id, after.dir, after.cookie, &walk->links);
}

static int walk_next_inode(struct walk *walk)
{
	struct position behind = {0};
	uint64_t id;
	int r = catalog_next_member(walk->members, &id);

	if (r < 0)
		return r;
	if (id == walk->at.file)
		behind = walk->at;
	return walk_names(walk, id, behind);
}

/* Reads the next of the further names ahead, where there is one. */
static int walk_read_link(struct walk *walk)
{
	int r;

	if (walk->link_pending || !walk->links)
		return 0;
	r = catalog_next_name(walk->links, &walk->link.dir, &walk->link.cookie);
	walk->link.file = walk->file.id;
	walk->link_pending = r == 0;
	if (r == -ENOENT) {
		catalog_scan_end(TAKE(walk->links));
		return 0;
	}
	return r;
}

/* Goes to the next name, walk->at of walk->file; -ENOENT behind the last. The first name of a file
 * is kept apart from the others, and which one it is may change: it has its place in the order all
 * the same. */
static int walk_any(struct walk *walk)
{
	struct position first;
	int r;

	for (;;) {
		r = walk_read_link(walk);
		if (r < 0)
			return r;
		if (walk->first_pending || walk->link_pending)
			break;
		r = walk_next_inode(walk);
		if (r < 0)
			return r;
	}
	first = (struct position){walk->file.id, walk->file.dir, walk->file.cookie};
	if (walk->first_pending && (!walk->link_pending || position_before(&first, &walk->link))) {
		walk->first_pending = false;
		walk->at = first;
	} else {
		walk->link_pending = false;
		walk->at = walk->link;
	}
	return 0;
}

/* The same among the names that the caller finds: numbers are given to these alone, as programs see
 * them in their offsets. */
static int walk_next(struct walk *walk)
{
	int r;

	do {
		r = walk_any(walk);
		if (r < 0)
			return r;
		r = rights_find_name(walk->query, &walk->file, walk->at.dir, walk->at.cookie);
	} while (r == -EACCES);
	return r;
}

/* ---- the listing --------------------------------------------------------------------- */

int group_copy_name(const struct view_query *query, uint64_t dir, uint64_t cookie,
		    char name[static COPY_NAME_SIZE])
{
	const struct sources *sources = query->view->sources;
	struct bytes relative CLEANUP_BYTES = {0}, path CLEANUP_BYTES = {0};
	uint32_t source;
	int r = catalog_entry_path(query->reader, dir, cookie, &relative, &source);

	if (r == 0 && source >= sources->count)
		r = -EUCLEAN;
	if (r == 0 && sources->count > 1)
		r = bytes_format(&path, "%s/", sources->list[source].tree);
	if (r == 0)
		r = bytes_append(&path, relative.data, relative.length);
	if (r == 0)
		copy_name_make(name, (const char *)path.data, path.length, dir, cookie);
	return r;
}

/* Finds the position of the name with this number, as well as it is known. */
static int find_position(const struct view_query *query, const struct group_marks *marks,
			 uint64_t ordinal, struct mark *mark)
{
	CLEANUP(walk_deinit) struct walk walk = {0};
	int r = 0;

	*mark = group_marks_nearest(marks, ordinal);
	if (mark->ordinal == ordinal)
		return 0;
	r = walk_init(&walk, query, marks->group, &mark->position);
	while (r == 0 && mark->ordinal < ordinal && (r = walk_next(&walk)) == 0)
		mark->ordinal++;
	mark->position = walk.at;
	mark->ordinal = ordinal;
	return r == -ENOENT ? 0 : r;
}

/* Outcome: a name did not fit. */
enum {
	NAME_FULL = 1
};

/* Emits the name that the walk is at. 0, NAME_FULL or -errno. */
static int emit_name(const struct view_query *query, const struct walk *walk, uint64_t cookie,
		     view_emit_fn *emit, void *context)
{
	char name[COPY_NAME_SIZE];
	struct view_entry entry = {
		.name = name,
		.cookie = VIEW_COOKIE_MIN + cookie,
		.known = true,
	};
	int r = group_copy_name(query, walk->at.dir, walk->at.cookie, name);

	if (r < 0)
		return expect_record(r);
	fill_record(&entry.attributes, node_make_file(walk->file.id, walk->file.touches),
		    &walk->file.attributes);
	return emit(&entry, context) ? 0 : NAME_FULL;
}

/* Gives the names behind a mark. */
static int list_from(const struct view_query *query, struct group_marks *marks, struct mark mark,
		     view_emit_fn *emit, void *context)
{
	CLEANUP(walk_deinit) struct walk walk = {0};
	int r = walk_init(&walk, query, marks->group, &mark.position);

	while (r == 0 && (r = walk_next(&walk)) == 0) {
		r = emit_name(query, &walk, group_marks_cookie(marks, ++mark.ordinal), emit,
			      context);
		if (r == 0)
			r = group_marks_name(marks, &walk.at);
	}
	return r == -ENOENT || r == NAME_FULL ? 0 : r;
}

int group_walk_list(const struct view_query *query, uint64_t node, uint64_t after,
		    view_emit_fn *emit, void *context)
{
	struct group_listings *listings = &query->view->group_listings;
	uint64_t cookie = after > VIEW_COOKIE_MIN ? after - VIEW_COOKIE_MIN : 0;
	struct group_marks *marks;
	struct mark mark;
	int r = group_marks_take(listings, node_id(node), share_holder(query), cookie, &marks);

	if (r < 0)
		return r;
	r = find_position(query, marks, group_marks_ordinal(cookie), &mark);
	if (r == 0)
		r = group_marks_call(marks, &mark);
	if (r == 0)
		r = list_from(query, marks, mark, emit, context);
	group_marks_keep(listings, marks);
	return r;
}
