/* SPDX-License-Identifier: MIT */
#ifndef FLEET_ATTESTATION_FILE_H
#define FLEET_ATTESTATION_FILE_H

/* The lines of attested-HOST.jsonl, and the writer of such a file; attestations.h reads a folder of
 * them. For one thread. Functions log their failures, except -ENOMEM. */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "fleet/attesting.h"
#include "fleet/file_list.h"
#include "fleet/json_lines.h"

/* The first line. */
struct attestation_head {
	char format[sizeof("twinfs-attestation")];
	uint32_t schema;
	char plan[PLAN_DIGITS + 1];
	char host[HOST_NAME_BYTES_MAX + 1];
	uint8_t list[SHA256_BYTES]; /* SHA-256 of the keep list */
	int64_t begun, created; /* seconds since 1970 */
	uint64_t rows;
};

/* A line for a content of the keep list. */
struct attestation_row {
	uint8_t sha256[SHA256_BYTES];
	uint64_t size; /* bytes */
	bool kept;
	/* The file that is kept. No chmod, link or rename changes these. */
	uint64_t inode;
	int64_t born_ns;
	const char *reason; /* why the content is not kept; not read */
};

/* Get a line. Return 0, -EPROTO or -ENOMEM. */
MUST_CHECK int attestation_head_get(const struct json_lines *lines, const json_t *object,
				    struct attestation_head *head);
MUST_CHECK int attestation_row_get(const struct json_lines *lines, const json_t *object,
				   struct attestation_row *row);

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
