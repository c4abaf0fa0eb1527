/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_META_H
#define CATALOG_META_H

/* The meta table: what the index says of itself. Only catalog/ includes this.
 *
 * key             value
 * format          text "twinfs N": the only record without version and checksum, so that every
 *                 version of twinfs can read it
 * name-seed       secret of name_cookie
 * min-size        as the last scan was told
 * totals          struct catalog_totals
 * scan part M     struct scan_settings, in parts that fit a record
 * source N        dir id of its root
 * source N part M its path, in parts that fit a record
 * source N identity part M
 *                 struct source_identity
 * view part M     where a view of the index was mounted last
 * filesystem N    identity of a file system, see filesystem.h
 */

#include "base/bytes.h"
#include "catalog/writer.h"
#include "store/key.h"

#define META_FORMAT "format"
#define META_NAME_SEED "name-seed"
#define META_MIN_SIZE "min-size"
#define META_TOTALS "totals"
#define META_SCAN_SETTINGS "scan"
#define META_VIEW "view"

/* Bytes of a text in one record. */
#define META_PART_BYTES 256

struct key meta_key(const char *name);
struct key meta_key_numbered(const char *name, uint64_t number, const char *part);

/* -ENOENT, -EUCLEAN ... */
MUST_CHECK int meta_get_number(struct catalog_reader *r, const char *name, uint64_t *number);
MUST_CHECK int meta_put_number(struct catalog_writer *w, const char *name, uint64_t number);

MUST_CHECK int meta_get_totals(struct catalog_reader *r, struct catalog_totals *totals);
MUST_CHECK int meta_put_totals(struct catalog_writer *w, const struct catalog_totals *totals);

/* A text of any length and bytes, stored in parts. get appends it to *text, nothing where there is
 * none; put replaces it. */
MUST_CHECK int meta_get_text(struct catalog_reader *r, const char *name, struct bytes *text);
MUST_CHECK int meta_put_text(struct catalog_writer *w, const char *name, const void *text,
			     size_t length);

/* The number of records that a text of this length has. */
size_t meta_text_records(size_t length);

/* The path of source number index and the dir id of its root. -ENOENT: there is no such. */
MUST_CHECK int meta_get_source(struct catalog_reader *r, uint64_t index, struct bytes *path,
			       uint64_t *root);
MUST_CHECK int meta_put_source(struct catalog_writer *w, uint64_t index, const char *path,
			       uint64_t root);

/* A new, empty index. */
MUST_CHECK int meta_initialize(struct catalog_writer *w);

/* The format: 0 for an index that holds nothing yet. -EUCLEAN: no twinfs index. */
MUST_CHECK int meta_get_format(struct catalog_reader *r, unsigned int *format);

#endif
