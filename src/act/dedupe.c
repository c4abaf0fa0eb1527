/* SPDX-License-Identifier: MIT */

/* ACT_DEDUPE, with FIDEDUPERANGE (ioctl_fideduperange(2)).
 *
 *	comparison	The kernel locks both files and compares the bytes before the copy shares
 *			the blocks of the kept file.
 *
 * No name and no time stamp changes, so there is no journal and no undo. After an interrupted act
 * the copy has the same bytes and shares a part of its blocks. */

#include <errno.h>

#include "act/one_act.h"
#include "base/dedupe_range.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/size.h"

/* Bytes per call: the limit of btrfs. */
#define RANGE_BYTES (UINT64_C(16) << 20)

/* Sets a range at one offset of both files. */
static struct dedupe_range range_at(const struct one_act *act, uint64_t offset, uint64_t length)
{
	return (struct dedupe_range){.source = act->kept->held.fd,
				     .destination = act->copy.held.fd,
				     .source_offset = offset,
				     .destination_offset = offset,
				     .length = length};
}

bool act_may_dedupe(struct one_act *act)
{
	const struct held *kept = &act->kept->held, *copy = &act->copy.held;
	const struct dedupe_range none = range_at(act, 0, 0);
	int64_t shared;

	if (is_same_inode(&kept->status, &copy->status))
		return one_act_refuse(act, ACT_NEEDLESS);
	/* An empty range only checks whether sharing is possible. extents_cover() compares block
	 * numbers, which can be equal on two file systems. */
	shared = dedupe_range(&none);
	if (shared == -EXDEV)
		return one_act_refuse(act, ACT_OTHER_FILE_SYSTEM);
	if (dedupe_range_is_unsupported(copy->fd, shared))
		return one_act_refuse(act, ACT_CANNOT_SHARE);
	if (shared == -EPERM || shared == -EACCES || shared == -EROFS)
		return one_act_fail(act, (int)shared);
	if (extents_cover(kept->fd, copy->fd))
		return one_act_refuse(act, ACT_NEEDLESS);
	return copy->status.st_size == kept->status.st_size || one_act_refuse(act, ACT_DIFFERS);
}

void act_dedupe(struct one_act *act)
{
	const struct held *copy = &act->copy.held;
	uint64_t size = (uint64_t)act->kept->held.status.st_size, own_bytes;
	int64_t shared;

	if (!act_may_dedupe(act))
		return;
	act->result->outcome = ACT_DIFFERS;
	own_bytes = extents_own_bytes(copy->fd);
	for (uint64_t at = 0; at < size; at += (uint64_t)shared) {
		struct dedupe_range range =
			range_at(act, at, size - at < RANGE_BYTES ? size - at : RANGE_BYTES);

		at += dedupe_range_skip_hole(&range);
		shared = range.length > 0 ? dedupe_range(&range) : 0;
		if (shared == 0 && range.length > 0)
			return;
		if (shared < 0) {
			(void)one_act_fail(act, (int)shared);
			return;
		}
	}
	act->result->freed_bytes = size_subtract(own_bytes, extents_own_bytes(copy->fd));
	/* inline extents in the metadata of btrfs have no blocks to share */
	act->result->outcome =
		own_bytes > 0 && act->result->freed_bytes == 0 ? ACT_NEEDLESS : ACT_DONE;
}
