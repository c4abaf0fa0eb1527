/* SPDX-License-Identifier: MIT */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

/* Writes sealed records in the one write transaction. One thread at a time. */

#include "base/attributes.h"
#include "store/key.h"
#include "store/store.h"
#include "store/value.h"

struct store_writer {
	struct catalog_reader reader; /* reads what was written so far */
	/* The last key of each table, or one after it: greater keys are appended, which fills pages
	 * wholly and is several times faster than a search. */
	struct key last[TABLE_COUNT];
	bool last_known[TABLE_COUNT];
	bool changed; /* something was written */
};

/* Each seals value and writes it. store_add: -EEXIST when the key is there already, and then
 * *fields (may be NULL) is what stands there. */
MUST_CHECK int store_put(struct store_writer *w, enum table table, const struct key *key,
			 struct value value);
MUST_CHECK int store_add(struct store_writer *w, enum table table, const struct key *key,
			 struct value value, struct span *fields);

/* -ENOENT when it is not there. */
MUST_CHECK int store_delete(struct store_writer *w, enum table table, const struct key *key);

/* Deletes where it is there. */
MUST_CHECK int store_forget(struct store_writer *w, enum table table, const struct key *key);

#endif
