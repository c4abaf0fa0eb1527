/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_SPEED_H
#define MOUNT_SPEED_H

/* How a mount reads files and gets its requests, and what would make either faster. Pure code but
 * for speed_gather; any thread. */

#include <stdbool.h>

#include "mount/backing.h"

/* A switch of the kernel. */
enum speed_switch {
	SPEED_MISSING, /* the kernel is too old for it */
	SPEED_OFF,
	SPEED_ON,
};

struct speed_facts {
	bool library_reads; /* libfuse knows passthrough: 3.17 */
	bool library_rings; /* libfuse knows io_uring: 3.18, built with liburing */
	bool kernel_reads; /* the kernel knows passthrough: 6.9 */
	enum speed_switch kernel_rings; /* the same of io_uring: 6.14, and it is off at first */
	bool privileged; /* root */
	bool may_back; /* CAP_SYS_ADMIN: may have the kernel read files by itself */
	bool wants_passthrough; /* the user asked for it */
	bool wants_rings;
};

/* More than there ever are, and NULL. */
#define SPEED_ADVICE_MAX 4

/* Which files the kernel may read by itself. */
enum backing_choice speed_backing(const struct speed_facts *facts);

/* The name of a choice in status.json. */
const char *speed_read_mode(enum backing_choice choice);

/* Lists what to do for more speed, in static words, ended with NULL. */
void speed_advise(const struct speed_facts *facts, const char *advice[SPEED_ADVICE_MAX]);

/* Why a wish cannot be had, for the user (static); NULL: it can be. */
const char *speed_no_passthrough(const struct speed_facts *facts);
const char *speed_no_rings(const struct speed_facts *facts);

/* Is the kernel with this release (uname(2)) of that version or a later one? */
bool speed_kernel_is(const char *release, unsigned int major, unsigned int minor);

/* Finds out what this program, its user and the kernel, by its version, can do; nothing is wished
 * for. */
void speed_gather(struct speed_facts *facts);

#endif
