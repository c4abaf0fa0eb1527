/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SYNC_H
#define MOUNT_SYNC_H

/* Programs that read .twinfs/sync or remap. Each request waits in a list, without a thread, until
 * the kernel has processed the invalidations of all changes made before the request. An open that
 * needs a recheck or a comparison first waits in the same list, for at most OPEN_WAIT_MS.
 *
 * The list is protected by the notifier's lock. libfuse holds a lock of a request while it calls
 * the interrupt callback, but takes no lock of a request for a reply. So libfuse's lock precedes
 * the notifier's, and replies are sent without the notifier's lock. The thread that removes a
 * request from the list replies to it. A request is removed only after libfuse has returned from
 * registering its callback (registered).
 */

#include "mount/fuse.h"
#include "mount/handle.h"

struct session;

/* Handles a read of .twinfs/sync or remap. At offset 0 the reply is sent later, with the state of
 * that time. At other offsets the rest of the last such reply is sent at once. */
void sync_read(struct session *session, fuse_req_t request, struct handle *handle, size_t size,
	       size_t offset);

/* Maximum wait of an open. */
#define OPEN_WAIT_MS 2000

/* Replies ESTALE to an open after the file was rechecked, so that the kernel looks its path up
 * again and opens the new node. If an earlier open timed out while it waited for a recheck or
 * comparison that is still not finished, this open does not wait for one.
 *
 * compare	wait until the file was compared as well
 */
void sync_refuse_open(struct session *session, fuse_req_t request, bool compare);

/* Replies to requests whose ticket was reached and whose invalidations the kernel has processed,
 * and to opens that timed out. For the notifier. */
void sync_reply(struct session *session);

/* Replies to all waiting requests: ECANCELED to reads, ESTALE to opens. Called when the notifier
 * stops. */
void sync_cancel(struct session *session);

/* Returns the next time at which an open times out, on the monotonic clock, or UINT64_MAX. Must be
 * called with the notifier's lock held. */
uint64_t sync_limit_ns(const struct session *session);

/* Returns whether a request can be answered. Must be called with the notifier's lock held. */
bool sync_is_due(const struct session *session);

#endif
