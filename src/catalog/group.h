/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_GROUP_H
#define CATALOG_GROUP_H

/* Membership in groups within a write transaction. A touched group is held in memory until
 * groups_flush, at the end of the transaction, which chooses the kept copy where there is none
 * and brings rank and totals up to date: so one choice is made for each group and transaction,
 * however many copies come and go in it. Only catalog/ includes this. */

#include "catalog/writer.h"

/* Makes a group for content with this hash; its ordinal is the next one free. A group of
 * this hash that all members have left goes at once, and its ordinal is used again. */
MUST_CHECK int group_create(struct catalog_writer *w, struct hash128 hash, uint64_t size_bytes,
			    uint64_t *group);

/* 0: it is there, -ENOENT: it is gone. */
MUST_CHECK int group_find(struct catalog_writer *w, uint64_t group);

/* -ENOENT: the group is gone. */
MUST_CHECK int group_join(struct catalog_writer *w, uint64_t group, uint64_t file);

/* stays	keep a group without members: its files may come back under other names before
 *		orphans are purged
 */
MUST_CHECK int group_leave(struct catalog_writer *w, uint64_t group, uint64_t file, bool stays);

/* The group is deleted at the end of the transaction if it has no members. */
MUST_CHECK int group_sweep(struct catalog_writer *w, uint64_t group);

MUST_CHECK int groups_flush(struct catalog_writer *w);
void groups_discard(struct catalog_writer *w); /* after a flush or instead of it */

#endif
