/* SPDX-License-Identifier: MIT */
#ifndef SCAN_EARLY_WRITER_H
#define SCAN_EARLY_WRITER_H

/* Records the contents of files that a walk has read, see early_reader.h. One thread. */

#include <stddef.h>

#include "base/attributes.h"
#include "index/change.h"
#include "scan/early_reader.h"
#include "scan/ingest.h"

struct early_writer;

/* Returns NULL if memory is short. Both arguments are borrowed. */
struct early_writer *early_writer_new(struct early_tables *tables, const struct ingest *ingest);
void early_writer_free(struct early_writer *writer); /* accepts NULL */

/* Collects the contents of files whose names were committed. The context of each change is a struct
 * early_mark or NULL, and the id is that of its file or 0. Reads the first file of each content
 * that another file has, too. Returns 0 or -errno. */
MUST_CHECK int early_writer_resolve(struct early_writer *writer, const struct name_change *changes,
				    size_t count);

/* Collects the remaining contents after the walk, whose names were all committed. Several threads
 * read files that the walk did not read: they were the first of their size, or not in the page
 * cache. Returns 0 or -errno. */
MUST_CHECK int early_writer_finish(struct early_writer *writer);

/* Writes the collected contents, inside a transaction. The transaction can be repeated. */
MUST_CHECK int early_writer_commit(struct early_writer *writer, struct catalog_writer *w);

/* Forgets the contents that early_writer_commit() wrote, after the transaction was committed. */
void early_writer_committed(struct early_writer *writer);

#endif
