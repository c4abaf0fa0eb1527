/* SPDX-License-Identifier: MIT */
#ifndef FLEET_ATTESTATION_FILE_H
#define FLEET_ATTESTATION_FILE_H

/* Writes attested-HOST.jsonl, which attestations.h reads. For one thread. Functions log their
 * failures, except -ENOMEM. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "fleet/attesting.h"
#include "fleet/file_list.h"

struct attestation_file {
	const char *folder; /* as the user gave it, borrowed */
	const struct file_list *list; /* borrowed */
	int fd; /* of the folder */
};

/* Opens the folder, which is made if it is missing, and removes what interrupted calls for this
 * host left in it. Returns 0 or -errno. The caller must call attestation_file_deinit() in all
 * cases. */
MUST_CHECK int attestation_file_init(struct attestation_file *file, const char *folder,
				     const struct file_list *list);
void attestation_file_deinit(struct attestation_file *file);

/* Writes the results of all rows to the disk, and replaces an earlier attestation of this host.
 *
 * begun	time before the first file was read
 *
 * Returns 0 or -errno. */
MUST_CHECK int attestation_file_write(const struct attestation_file *file,
				      const struct attested *results, struct timespec begun);

#endif
