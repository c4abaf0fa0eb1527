/* SPDX-License-Identifier: MIT */
#include "page/equal_facts.h"

#include <errno.h>
#include <string.h>

#include "base/size.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "page/page.h"
#include "report/collect.h"
#include "report/filter.h"
#include "report/folder_tree.h"
#include "report/report.h"

void equal_facts_free(struct equal_facts *facts)
{
	for (size_t i = 0; i < facts->count; i++)
		copies_free(&facts->list[i].copies);
}

int equal_gathering_begin(struct equal_gathering *gathering, const struct page_settings *settings,
			  struct filter *filter, struct equal_facts *facts)
{
	*gathering = (struct equal_gathering){
		.settings = settings,
		.filter = filter,
		.facts = facts,
	};
	if (settings->rules)
		gathering->rules = *settings->rules;
	/* the page spares nothing: only keep rules count */
	gathering->rules.include_bundles = true;
	return folder_count_begin(&gathering->whole);
}

void equal_gathering_free(struct equal_gathering *gathering)
{
	folder_count_free(&gathering->whole);
}

/* Moves a group to the page, unless the page has enough groups with more reclaimable bytes. */
static void show(struct equal_facts *facts, struct page_equal *group)
{
	size_t at = facts->count;

	while (at > 0 && facts->list[at - 1].reclaimable < group->reclaimable)
		at--;
	if (at == PAGE_EQUAL_MAX)
		return;
	if (facts->count == PAGE_EQUAL_MAX)
		copies_free(&facts->list[--facts->count].copies);
	memmove(&facts->list[at + 1], &facts->list[at],
		(facts->count++ - at) * sizeof(*facts->list));
	facts->list[at] = *group;
	group->copies = (struct copies){0};
}

static int count_copies(struct equal_gathering *gathering, const struct report *report,
			const struct folder_group *folders, struct page_equal *group)
{
	int r = folder_count_add_whole(&gathering->whole, report->reader, report->filter,
				       &group->copies);

	if (r == 0)
		r = folder_tree_reclaimable(report->reader, &group->copies, &group->reclaimable);
	group->folders = group->copies.count;
	group->files = folders->files;
	group->bytes = folders->bytes;
	gathering->facts->groups++;
	if (r == 0)
		show(gathering->facts, group);
	return r;
}

static int count_group(struct equal_gathering *gathering, struct catalog_reader *reader,
		       const struct folder_group *folders)
{
	const struct report report = {
		.reader = reader,
		.sources = gathering->settings->sources,
		.rules = &gathering->rules,
		.filter = gathering->filter,
		.folders = true,
	};
	struct group_record record = collect_record_of(folders);
	struct page_equal group = {0};
	bool selected = false;
	int r;

	if (folders->bytes == 0 || !filter_may_have(report.filter, &record))
		return 0;
	r = collect_copies(&report, NULL, &record, &group.copies);
	if (r == 0)
		r = filter_selects_group(report.filter, report.sources, &group.copies, &selected);
	if (r == 0 && selected)
		r = count_copies(gathering, &report, folders, &group);
	copies_free(&group.copies);
	return r;
}

static int finish(struct equal_gathering *gathering, struct catalog_reader *reader)
{
	struct equal_facts *facts = gathering->facts;
	int r = folder_count_finish(&gathering->whole, reader, &facts->whole_bytes);

	facts->whole = gathering->whole.folders;
	return r < 0 ? r : -ENOENT;
}

int equal_gather(struct equal_gathering *gathering, struct catalog_reader *reader, size_t *left)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct folder_group folders;
	int r = catalog_scan_folder_groups(reader, gathering->group, &scan);

	while (r == 0 && *left > 0 && (r = catalog_next_folder_group(scan, &folders)) == 0) {
		uint64_t names = size_multiply(folders.folders, folders.files + 1);

		gathering->group = folders.id;
		*left -= names < *left ? names : *left;
		r = count_group(gathering, reader, &folders);
		if (r == -ENOENT)
			return -EUCLEAN;
	}
	return r == -ENOENT ? finish(gathering, reader) : r;
}
