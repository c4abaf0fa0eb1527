/* SPDX-License-Identifier: MIT */
#include "page/elsewhere_facts.h"

#include <errno.h>

#include "base/size.h"
#include "report/filter.h"
#include "report/report.h"
#include "source/source.h"

void elsewhere_gathering_free(struct elsewhere_gathering *gathering)
{
	missing_finder_free(gathering->finder);
	gathering->finder = NULL;
}

static int begin_source(struct elsewhere_gathering *gathering)
{
	const struct sources *sources = gathering->sources;
	const struct report report = {
		.missing = &gathering->folders,
		.sources = sources,
		.filter = gathering->filter,
	};
	size_t number = gathering->facts->count, others = 0;

	for (size_t i = 0; i < sources->count; i++) {
		if (i != number)
			gathering->in[others++] = sources->list[i].path;
	}
	gathering->in[others] = NULL;
	gathering->of[0] = sources->list[number].path;
	gathering->folders = (struct missing_folders){.of = gathering->of, .in = gathering->in};
	gathering->after = (struct size_entry){.size = 1};
	return missing_finder_new(&gathering->finder, &report);
}

static int examine(struct elsewhere_gathering *gathering, const struct size_entry *entry)
{
	struct page_elsewhere *source = &gathering->facts->list[gathering->facts->count];
	bool missing;
	int r = missing_find(gathering->finder, entry, &source->all, &missing);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (missing) {
		source->missing++;
		source->missing_bytes = size_add(source->missing_bytes, entry->size);
	}
	gathering->after = *entry;
	return 0;
}

/* Examines files of the present source. Returns -ENOENT if none is left. */
static int examine_files(struct elsewhere_gathering *gathering, struct catalog_reader *reader,
			 size_t *left)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct size_entry entry = gathering->after;
	int r;

	entry.file++;
	missing_finder_set_reader(gathering->finder, reader);
	r = catalog_scan_sizes(reader, &entry, &scan);
	while (r == 0 && *left > 0 && (r = catalog_next_size(scan, &entry)) == 0) {
		r = examine(gathering, &entry);
		--*left;
	}
	return r;
}

int elsewhere_gather(struct elsewhere_gathering *gathering, struct catalog_reader *reader,
		     size_t *left)
{
	struct elsewhere_facts *facts = gathering->facts;
	size_t count = gathering->sources->count;
	int r = 0;

	if (count < 2 || count > ELSEWHERE_SOURCES_MAX || facts->count == count ||
	    filter_is_selective(gathering->filter))
		return -ENOENT;
	if (!gathering->finder)
		r = begin_source(gathering);
	if (r == 0)
		r = examine_files(gathering, reader, left);
	if (r != -ENOENT)
		return r;
	elsewhere_gathering_free(gathering);
	facts->count++;
	return 0;
}
