/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_LOST_WRITES_H
#define CATALOG_LOST_WRITES_H

/* Bytes that were compared but did not reach the disk. Only catalog/ includes this.
 *
 * A comparison reads from the page cache. If the power fails or the kernel crashes, bytes that were
 * written shortly before are lost. The index survives, as each commit is synced. The same sync
 * makes ext4 and xfs write the size and times of the file. Bytes that were overwritten in place are
 * not written (measured by tests/functional/test_power_cut.py). So after a reboot the contents of
 * files that changed shortly before the last commit are unknown.
 */

#include "catalog/catalog.h"

/* If the index was last open before the last boot, makes the contents of such files unknown.
 * Returns 0 or -errno. */
MUST_CHECK int lost_writes_forget(struct catalog *catalog, int folder_fd);

#endif
