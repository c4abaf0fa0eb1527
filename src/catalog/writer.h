/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_WRITER_H
#define CATALOG_WRITER_H

/* The write transaction of the catalog. Groups and totals are updated at its end. Only catalog/
 * includes this; one thread at a time. */

#include "base/bytes.h"
#include "catalog/catalog.h"
#include "store/writer.h"

struct delta_builder;
struct group_change;

/* Names and directories added and removed in this transaction, see redundant.h. */
struct redundant_changes {
	struct bytes names;
	struct bytes dirs;
};

struct catalog_writer {
	struct store_writer store;
	struct catalog *catalog;
	struct delta_builder *builder; /* builds the commit delta */
	struct redundant_changes redundant;
	struct group_change *groups; /* changed in this transaction, by id (uthash) */
	/* The hash and ordinal of the last group that was made, if the hash has no higher ordinal;
	 * 0: not known. */
	struct hash128 last_hash;
	uint32_t last_ordinal;
	struct catalog_totals totals;
};

#endif
