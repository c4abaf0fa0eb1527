/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_WRITER_H
#define CATALOG_WRITER_H

/* The write transaction: sealed records in, groups and totals kept up to date at its end.
 * Only catalog/ includes this; one thread at a time. */

#include "base/bytes.h"
#include "catalog/catalog.h"
#include "catalog/store.h"

struct gather;
struct group_change;

/* Names and directories that came and went in this transaction, see redundant.h. */
struct redundant_changes {
	struct bytes names;
	struct bytes dirs;
};

struct catalog_writer {
	struct catalog_reader reader; /* reads what was written so far */
	struct catalog *catalog;
	/* The last key of each table, or one behind it: greater keys are appended, which fills
	 * pages wholly and is several times faster than a search. */
	struct key last[TABLE_COUNT];
	bool last_known[TABLE_COUNT];
	struct gather *gather; /* news of this transaction */
	struct redundant_changes redundant;
	struct group_change *groups; /* touched in this transaction, by id (uthash) */
	/* The hash of the last group that was made, and its ordinal, behind which there is none; 0: not
	 * known. */
	struct hash128 last_hash;
	uint32_t last_ordinal;
	struct catalog_totals totals;
	bool totals_changed;
	bool changed; /* something was written */
};

/* Each seals value and writes it. writer_add: -EEXIST when the key is there already, and then
 * *fields (may be NULL) is what stands there. */
MUST_CHECK int writer_put(struct catalog_writer *w, enum table table, const struct key *key,
			  struct value value);
MUST_CHECK int writer_add(struct catalog_writer *w, enum table table, const struct key *key,
			  struct value value, struct span *fields);

/* -ENOENT when it is not there. */
MUST_CHECK int writer_delete(struct catalog_writer *w, enum table table, const struct key *key);

/* Deletes where it is there. */
MUST_CHECK int writer_forget(struct catalog_writer *w, enum table table, const struct key *key);

#endif
