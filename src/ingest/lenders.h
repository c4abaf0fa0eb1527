/* SPDX-License-Identifier: MIT */
#ifndef INGEST_LENDERS_H
#define INGEST_LENDERS_H

/* Other indexes that lend what they know of unchanged files to a new index: see
 * index/shared_contents.h, which chooses them and takes their contents after the walk. The walk
 * reads no file whose content is lent. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "catalog/catalog.h"
#include "catalog/record.h"

struct early_content;

struct lender {
	struct catalog *catalog; /* open read-only */
	int64_t lost_since; /* catalog_lost_since() */
	_Atomic bool lends; /* the walk found a file whose content it has */
};

struct lenders {
	struct lender *list;
	size_t count, capacity;
};

/* Returns whether contents of files on the file system of fd are lent at all. They are not if bytes
 * can change without a new time: a rescan trusts no content there. Also not if the number of an
 * inode possibly is that of another file after the next mount, as on FUSE, or if files have no
 * birth times: a file is looked up by its number alone. Any thread. */
bool lenders_may_lend(int fd);

/* Returns whether the lender has the file with the same signature, and gets its content.
 *
 * snapshot	of the lender
 * filesystem	catalog_filesystem_in() for the file system of the file */
bool lender_get(const struct lender *lender, struct catalog_reader *snapshot, uint32_t filesystem,
		const struct attributes *attributes, struct content_record *content);

/* Returns whether a lender whose contents will be taken has a rival of the content
 * (early_tables.h). If so, the content must not be recorded before, or the lent files would have to
 * be read. lenders can be NULL. Any thread. */
bool lenders_have_rival(const struct lenders *lenders, const struct early_content *content);

/* ---- during a walk ------------------------------------------------------------------------- */

/* Looks up the files of directories, one after the other. Not shared between threads. */
struct lent_files;

/* Returns NULL if there is no lender, or if memory is short. Both arguments are borrowed; lenders
 * can be NULL. */
struct lent_files *lent_files_new(struct lenders *lenders, struct catalog *catalog);
void lent_files_free(struct lent_files *lent); /* accepts NULL */

/* Begins an open directory, on the file system with this number of the catalog. Accepts NULL. */
void lent_files_enter(struct lent_files *lent, int dir, uint32_t filesystem);

/* Returns whether a lender probably has the content of a file of the directory: what the lender
 * knows can change until the contents are taken. Accepts NULL. */
bool lent_files_have(const struct lent_files *lent, const struct attributes *attributes);

#endif
