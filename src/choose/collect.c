/* SPDX-License-Identifier: MIT */
#include "choose/collect.h"

#include <errno.h>

#include "choose/bundle.h"
#include "choose/copies.h"
#include "choose/filter.h"
#include "choose/folder_tree.h"
#include "choose/report.h"
#include "choose/rules.h"
#include "choose/symlinks.h"
#include "index/query.h"

/* Reads the folders of a group, without those that have excluded names. */
static int read_folders(const struct report *report, uint64_t group, struct copies *copies)
{
	struct folder_group folders;
	int r = catalog_get_folder_group(report->reader, group, &folders);

	if (r == 0)
		r = copies_collect_folders(copies, report->reader, &folders);
	if (r == 0)
		r = folder_tree_remove_mounts(report->reader, copies);
	if (r == 0 && filter_excludes(report->filter))
		r = folder_tree_remove_excluded(report->reader, report->filter, copies);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int collect_folders(const struct report *report, uint64_t group, struct copies *copies)
{
	bool implied = false;
	int r = read_folders(report, group, copies);

	if (r == 0 && !report->implied)
		r = folder_tree_is_implied(report->reader, report->filter, copies, &implied);
	if (r == 0 && implied)
		copies_clear(copies);
	return r < 0 ? r : folder_tree_set_times(report->reader, copies);
}

/* Reads the names of a group, without excluded names. */
static int collect_files(const struct report *report, const struct group_record *group,
			 struct copies *copies)
{
	int r = copies_collect(copies, report->reader, group);

	if (r == 0)
		filter_remove_excluded(report->filter, copies);
	return r;
}

static int find_bundles(const struct report *report, struct bundle_finder *bundles,
			const struct group_record *group, struct copies *copies)
{
	int r = bundles ? bundle_find_copies(bundles, report, copies, group->size) : 0;

	return r == -ENOENT ? -EUCLEAN : r;
}

void collector_free(struct collector *collector)
{
	bundle_finder_free(&collector->bundles);
	symlinks_free(collector->symlinks);
	*collector = (struct collector){.symlinks = NULL};
}

static int find_symlinks(const struct report *report, struct collector *collector,
			 struct copies *copies)
{
	int r = 0;

	if (!collector->symlinks)
		r = symlinks_new(&collector->symlinks, report->reader, report->sources,
				 report->folders);
	return r < 0 ? r : symlinks_find(collector->symlinks, copies);
}

int collect_copies(const struct report *report, struct collector *collector,
		   struct group_record *group, struct copies *copies)
{
	int r = report->folders ? collect_folders(report, group->id, copies)
				: collect_files(report, group, copies);

	if (r < 0)
		return r;
	if (report->folders || filter_excludes(report->filter))
		group->inodes = copies_count_inodes(copies);
	r = find_bundles(report, collector ? &collector->bundles : NULL, group, copies);
	if (r == 0 && collector)
		r = find_symlinks(report, collector, copies);
	if (r == 0)
		r = rules_apply(report->rules, report->sources, group, copies);
	return r < 0 || report->folders ? r : retained_find(report->reader, group, copies);
}

struct group_record collect_record_of(const struct folder_group *folders)
{
	return (struct group_record){
		.id = folders->id,
		.size = folders->bytes,
		.inodes = folders->folders,
	};
}
