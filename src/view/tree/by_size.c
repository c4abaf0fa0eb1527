/* SPDX-License-Identifier: MIT */

/* by-size/: links to the folders in dups/, ordered by reclaimable bytes (ranks.h). */

#include <errno.h>
#include <string.h>

#include "index/group_name.h"
#include "index/query.h"
#include "index/scan.h"
#include "view/tree/node.h"
#include "view/tree/node_ops.h"
#include "view/tree/ranks.h"
#include "view/tree/stat.h"

/* Links inside a folder are one level deeper. */
static int append_target(struct bytes *target, uint64_t node, const struct group_record *group)
{
	char name[GROUP_NAME_SIZE];

	group_name_make(name, group->hash, group->ordinal);
	return bytes_format(target, "%s../dups/%s", node_kind(node) == NODE_DEEP_LINK ? "../" : "",
			    name);
}

/* The attributes of a link never change, as its target never changes. */
static int fill_link(const struct view_query *query, struct stat *attributes, uint64_t node,
		     const struct group_record *group)
{
	CLEANUP_BYTES struct bytes target = {0};
	int r = append_target(&target, node, group);

	stat_set_symlink(attributes, node, target.length, query->view->since);
	return r;
}

static int get_group(const struct view_query *query, uint64_t node, struct group_record *group)
{
	int r = catalog_get_group(query->reader, node_id(node), group);

	return r == 0 && !group_is_visible(group) ? -ENOENT : r;
}

static int link_getattr(const struct view_query *query, uint64_t node, struct stat *attributes)
{
	struct group_record group;
	int r = get_group(query, node, &group);

	if (r < 0)
		return r == -ENOENT ? -ESTALE : r;
	return fill_link(query, attributes, node, &group);
}

int by_size_target(const struct view_query *query, uint64_t node, struct bytes *target)
{
	struct group_record group;
	int r = get_group(query, node, &group);

	return r < 0 ? r : append_target(target, node, &group);
}

const struct node_ops link_ops = {
	.getattr = link_getattr,
};

/* ---- the groups ---------------------------------------------------------------------- */

static int describe(const struct view_query *query, uint64_t id, bool deep,
		    struct ranked_group *ranked, struct stat *attributes)
{
	struct group_record group = {0};
	struct entry_record entry;
	struct file_record file;
	int r = catalog_get_group(query->reader, id, &group);

	if (r == 0)
		r = catalog_get_file(query->reader, group.kept, &file);
	if (r == 0)
		r = catalog_entry_at(query->reader, file.dir, file.cookie, &entry);
	if (r < 0)
		return r;
	ranked->reclaimable = group_reclaimable(&group);
	ranked->copies = group.inodes;
	ranked->name = entry.name;
	return fill_link(query, attributes, node_make(deep ? NODE_DEEP_LINK : NODE_LINK, id),
			 &group);
}

static struct rank_order order_of(struct view *view, const struct catalog_totals *totals)
{
	return (struct rank_order){totals->groups, totals->order, &view->ranking};
}

const struct ranked by_size_ranked = {
	.path = "by-size",
	.node = FIXED_BY_SIZE,
	.part = NODE_RANKS,
	.order = order_of,
	.describe = describe,
};
