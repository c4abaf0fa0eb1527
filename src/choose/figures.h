/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_FIGURES_H
#define CHOOSE_FIGURES_H

/* The figures of an index: counting them, and their text for people. One thread at a time. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/output.h"
#include "choose/missing.h"
#include "choose/similar.h"

struct catalog_reader;
struct copies;
struct group_record;

struct report_summary {
	uint64_t groups;
	uint64_t redundant_folders; /* whole copies (folder_tree.h), of groups of folders */
	uint64_t redundant_files; /* redundant inodes, or names in these folders */
	uint64_t redundant_bytes; /* sizes of the redundant inodes */
	/* bytes that removing the redundant inodes or folders would free */
	uint64_t reclaimable_bytes;
	/* files that are no groups: files without a copy, or missing files; set only by a report
	 * of these */
	uint64_t singles;
	uint64_t single_bytes;
	struct missing_tally checked; /* set only by a report of missing files */
	/* set only by a report of similar folders */
	uint64_t pairs;
	struct similar_bounds bounds;
	uint64_t files; /* inodes of regular files */
	uint64_t others; /* inodes of symbolic links and special files */
	uint64_t directories;
	uint64_t bytes; /* sizes of regular files, each inode once */
	uint64_t errors;
	uint64_t pending;
	uint64_t pending_bytes;
};

/* Adds a group with the kept copy of the index. */
void summary_add_group(struct report_summary *summary, const struct group_record *group);

/* Adds a group with the fates of its copies, after retained_find(). */
void summary_add_copies(struct report_summary *summary, const struct group_record *group,
			const struct copies *copies);

void summary_add_single(struct report_summary *summary, uint64_t size);

/* Sets the figures that count the whole index instead of groups. Linear in files. Returns 0 or
 * -errno. */
MUST_CHECK int summary_add_index(struct report_summary *summary, struct catalog_reader *reader);

/* A figure with its name in machine formats. */
struct summary_figure {
	const char *name;
	uint64_t value;
};

#define SUMMARY_FIGURES_MAX 10

/* What a summary counts besides the whole index. */
enum summary_of {
	SUMMARY_OF_GROUPS,
	SUMMARY_OF_FOLDERS,
	SUMMARY_OF_SINGLES,
	SUMMARY_OF_MISSING,
	SUMMARY_OF_SIMILAR,
	SUMMARY_OF_COVERED, /* missing files, with all files that were checked */
};

/* Lists the figures for machine formats: those of singles, missing files or groups, then those of
 * the whole index unless all figures are of folders in it. Returns the number of figures. */
size_t summary_list(const struct report_summary *summary, enum summary_of of,
		    struct summary_figure list[static SUMMARY_FIGURES_MAX]);

/* Sets the figures of the whole index. Linear in groups and files. Returns 0 or -errno. */
MUST_CHECK int report_summarize(struct catalog_reader *reader, struct report_summary *summary);

/* ---- text for people, a line for each figure ------------------------------------------------ */

/* Prints one line: the label, then the formatted value in a column that is the same in all lines. A
 * value of more than 511 bytes is truncated. */
void figure_print(struct output *output, const char *label, const char *format, ...)
	PRINTF_LIKE(3, 4);

/* Prints one line whose value is a path. The path is quoted if needed and never truncated. Returns
 * 0 or -ENOMEM. */
MUST_CHECK int figure_print_path(struct output *output, const char *label, const char *path);

/* Highest number of bytes that figure_size() writes, with the NUL. */
#define FIGURE_SIZE_MAX 64

/* Writes "2.2 GiB (2,345,678,901 bytes)", or only the bytes if the size is small. Returns text. */
const char *figure_size(char text[static FIGURE_SIZE_MAX], uint64_t bytes);

/* Prints all figures. */
void figures_print(struct output *output, const struct report_summary *summary);

/* As figures_print(), for groups of folders. */
void figures_print_folders(struct output *output, const struct report_summary *summary);

#endif
