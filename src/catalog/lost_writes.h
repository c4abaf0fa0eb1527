/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_LOST_WRITES_H
#define CATALOG_LOST_WRITES_H

/* Bytes that were compared and never reached the disk. Only catalog/ includes this.
 *
 * What is compared comes from the kernel's cache. When the power goes, or the kernel stops, bytes that
 * were written shortly before are lost, while the index, which syncs each commit, has what they were;
 * and by that very sync ext4 and xfs write size and times of the file, but not what was written over
 * its blocks in place (seen in tests/functional/test_power_cut.py). So after another start of the system
 * the contents of files that had changed shortly before the last commit are not known.
 */

#include "catalog/catalog.h"

/* Forgets them, where the index was last open in another start of the system. 0 or -errno. */
MUST_CHECK int lost_writes_forget(struct catalog *catalog, int folder_fd);

#endif
