/* SPDX-License-Identifier: MIT */
#ifndef INGEST_EARLY_READER_H
#define INGEST_EARLY_READER_H

/* Examines the names of directories and reads files in them, see early_tables.h. Not shared between
 * threads. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "ingest/early_tables.h"
#include "ingest/ingest.h"
#include "ingest/listing.h"

struct early_reader;

/* Returns NULL if tables is NULL or memory is short: names are then examined without reading files.
 * Both arguments are borrowed. */
struct early_reader *early_reader_new(struct early_tables *tables, const struct ingest *ingest);
void early_reader_free(struct early_reader *reader); /* accepts NULL */

/* Begins an open directory, on the file system with this number of the catalog and this type
 * (f_type of statfs(2)). Returns false if no file in it can be proved here: early_reader_examine()
 * must not be called. */
bool early_reader_enter(struct early_reader *reader, int dir, uint32_t filesystem,
			uint32_t filesystem_type);

/* Sets the attributes of a name in the directory. If the name is a file, and another file has its
 * size, reads the file. Sets listed->mark. Returns what source_attributes_at() returns. */
MUST_CHECK int early_reader_examine(struct early_reader *reader, struct listed *listed);

#endif
