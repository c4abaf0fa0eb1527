/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_FORMAT_H
#define CHOOSE_FORMAT_H

/* The functions of an output format. report.c calls begin first and end last. For each item it
 * calls begin_item, then name for each name that the report shows, then end_item. report.c checks
 * for failures of the output. The functions of the format return only other failures, as -errno.
 */

#include "base/attributes.h"
#include "base/bytes.h"
#include "choose/copies.h"
#include "choose/folder_tree.h"
#include "choose/report.h"
#include "choose/similar.h"
#include "index/query.h"

/* A group, or a file without a copy. The copies of a group of folders are folders. */
struct item {
	bool is_group; /* false: a file without a copy */
	uint64_t size; /* bytes of each copy */
	const struct copies *copies; /* copies of the group, or names of the file */
	/* These belong to a group. For folders, files, reclaimable and name are set if the format
	 * describes groups. */
	uint64_t inodes; /* number of copies, or folders */
	uint64_t files; /* regular files in each folder; only of a group of folders */
	uint64_t redundant; /* bytes of the redundant copies */
	uint64_t reclaimable; /* bytes that their removal would free */
	char name[GROUP_NAME_SIZE]; /* the hash; "": unknown, only of a group of folders */
};

/* File systems whose st_dev is remembered. Files on others are examined one by one. */
#define SEEN_DEVICES_MAX 16

struct seen_device {
	uint32_t filesystem; /* number of the catalog */
	dev_t device; /* its st_dev */
};

/* A report being printed. */
struct printing {
	const struct report *report;
	struct output *output;
	struct report_summary summary; /* complete when end is called */
	struct folder_count whole; /* of the groups of folders so far */
	uint64_t items; /* items printed before the current item */
	uint64_t names; /* names of the current item printed so far */
	struct bytes path; /* of the current name or folder */
	struct seen_device devices[SEEN_DEVICES_MAX];
	size_t device_count;
};

/* Functions that are NULL would print nothing. Without `pair`, the format has no pairs. */
struct format {
	void (*begin)(struct printing *printing);
	void (*begin_item)(struct printing *printing, const struct item *item);
	MUST_CHECK int (*name)(struct printing *printing, const struct item *item,
			       const struct copy *name); /* never NULL */
	void (*end_item)(struct printing *printing, const struct item *item);
	MUST_CHECK int (*pair)(struct printing *printing, const struct similar_pair *pair);
	MUST_CHECK int (*end)(struct printing *printing);
	bool describes_groups; /* prints more of a group than its names */
	bool has_figures; /* prints the figures after the list */
	bool can_summarize; /* can print the figures alone */
	bool can_explain; /* can print the reason of each fate */
};

const struct format *format_of(enum report_format format);

/* Prints the columns of a path in CSV: its readable form, quoted if the output is a terminal, and
 * its bytes if they are not UTF-8. Returns 0 or -ENOMEM. */
MUST_CHECK int format_csv_path(struct output *output, const struct bytes *path);

#endif
