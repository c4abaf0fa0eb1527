/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_REPORT_H
#define CHOOSE_REPORT_H

/* Prints groups of files or folders, files without a copy, or figures of an index. One thread at a
 * time. Takes memory for one group, and for sorting if the order is not that of the index.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/output.h"
#include "choose/figures.h"

struct missing_folders;
struct catalog_reader;
struct copies;
struct filter;
struct group_record;
struct rules;
struct sources;
struct stay_tally;

enum report_format {
	REPORT_TEXT, /* for people */
	REPORT_FDUPES, /* the format of fdupes and jdupes: exact bytes, except on a terminal */
	REPORT_JSON, /* one object */
	/* a line with one object for each group, or for each name of a file without a copy */
	REPORT_JSONL,
	REPORT_CSV, /* a line for each name */
	REPORT_NULL, /* paths, each followed by a NUL */
};

enum report_part {
	REPORT_GROUPS, /* all copies of each group */
	REPORT_REDUNDANT, /* only the redundant copies of each group */
	REPORT_SINGLES, /* the files that have no copy */
	REPORT_MISSING, /* the files of some folders without a copy in others (missing.h) */
	REPORT_SIMILAR, /* pairs of similar folders (similar.h) */
	REPORT_SUMMARY, /* only the figures */
	/* What an act would do: the kept copy of each group, and the copies to act upon. The
	 * formats without a column for the fate mark them, so that no program takes the kept copy
	 * for one to act upon. */
	REPORT_PLANNED,
};

enum report_order {
	REPORT_BY_RECLAIMABLE, /* most first; singles by size, the smallest first */
	REPORT_BY_SIZE, /* size of one copy, the largest first */
	REPORT_BY_COUNT, /* number of inodes, most first; only for groups */
	REPORT_BY_PATH, /* source and path of the kept copy */
};

/* All pointers are borrowed. */
struct report {
	struct catalog_reader *reader;
	const struct sources *sources;
	/* The path of each source as the user wrote it. The formats text and fdupes print paths
	 * that begin with that path. Other formats print absolute paths. */
	const char *const *shown;
	const struct rules *rules; /* decide which copies are kept and which are redundant */
	enum report_format format;
	enum report_part part;
	enum report_order order;
	/* groups of equal folders; only of REPORT_GROUPS, REPORT_REDUNDANT and REPORT_SUMMARY */
	bool folders;
	/* also folder groups whose parents are in one folder group, or similar folders in others */
	bool implied;
	bool explain; /* prints the reason of the fate of each name */
	struct filter *filter;
	const struct missing_folders *missing; /* of REPORT_MISSING */
	unsigned int similar_percent; /* of REPORT_SIMILAR: from 1 to 100, see similar.h */
	struct timespec last_scan; /* printed by JSON formats; 0: not known */
	struct stay_tally *stays; /* counts copies that stay (stays.h); NULL: not counted */
	bool breaks_symlinks; /* an act removes the names of redundant copies */
};

/* Returns whether the part consists of groups. If not, it consists of files or folders. */
static inline bool report_has_groups(enum report_part part)
{
	return part != REPORT_SINGLES && part != REPORT_MISSING && part != REPORT_SIMILAR;
}

/* Returns whether the format can print the figures alone. */
bool report_can_summarize(enum report_format format);

/* Returns whether the format can print the reason of each fate. */
bool report_can_explain(enum report_format format);

/* Returns whether the format can print pairs of similar folders. */
bool report_can_pair(enum report_format format);

/* Prints the report and sets *summary, whose figures of groups count only the selected groups.
 * Returns 0, -EINTR if stop_requested(), or another -errno. A failure of the output is also stored
 * in output. */
MUST_CHECK int report_print(const struct report *report, struct output *output,
			    struct report_summary *summary);

/* Groups that do not come from the index. next() sets pointers that are valid until it is called
 * again, and *files to the number of regular files in each folder of a group of folders. It returns
 * 0, -ENOENT at the end, or another -errno. The group of folders has its tree hash, with the
 * ordinal 0 if that is unknown. Its folders neither contain each other nor those of other groups,
 * except for folders that are kept. */
struct report_feed {
	int (*next)(void *context, const struct group_record **group, const struct copies **copies,
		    uint64_t *files);
	void *context;
};

/* Prints groups like report_print(), without the order and filters of the report. The reader is
 * used for the reclaimable bytes of folders only. It can be of a later snapshot than the groups:
 * what is not in the index any more frees nothing.
 *
 * feed		NULL: the groups come from the index
 * summary	has the figures of the whole index; those of the groups are added
 */
MUST_CHECK int report_print_feed(const struct report *report, const struct report_feed *feed,
				 struct output *output, struct report_summary *summary);

#endif
