/* SPDX-License-Identifier: MIT */
#include "ingest/lenders.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/filesystem.h"
#include "catalog/query.h"
#include "ingest/early_tables.h"

/* Returns whether the file system of fd has birth times. A file that came with an image of a disk
 * has none even there, unlike every file that was made later and has its number. */
static bool has_birth_times(int fd)
{
	struct statx status;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) == 0 &&
	       (status.stx_mask & STATX_BTIME);
}

bool lenders_may_lend(int fd)
{
	uint32_t type = filesystem_type_at(fd);

	return filesystem_kind_of(type) == FILESYSTEM_FINE && !filesystem_may_hide_stores(type) &&
	       has_birth_times(fd);
}

bool lender_get(const struct lender *lender, struct catalog_reader *snapshot, uint32_t filesystem,
		const struct attributes *attributes, struct content_record *content)
{
	struct file_record known;
	uint64_t id;

	if (catalog_find_inode(snapshot, filesystem, attributes->inode, &id) < 0 || id == 0 ||
	    catalog_get_file(snapshot, id, &known) < 0)
		return false;
	known.attributes.filesystem = attributes->filesystem;
	return attributes_same_signature(&known.attributes, attributes) &&
	       known.attributes.ctime.tv_sec < lender->lost_since &&
	       catalog_get_content(snapshot, id, content) == 0;
}

static bool has_rival(const struct lender *lender, const struct early_content *content)
{
	CLEANUP_READER struct catalog_reader *snapshot = NULL;
	bool has = false;

	return catalog_read_begin(lender->catalog, &snapshot) == 0 &&
	       early_has_rival(snapshot, content, &has) == 0 && has;
}

bool lenders_have_rival(const struct lenders *lenders, const struct early_content *content)
{
	for (size_t i = 0; lenders && i < lenders->count; i++) {
		if (atomic_load_explicit(&lenders->list[i].lends, memory_order_relaxed) &&
		    has_rival(&lenders->list[i], content))
			return true;
	}
	return false;
}

/* ---- during a walk ------------------------------------------------------------------------- */

struct lent_files {
	struct lenders *lenders;
	struct catalog *catalog;
	uint32_t filesystem; /* of the directory, in the catalog; 0: no directory was entered */
	uint32_t numbers[]; /* of that file system for each lender; 0: it lends nothing there */
};

struct lent_files *lent_files_new(struct lenders *lenders, struct catalog *catalog)
{
	struct lent_files *lent;

	if (!lenders || lenders->count == 0)
		return NULL;
	lent = calloc(1, sizeof(*lent) + lenders->count * sizeof(*lent->numbers));
	if (!lent)
		return NULL;
	lent->lenders = lenders;
	lent->catalog = catalog;
	return lent;
}

void lent_files_free(struct lent_files *lent)
{
	free(lent);
}

void lent_files_enter(struct lent_files *lent, int dir, uint32_t filesystem)
{
	bool may;

	if (!lent || filesystem == lent->filesystem)
		return;
	lent->filesystem = filesystem;
	may = lenders_may_lend(dir);
	for (size_t i = 0; i < lent->lenders->count; i++)
		lent->numbers[i] = may ? catalog_filesystem_in(lent->catalog, filesystem,
							       lent->lenders->list[i].catalog)
				       : 0;
}

/* Looks in a snapshot of its own, as a thread that waits for another index must not hold one. */
static bool has(struct lender *lender, uint32_t filesystem, const struct attributes *attributes)
{
	CLEANUP_READER struct catalog_reader *snapshot = NULL;
	struct content_record content;

	if (catalog_read_begin(lender->catalog, &snapshot) < 0 ||
	    !lender_get(lender, snapshot, filesystem, attributes, &content))
		return false;
	atomic_store_explicit(&lender->lends, true, memory_order_relaxed);
	return true;
}

bool lent_files_have(const struct lent_files *lent, const struct attributes *attributes)
{
	for (size_t i = 0; lent && i < lent->lenders->count; i++) {
		if (lent->numbers[i] && has(&lent->lenders->list[i], lent->numbers[i], attributes))
			return true;
	}
	return false;
}
