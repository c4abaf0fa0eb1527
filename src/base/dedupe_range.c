/* SPDX-License-Identifier: MIT */
#include "base/dedupe_range.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/filesystem_kind.h"

/* Size of the argument of the ioctl with one destination. */
#define ARGUMENT_BYTES (sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info))

int64_t dedupe_range(const struct dedupe_range *range)
{
	_Alignas(struct file_dedupe_range) uint8_t room[ARGUMENT_BYTES] = {0};
	struct file_dedupe_range *argument = (void *)room;

	argument->src_offset = range->source_offset;
	argument->src_length = range->length;
	argument->dest_count = 1;
	argument->info[0].dest_fd = range->destination;
	argument->info[0].dest_offset = range->destination_offset;
	if (ioctl(range->source, FIDEDUPERANGE, argument) < 0)
		return -errno;
	if (argument->info[0].status < 0)
		return argument->info[0].status;
	if (argument->info[0].status == FILE_DEDUPE_RANGE_DIFFERS)
		return 0;
	return (int64_t)argument->info[0].bytes_deduped;
}

uint64_t dedupe_range_skip_hole(struct dedupe_range *range)
{
	off_t from = (off_t)range->destination_offset;
	off_t end = from + (off_t)range->length;
	off_t data = lseek(range->destination, from, SEEK_DATA);
	off_t hole;

	if (data < 0)
		data = errno == ENXIO ? end : from;
	if (data > end)
		data = end;
	hole = data < end ? lseek(range->destination, data, SEEK_HOLE) : end;
	if (hole <= data || hole > end)
		hole = end;
	range->source_offset += (uint64_t)(data - from);
	range->destination_offset = (uint64_t)data;
	range->length = (uint64_t)(hole - data);
	return (uint64_t)(data - from);
}

bool dedupe_range_is_unsupported(int fd, int64_t shared)
{
	return shared == -EOPNOTSUPP || shared == -ENOTTY || shared == -ENOSYS ||
	       filesystem_lacks_reflinks_at(fd);
}
