/* SPDX-License-Identifier: MIT */
#ifndef CHOOSE_SIMILAR_H
#define CHOOSE_SIMILAR_H

/* Finds similar folders: pairs of directories, neither of which contains the other, that have many
 * bytes in common.
 *
 * The sums of a directory are those of the contents in its whole tree. A content is that of a group
 * of equal files, or of one inode; each counts once for a directory, however many files have it.
 * Files without bytes and files that are not regular count nothing. Two directories are similar if
 * the contents that both have are at least a given part of the bytes of the larger one.
 *
 * Unless all pairs are requested, two kinds are left out:
 * - a pair that shares no more bytes than a pair of similar directories in its directories, which
 *   have fewer bytes or are equal folders: the higher directories add nothing that both have;
 * - a pair of directories in those of another pair that is not left out.
 * Equal folders (catalog_find_folder_group()) are never printed, but count here.
 *
 * Method. The content of k directories is given to these with the factor 1, and with the factor -1
 * to the lowest directory that contains each two of them that follow each other. The sum of the
 * factors in a directory is then 1 if it has the content, or 0. So the products of the factors, as
 * weights of pairs of directories, are few numbers from which sums over the trees of any two
 * directories follow exactly (the two-dimensional case of Hui, Color set size problem, CPM 1992).
 *
 * Bounds. A content of up to SIMILAR_DIRS_MAX directories makes pairs of all of them. One of more
 * directories makes pairs of each with the SIMILAR_NEXT_MAX that follow it in the order of paths.
 * So directories that share only contents of more directories can be missed. Directories that are
 * more than SIMILAR_DEPTH_MAX levels below their source make no pairs, but count in those above
 * them. The sums of the pairs that are found are exact. Work is linear in names, in copies and in
 * the pairs that are printed; a pair of two directories that have files of one content is added to
 * those of the directories above both, SIMILAR_DEPTH_MAX squared at most.
 *
 * Memory: 68 bytes for each directory, 8 bytes for each directory of a content
 * that more than SIMILAR_DIRS_MAX have, 8 bytes for each pair that is printed, two sorters, and
 * sums of pairs in front of them. One thread at a time.
 */

#include <stdint.h>

#include "base/attributes.h"

struct report;

#define SIMILAR_DIRS_MAX 16
#define SIMILAR_NEXT_MAX 4
#define SIMILAR_DEPTH_MAX 64

/* One directory of a pair. */
struct similar_folder {
	uint32_t source;
	const char *path; /* relative to the source, "" for all of it */
	/* contents that the other directory lacks, and their bytes */
	uint64_t only, only_bytes;
};

struct similar_pair {
	struct similar_folder folders[2]; /* in the order of sources and paths */
	uint64_t shared, shared_bytes; /* contents that both directories have */
	unsigned int percent; /* shared bytes in those of the larger directory, rounded down */
};

struct similar_visitor {
	/* Returns 0, or -errno, which ends the search. The pair is borrowed during the call. */
	int (*pair)(void *context, const struct similar_pair *pair);
	void *context;
};

/* What the bounds of the search concern. */
struct similar_bounds {
	uint64_t common; /* contents of more than SIMILAR_DIRS_MAX directories */
	uint64_t deep; /* directories more than SIMILAR_DEPTH_MAX levels below their source */
};

/* Calls visitor->pair for each pair of similar directories that the filter and the rule
 * between_sources of the report leave, the one with most shared bytes first, then in the order of
 * paths. All is computed before the first call.
 *
 * Returns 0, -EINTR if stop_requested(), -EOVERFLOW if the contents have 2^64 bytes or more, or
 * another -errno. */
MUST_CHECK int similar_find(const struct report *report, const struct similar_visitor *visitor,
			    struct similar_bounds *bounds);

#endif
