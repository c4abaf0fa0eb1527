/* SPDX-License-Identifier: MIT */
#ifndef STORE_IDS_H
#define STORE_IDS_H

/* The ids of files, directories and groups that are not used yet. By the process that writes the
 * index. */

#include <stdint.h>

#include "base/attributes.h"

/* Ids are handed out from reservations, which are on disk before the first id of them is used;
 * so none is used twice, whatever becomes of the data file. */
MUST_CHECK int index_reserved_ids(int folder_fd, uint64_t *next);
MUST_CHECK int index_reserve_ids(int folder_fd, uint64_t next);

#endif
