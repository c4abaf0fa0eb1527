/* SPDX-License-Identifier: MIT */
#ifndef REPORT_SUMMARY_H
#define REPORT_SUMMARY_H

/* The figures of an index. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct catalog_reader;
struct group_record;

struct report_summary {
	uint64_t groups;
	uint64_t redundant_files; /* inodes that another one is kept for */
	uint64_t redundant_bytes; /* their sizes */
	uint64_t reclaimable_bytes; /* what would come free without them */
	uint64_t singles; /* files without a copy, where those were asked for */
	uint64_t single_bytes;
	uint64_t files; /* inodes that are no directory */
	uint64_t directories;
	uint64_t bytes; /* sizes of regular files, each inode once */
	uint64_t errors;
	uint64_t pending;
	uint64_t pending_bytes;
};

/* Adds a group of which so many inodes may go. */
void summary_add_group(struct report_summary *summary, const struct group_record *group,
		       uint64_t redundant);

void summary_add_single(struct report_summary *summary, uint64_t size);

/* Sets what is of the whole index, and not of groups. Linear in files. 0 or -errno. */
MUST_CHECK int summary_add_index(struct report_summary *summary, struct catalog_reader *reader);

/* One of them with its name for programs. */
struct summary_figure {
	const char *name;
	uint64_t value;
};

#define SUMMARY_FIGURES_MAX 9

/* Lists them as programs get them, those of singles or those of groups. Returns how many. */
size_t summary_list(const struct report_summary *summary, bool of_singles,
		    struct summary_figure list[static SUMMARY_FIGURES_MAX]);

/* Adds up the whole index. Linear in groups and files. 0 or -errno. */
MUST_CHECK int report_summarize(struct catalog_reader *reader, struct report_summary *summary);

#endif
