/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_INTERNAL_H
#define CATALOG_INTERNAL_H

/* What the parts of catalog/ ask the catalog object. Only catalog/ includes this. */

#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

struct catalog;

/* The catalog's number for the file system of fd, whose st_dev is device. Any thread. */
MUST_CHECK int catalog_filesystem(struct catalog *catalog, int fd, dev_t device, uint32_t *number);

uint64_t catalog_name_seed(const struct catalog *catalog);

#endif
