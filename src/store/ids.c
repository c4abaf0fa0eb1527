/* SPDX-License-Identifier: MIT */
#include "store/ids.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "store/index_files.h"
#include "twinfs/format.h"

#define ID_TEXT_BYTES 32

/* If the file of ids is missing although the index had ids, the first id depends on the time: 2^18
 * ids for each second since 2023-11-14. This id is above all used ids, because an index assigns
 * fewer ids in a second on average. */
#define LOST_IDS_EPOCH 1700000000
#define LOST_IDS_SHIFT 18

uint64_t index_reserved_ids(int folder_fd)
{
	char text[ID_TEXT_BYTES], *end;
	uint64_t number;
	time_t now = clock_now().tv_sec;

	if (index_file_read(folder_fd, TWINFS_INDEX_IDS, text, sizeof(text)) == 0) {
		number = strtoull(text, &end, 10);
		/* a reservation can end above TWINFS_ID_MAX; no id is left after it */
		if (*end == '\n' && number > 0 && number <= 2 * TWINFS_ID_MAX)
			return number;
	} else if (index_is_empty(folder_fd) && !name_exists(folder_fd, TWINFS_INDEX_DAMAGED)) {
		return 1;
	}
	return (now > LOST_IDS_EPOCH ? (uint64_t)(now - LOST_IDS_EPOCH) : 1) << LOST_IDS_SHIFT;
}

int index_reserve_ids(int folder_fd, uint64_t next)
{
	char text[ID_TEXT_BYTES];

	snprintf(text, sizeof(text), "%" PRIu64 "\n", next);
	return index_file_replace(folder_fd, TWINFS_INDEX_IDS, text);
}
