/* SPDX-License-Identifier: MIT */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

/* Writes sealed records in the only write transaction. One thread at a time. */

#include "base/attributes.h"
#include "store/key.h"
#include "store/store.h"
#include "store/value.h"

struct store_writer {
	struct catalog_reader reader; /* reads in the write transaction, also its own records */
	/* The last key of each table, or a greater key. A record with a still greater key is
	 * appended, which fills pages completely and is several times faster than a search. */
	struct key last[TABLE_COUNT];
	bool last_known[TABLE_COUNT];
	bool changed; /* whether a record was written or deleted */
};

/* Each function seals a value and writes the record. If the key exists, store_put() replaces its
 * record. store_add() returns -EEXIST and sets *fields, unless NULL, to the fields of the existing
 * record. Return 0 or -errno. */
MUST_CHECK int store_put(struct store_writer *w, enum table table, const struct key *key,
			 struct value value);
MUST_CHECK int store_add(struct store_writer *w, enum table table, const struct key *key,
			 struct value value, struct span *fields);

/* Deletes a record. Returns 0, -ENOENT if it does not exist, or -errno. */
MUST_CHECK int store_delete(struct store_writer *w, enum table table, const struct key *key);

/* Deletes a record if it exists. Returns 0 or -errno. */
MUST_CHECK int store_forget(struct store_writer *w, enum table table, const struct key *key);

#endif
