/* SPDX-License-Identifier: MIT */
#ifndef STORE_IDS_H
#define STORE_IDS_H

/* The unused ids of files, directories and groups. For the process that writes the index. */

#include <stdint.h>

#include "base/attributes.h"

/* Returns the first id that is not reserved. Every id is reserved on the disk before it is used. So
 * no id is used twice, even if the data file is lost. */
uint64_t index_reserved_ids(int folder_fd);

/* Reserves all ids below next. Returns 0 or -errno. */
MUST_CHECK int index_reserve_ids(int folder_fd, uint64_t next);

#endif
