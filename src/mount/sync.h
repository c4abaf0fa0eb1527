/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SYNC_H
#define MOUNT_SYNC_H

/* Programs that read .twinfs/sync: each request waits in a list, in no thread, until what happened
 * before it has reached the kernel. An open that found nothing but another ctime waits in the same
 * list, for OPEN_WAIT_MS at most.
 *
 * The list has the notifier's lock. libfuse calls back about an interrupted request with a lock of
 * that request held, and takes no such lock when it is replied to: so its lock comes before ours,
 * and replies are given with ours let go. A request is replied to by whoever takes it out of the
 * list, and taken out only after all of libfuse's calls about it have been made (settled).
 */

#include "mount/fuse.h"
#include "mount/handle.h"

struct session;

/* Takes a read of .twinfs/sync: at offset 0 it is replied to later, with what is true then;
 * behind it, at once with the rest of that. */
void sync_read(struct session *session, fuse_req_t request, struct handle *handle, size_t size,
	       size_t offset);

/* The longest wait of an open. */
#define OPEN_WAIT_MS 2000

/* Replies ESTALE to an open when the file was rechecked, so that the kernel looks its path up again
 * and opens the node that it finds. If an open before waited in vain for something that is still
 * not done, this one does not wait for that.
 *
 * compare	wait until the file was compared as well
 */
void sync_refuse_open(struct session *session, fuse_req_t request, bool compare);

/* Replies to those whose answer the kernel now knows. For the notifier. */
void sync_answer(struct session *session);

/* Replies ECANCELED to all; the notifier is stopping. */
void sync_cancel(struct session *session);

/* When an open has waited for as long as it may, on the monotonic clock; UINT64_MAX: never. The
 * lock is held. */
uint64_t sync_limit_ns(const struct session *session);

/* Something is to be answered once the kernel knows all that was told; the lock is held. */
bool sync_is_due(const struct session *session);

#endif
