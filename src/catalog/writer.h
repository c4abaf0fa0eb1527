/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_WRITER_H
#define CATALOG_WRITER_H

/* The write transaction of the catalog: groups and totals are brought up to date at its end. Only
 * catalog/ includes this; one thread at a time. */

#include "base/bytes.h"
#include "catalog/catalog.h"
#include "store/writer.h"

struct delta_builder;
struct group_change;

/* Names and directories that came and went in this transaction, see redundant.h. */
struct redundant_changes {
	struct bytes names;
	struct bytes dirs;
};

struct catalog_writer {
	struct store_writer store;
	struct catalog *catalog;
	struct delta_builder *builder; /* news of this transaction */
	struct redundant_changes redundant;
	struct group_change *groups; /* touched in this transaction, by id (uthash) */
	/* The hash of the last group that was made, and its ordinal, behind which there is none; 0: not
	 * known. */
	struct hash128 last_hash;
	uint32_t last_ordinal;
	struct catalog_totals totals;
};

#endif
