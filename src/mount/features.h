/* SPDX-License-Identifier: MIT */
#ifndef MOUNT_FEATURES_H
#define MOUNT_FEATURES_H

/* How a mount reads files and gets its requests, and what would make either faster. Pure code but
 * for features_gather; any thread. */

#include <stdbool.h>

#include "mount/backing.h"

/* A switch of the kernel. */
enum feature_switch {
	FEATURE_MISSING, /* the kernel is too old for it */
	FEATURE_OFF,
	FEATURE_ON,
};

struct features {
	bool library_reads; /* libfuse knows passthrough: 3.17 */
	bool library_rings; /* libfuse knows io_uring: 3.18, built with liburing */
	bool kernel_reads; /* the kernel knows passthrough: 6.9 */
	enum feature_switch kernel_rings; /* the same of io_uring: 6.14, and it is off at first */
	bool privileged; /* root */
	bool may_back; /* CAP_SYS_ADMIN: may have the kernel read files by itself */
	bool wants_passthrough; /* the user asked for it */
	bool wants_rings;
};

/* More than there ever are, and NULL. */
#define FEATURE_ADVICE_MAX 4

/* Which files the kernel may read by itself. */
enum backing_choice features_backing(const struct features *facts);

/* The name of a choice in status.json. */
const char *features_read_mode(enum backing_choice choice);

/* Lists what to do for more speed, in static words, ended with NULL. */
void features_advise(const struct features *facts, const char *advice[FEATURE_ADVICE_MAX]);

/* Why a wish cannot be had, for the user (static); NULL: it can be. */
const char *features_no_passthrough(const struct features *facts);
const char *features_no_rings(const struct features *facts);

/* Is the kernel with this release (uname(2)) of that version or a later one? */
bool features_kernel_is(const char *release, unsigned int major, unsigned int minor);

/* Finds out what this program, its user and the kernel, by its version, can do; nothing is wished
 * for. */
void features_gather(struct features *facts);

#endif
