/* SPDX-License-Identifier: MIT */
#ifndef FLEET_PROMISES_H
#define FLEET_PROMISES_H

/* Contents that a host has promised to keep for other hosts (twinfs(5)):
 *
 *	INDEXES/.promises/HOST/promises
 *	INDEXES/.promises/+INDEX/promises       the same, by catalog_identity() of the index
 *
 *	INDEX FOLDER/promised                   notes which of them the index made last
 *
 * A file has a random id and the number of its writes. If it has another id, or fewer writes, than
 * the note, then promises are lost, or an older copy of them was restored. The mark of the folder
 * (index/store/index_files.h) shows whether the folder itself was restored.
 *
 * `twinfs attest` adds promises before it reads a file. `twinfs remove --attested` removes no file
 * whose content is promised, so that two plans cannot rely on each other's files. Both hold the
 * lock of the folder while they work. The promises are not in the folder of an index, because two
 * indexes of a host can have the same files. For one thread.
 */

#include <stdint.h>

#include "base/attributes.h"

struct file_list;
struct promises;

/* Validity of a promise: 14 days. It must be longer than the maximum age of an attestation that
 * `twinfs remove --attested` accepts. */
#define PROMISE_SECONDS (INT64_C(14) * 24 * 3600)

/* Locks and reads the promises of a host. Makes their folder if it is missing. Works beside a
 * mounted view.
 *
 * indexes	path of the default folder of the indexes of this user
 * index_folder	of the index of the list
 * list		its host and index have made the promises; borrowed until promises_close()
 *
 * Returns 0, -EWOULDBLOCK if another process has the lock, -EPROTO if the file is damaged, -ESTALE
 * if promises are lost, or another -errno. All are logged, except -EINTR and -ENOMEM. On failure
 * *promises is NULL. */
MUST_CHECK int promises_open(struct promises **promises, const char *indexes,
			     const char *index_folder, const struct file_list *list);
void promises_close(struct promises *promises); /* releases the lock; accepts NULL */

/* Returns the time until which a content is promised, in seconds since 1970; 0 if it is not
 * promised now. */
int64_t promises_until(const struct promises *promises, const uint8_t *sha256, uint64_t size);

/* Promises the contents of a list of FILE_LIST_KEEP for PROMISE_SECONDS, and drops the promises
 * that have expired, if this machine was running for as long. The file is synced: after a failure
 * or a crash it has the earlier promises, or all. Returns 0 or -errno, logged. */
MUST_CHECK int promises_add(struct promises *promises, const struct file_list *list);

#endif
