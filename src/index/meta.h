/* SPDX-License-Identifier: MIT */
#ifndef INDEX_META_H
#define INDEX_META_H

/* The meta table: records about the index itself. Only index includes this.
 *
 * key             value
 * format          text "twinfs N": the only record without version and checksum, so that every
 *                 version of twinfs can read it
 * name-seed       secret of name_cookie()
 * min-size        smallest size of files that the last scan compared, in bytes
 * totals          struct catalog_totals
 * scan part M     struct scan_settings, in parts that fit a record
 * source N        dir id of its root
 * source N part M its path, in parts that fit a record
 * source N identity part M
 *                 struct source_identity
 * view part M     last mount point of a view of the index
 * operands        1: the index has only files and folders that a command named; else no record
 * keep part M     struct keep_rules of the user; missing: none
 * places          PLACES_VERSION of the twinfs that chose the kept copies; missing: 0
 * filesystem N    identity of a file system, see filesystem.h
 */

#include "base/bytes.h"
#include "index/store/value.h"
#include "index/writer.h"

#define META_FORMAT "format"
#define META_NAME_SEED "name-seed"
#define META_MIN_SIZE "min-size"
#define META_TOTALS "totals"
#define META_SCAN_SETTINGS "scan"
#define META_VIEW "view"
#define META_OPERANDS "operands"
#define META_KEEP "keep"
#define META_LEFT_OUT "left out"
#define META_PLACES "places"

/* Must be increased if the table of emptied_place.c changes: kept copies are chosen again. */
#define PLACES_VERSION 2

/* Maximum bytes of a text in one record. */
#define META_PART_BYTES 256

struct key meta_key(const char *name);

/* Returns the key of name followed by a number. */
struct key meta_key_numbered(const char *name, uint64_t number);

/* Unless noted otherwise, the functions return 0, -ENOENT if the record is missing, -EUCLEAN if it
 * is damaged, or another -errno. */
MUST_CHECK int meta_get_number(struct catalog_reader *r, const char *name, uint64_t *number);
MUST_CHECK int meta_put_number(struct catalog_writer *w, const char *name, uint64_t number);

MUST_CHECK int meta_put_totals(struct catalog_writer *w, const struct catalog_totals *totals);

/* A text of any length and bytes, stored in parts. meta_get_text() appends the text to *text, or
 * nothing if the text is missing. meta_put_text() replaces the text, and writes nothing if it is
 * unchanged. */
MUST_CHECK int meta_get_text(struct catalog_reader *r, const char *name, struct bytes *text);
MUST_CHECK int meta_put_text(struct catalog_writer *w, const char *name, const void *text,
			     size_t length);

/* Returns the number of records of a text of this length. */
size_t meta_text_records(size_t length);

/* Stores the path of source number index, and the dir id of its root; catalog_get_source() gets
 * them. */
MUST_CHECK int meta_put_source(struct catalog_writer *w, uint64_t index, const char *path,
			       uint64_t root);

/* Writes the records of a new, empty index. */
MUST_CHECK int meta_initialize(struct catalog_writer *w);

/* Writes the present format. Returns 0 or -errno. */
MUST_CHECK int meta_put_format(struct catalog_writer *w);

/* Reads the format; 0: the index is empty. Returns 0, -EUCLEAN if the record is not that of an
 * index of twinfs, or another -errno. */
MUST_CHECK int meta_get_format(struct catalog_reader *r, unsigned int *format);

#endif
