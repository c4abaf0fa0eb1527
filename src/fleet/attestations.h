/* SPDX-License-Identifier: MIT */
#ifndef FLEET_ATTESTATIONS_H
#define FLEET_ATTESTATIONS_H

/* Writes what this host attests, and reads the attestations of the hosts that keep contents for a
 * remove list: files attested-HOST.jsonl in a folder (twinfs(5)):
 *
 *	{"format": "twinfs-attestation", "schema": 1, "plan": ..., "host": ..., "list": ..., ...}
 *	{"sha256": ..., "size": ..., "kept": true, "inode": ..., "born": ...}   one for each content
 *
 * The files that are read come from other hosts, so nothing in them is believed. The memory is
 * bounded by the remove list. For one thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "fleet/attesting.h"
#include "fleet/file_list.h"
#include "fleet/json_lines.h"

struct attestations;

/* ---- attestation file ----------------------------------------------------------------------- */

/* Writes attested-HOST.jsonl. Functions log their failures, except -ENOMEM. */

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

/* ---- attestations --------------------------------------------------------------------------- */

/* Reads all files attested-*.jsonl of a folder. An attestation counts if it is of the plan of the
 * list and of the keep list that the list names, and was begun at most max_age_s seconds ago and at
 * most five minutes in the future. Logs each keeper without one that counts, with the reason.
 *
 * list		a list of FILE_LIST_REMOVE, borrowed until attestations_free()
 *
 * Returns 0, -EPROTO if a file is malformed, -EINTR if stop_requested(), or another -errno. All are
 * logged, except -EINTR and -ENOMEM. On failure *attestations is NULL. */
MUST_CHECK int attestations_read(struct attestations **attestations, const struct file_list *list,
				 const char *folder, uint64_t max_age_s);
void attestations_free(struct attestations *attestations); /* accepts NULL */

/* Returns how many of the keepers of a row have attested its content. They are distinct hosts, and
 * none of them is this host. Hosts that attested the same file, on a disk that both see, count as
 * one. */
size_t attestations_count(const struct attestations *attestations, const struct listed_file *row);

/* Returns whether an attestation that counts names a file with this inode number and time of birth,
 * in nanoseconds since 1970, or 0 if that is unknown. Then a file of this host is possibly the file
 * that the other host keeps: both can see one disk. */
bool attestations_have_file(const struct attestations *attestations, uint64_t inode,
			    int64_t born_ns);

/* Appends the names of the hosts that attestations_count() counts: "alpha, gamma". Returns 0 or
 * -ENOMEM. */
MUST_CHECK int attestations_hosts(const struct attestations *attestations,
				  const struct listed_file *row, struct bytes *text);

#endif
