/* SPDX-License-Identifier: MIT */
#ifndef ELSEWHERE_COVERING_INDEX_H
#define ELSEWHERE_COVERING_INDEX_H

/* Chooses the index that says whether contents are elsewhere. For the main thread. */

#include "base/attributes.h"
#include "elsewhere/missing_from.h"

/* Sets missing->operands to those of the command that opens the index. The first of these that
 * exists is chosen:
 *
 * - the index of a mounted view that has all folders and, if none is given with --by, others
 * - if folders are given with --by: an index of these and the examined folders
 * - the known index with the latest scan that has all folders, and others
 *
 * folder	of the only index to use (--index); NULL: any
 *
 * Returns 0, or -errno, logged. */
MUST_CHECK int covering_index_choose(struct missing_from *missing, const char *folder);

#endif
