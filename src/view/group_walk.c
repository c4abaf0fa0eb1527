/* SPDX-License-Identifier: MIT */
#include "view/group_walk.h"

#include <stdlib.h>
#include <string.h>

#include "catalog/query.h"
#include "view/fill.h"
#include "view/node.h"

/* The names of a group are walked in the order of inode (file id), then directory id, then cookie
 * in the directory. That is a position of three numbers, and it stays right while other names come
 * and go; but a listing's cookie is one number of 63 bits. So a cookie is the ordinal number of the
 * name in the listing, and the open folder remembers which position it stands for: exactly for
 * the names of the last call, where nearly every next call goes on, and for the first name of
 * each earlier call, from where it walks on to what lies between (seekdir(3)). A listing that never
 * saw the cookie walks to it from the beginning.
 */

struct position {
	uint64_t file; /* all zero: before the first name */
	uint64_t dir;
	uint64_t cookie;
};

/* The name with this ordinal number, from 1 on; 0 with a zero position is the beginning. */
struct mark {
	uint64_t ordinal;
	struct position position;
};

struct group_marks {
	struct mark *calls; /* where calls went on, ascending */
	size_t calls_count, calls_capacity;
	uint64_t last_base; /* the names of the last call are those after this one */
	struct position *last;
	size_t last_count, last_capacity;
};

struct group_marks *group_marks_new(void)
{
	return calloc(1, sizeof(struct group_marks));
}

void group_marks_free(struct group_marks *marks)
{
	if (!marks)
		return;
	free(marks->calls);
	free(marks->last);
	free(marks);
}

/* Makes room for one element more; 0 or -ENOMEM. */
static int grow(void **array, size_t count, size_t *capacity, size_t element_size)
{
	size_t wanted = *capacity ? *capacity * 2 : 64;
	void *grown;

	if (count < *capacity)
		return 0;
	grown = reallocarray(*array, wanted, element_size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*capacity = wanted;
	return 0;
}

static int remember_name(struct group_marks *marks, const struct position *position)
{
	void *array = marks->last;
	int r = grow(&array, marks->last_count, &marks->last_capacity, sizeof(*marks->last));

	if (r < 0)
		return r;
	marks->last = array;
	marks->last[marks->last_count++] = *position;
	return 0;
}

/* Remembers where a call goes on; what it walks back over is known already. */
static int remember_call(struct group_marks *marks, const struct mark *mark)
{
	void *array = marks->calls;
	int r;

	marks->last_base = mark->ordinal;
	marks->last_count = 0;
	if (marks->calls_count && marks->calls[marks->calls_count - 1].ordinal >= mark->ordinal)
		return 0;
	r = grow(&array, marks->calls_count, &marks->calls_capacity, sizeof(*marks->calls));
	if (r < 0)
		return r;
	marks->calls = array;
	marks->calls[marks->calls_count++] = *mark;
	return 0;
}

/* The remembered place that is nearest before, or at, the name with this number. */
static struct mark nearest_mark(const struct group_marks *marks, uint64_t ordinal)
{
	size_t low = 0, high = marks->calls_count;

	if (ordinal > marks->last_base && ordinal - marks->last_base <= marks->last_count)
		return (struct mark){ordinal, marks->last[ordinal - marks->last_base - 1]};
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (marks->calls[middle].ordinal <= ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? marks->calls[low - 1] : (struct mark){0};
}

/* ---- the walk ------------------------------------------------------------------------ */

struct walk {
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

static int walk_init(struct walk *walk, struct catalog_reader *reader, uint64_t group,
		     const struct position *after)
{
	*walk = (struct walk){.reader = reader, .at = *after};
	/* the inode itself is met again: it may have further names */
	return catalog_scan_members(reader, group, after->file ? after->file - 1 : 0,
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
static int walk_next(struct walk *walk)
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
static int find_position(const struct view_query *query, const struct view_listing *listing,
			 uint64_t ordinal, struct mark *mark)
{
	CLEANUP(walk_deinit) struct walk walk = {0};
	int r = 0;

	*mark = nearest_mark(listing->marks, ordinal);
	if (mark->ordinal == ordinal)
		return 0;
	r = walk_init(&walk, query->reader, listing->id, &mark->position);
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
static int emit_name(const struct view_query *query, const struct walk *walk, uint64_t ordinal,
		     view_emit_fn *emit, void *context)
{
	char name[COPY_NAME_SIZE];
	struct view_entry entry = {
		.name = name,
		.cookie = VIEW_COOKIE_MIN + ordinal,
		.known = true,
	};
	int r = group_copy_name(query, walk->at.dir, walk->at.cookie, name);

	if (r < 0)
		return expect_record(r);
	fill_record(&entry.attributes, node_make_file(walk->file.id, walk->file.touches),
		    &walk->file.attributes);
	return emit(&entry, context) ? 0 : NAME_FULL;
}

int group_walk_list(const struct view_query *query, struct view_listing *listing, uint64_t after,
		    view_emit_fn *emit, void *context)
{
	struct group_marks *marks = listing->marks;
	CLEANUP(walk_deinit) struct walk walk = {0};
	struct group_record group;
	struct mark mark;
	int r = catalog_get_group(query->reader, listing->id, &group);

	if (r < 0 || !group_is_visible(&group)) /* gone since it was opened: no names */
		return r == -ENOENT ? 0 : r;
	if (after <= VIEW_COOKIE_MIN) {
		after = VIEW_COOKIE_MIN;
		marks->calls_count = 0; /* rewinddir(3): numbers are given anew */
		marks->last_count = 0;
	}
	r = find_position(query, listing, after - VIEW_COOKIE_MIN, &mark);
	if (r == 0)
		r = remember_call(marks, &mark);
	if (r == 0)
		r = walk_init(&walk, query->reader, listing->id, &mark.position);
	while (r == 0 && (r = walk_next(&walk)) == 0) {
		r = emit_name(query, &walk, ++mark.ordinal, emit, context);
		if (r == 0)
			r = remember_name(marks, &walk.at);
	}
	return r == -ENOENT || r == NAME_FULL ? 0 : r;
}
