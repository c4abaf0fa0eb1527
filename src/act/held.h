/* SPDX-License-Identifier: MIT */
#ifndef ACT_HELD_H
#define ACT_HELD_H

/* A file that is held: open, and with a read lease, so that nobody writes to it without our being
 * told (fcntl(2), F_SETLEASE: who opens it for writing waits for us, for at most
 * /proc/sys/fs/lease-break-time; who has it open already, or mapped, keeps us from getting one).
 * Any thread, each for itself. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "act/place.h"
#include "catalog/record.h"

struct held {
	int fd; /* -1: not held */
	bool leased;
	struct stat status; /* when it was opened */
};

/* How a file could not be held; failures are -errno. */
enum {
	HELD_CHANGED = 1, /* another inode, or no regular file */
	HELD_BUSY = 2,
	HELD_NO_LEASE = 3,
};

/* Opens what stands at the place and takes the lease.
 *
 * expected		the inode that it must be
 * without_leases	go on where leases are not to be had
 */
MUST_CHECK int held_open(struct held *held, const struct place *place,
			 const struct sources *sources, const struct attributes *expected,
			 bool without_leases);

/* Opens any regular file at the place, and takes the lease where it can be had. Returns 0, HELD_CHANGED,
 * HELD_BUSY or -errno. */
MUST_CHECK int held_open_any(struct held *held, const struct place *place);

/* The same of the file that a link at the place leads to, symbolic or not. */
MUST_CHECK int held_open_linked(struct held *held, const struct place *place);

/* Has nobody written to it since, and does nobody want to? */
bool held_is_unbroken(const struct held *held);

/* Does a writer wait for the file, so that its bytes are still those of since_ns, when nobody had broken
 * the lease (clock_monotonic_ns)? */
bool held_keeps_writer_waiting(const struct held *held, uint64_t since_ns);

/* Lets a writer who waits have it. */
void held_let_go(struct held *held);

/* Lets a writer have the file and waits until he has closed it, for at most a minute. */
void held_wait_for_writer(struct held *held);
void held_close(struct held *held);

/* Are the bytes of two held files the same? 1, 0, or -errno: -EBUSY as soon as a writer wants one
 * of them. Holes of both at once are passed over. */
MUST_CHECK int held_same_bytes(const struct held *a, const struct held *b);

#endif
