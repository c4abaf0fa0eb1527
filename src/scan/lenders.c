/* SPDX-License-Identifier: MIT */
#include "scan/lenders.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/filesystem.h"
#include "index/query.h"

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
