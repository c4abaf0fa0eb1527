/* SPDX-License-Identifier: MIT */
#ifndef ELSEWHERE_COVERING_INDEX_H
#define ELSEWHERE_COVERING_INDEX_H

/* Chooses the index that says whether contents are elsewhere. For the main thread. */

#include "base/attributes.h"
#include "elsewhere/missing_from.h"

/* Sets missing->operands to the sources of the index to open: with --by, the given and the examined
 * folders; else those of the known index with the latest scan that has all folders and others. The
 * index of a view is not chosen, as it can miss changes.
 *
 * folder	of the only index to use (--index); NULL: any
 *
 * Returns 0, or -errno, logged. */
MUST_CHECK int covering_index_choose(struct missing_from *missing, const char *folder);

#endif
