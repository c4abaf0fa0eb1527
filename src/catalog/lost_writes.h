/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_LOST_WRITES_H
#define CATALOG_LOST_WRITES_H

/* Bytes that were compared but did not reach the disk. Only catalog/ includes this.
 *
 * A comparison reads from the page cache. If the power fails or the kernel crashes, bytes that were
 * written shortly before can be lost. The index survives, as each commit is synced. The same sync
 * makes ext4 and xfs write the sizes and times of all files, but not bytes that were overwritten in
 * place (measured by tests/functional/test_power_cut.py). So after a reboot, the contents of files
 * that changed shortly before the last commit are unknown.
 */

#include "catalog/catalog.h"

/* Makes the contents of files that changed shortly before the last commit unknown, if the index was
 * last opened for writing before this boot. Then records this boot. Returns 0 or -errno. */
MUST_CHECK int lost_writes_forget(struct catalog *catalog, int folder_fd);

#endif
