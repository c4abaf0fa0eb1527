/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_FEATURES_H
#define VIEW_FUSE_FEATURES_H

/* How a mount reads files and receives requests, and hints to make both faster. Pure code, any
 * thread, except features_gather. */

#include <stdbool.h>

#include "view/fuse/backing.h"

/* State of a kernel parameter. */
enum feature_switch {
	FEATURE_MISSING, /* the kernel does not have the parameter */
	FEATURE_OFF,
	FEATURE_ON,
};

struct features {
	bool library_passthrough; /* libfuse supports passthrough: 3.17 */
	bool library_io_uring; /* libfuse supports io_uring: 3.18, built with liburing */
	bool kernel_passthrough; /* the kernel supports passthrough: 6.9 */
	/* whether the kernel uses io_uring for FUSE: since 6.14, disabled by default */
	enum feature_switch kernel_io_uring;
	bool kernel_zeroes_stores; /* the rest of the last page, by FUSE_NOTIFY_STORE */
	bool privileged; /* root */
	bool can_open_backing; /* CAP_SYS_ADMIN, which the kernel requires for passthrough */
	bool wants_passthrough; /* the user requested passthrough */
	bool wants_io_uring;
};

/* Size of a list of hints, including its terminating NULL. */
#define FEATURE_ADVICE_MAX 4

/* Returns the files for which passthrough is used. */
enum backing_choice features_backing(const struct features *facts);

/* Returns the name of a choice for status.json. */
const char *features_read_mode(enum backing_choice choice);

/* Lists hints for more speed (static strings), terminated by NULL. A user other than root gets no
 * hint that only root can follow. */
void features_advise(const struct features *facts, const char *advice[FEATURE_ADVICE_MAX]);

/* Return the reason why a feature is not available, for the user (static string), or NULL. */
const char *features_no_passthrough(const struct features *facts);
const char *features_no_io_uring(const struct features *facts);

/* Returns whether a kernel release (uname(2)) is at least this version. */
bool features_kernel_is(const char *release, unsigned int major, unsigned int minor);

/* Determines what this program, its user and the kernel support. The fields wants_* become
 * false. */
void features_gather(struct features *facts);

/* Returns whether libfuse, the kernel and the user permit passthrough to a process that has
 * CAP_SYS_ADMIN. Reads a file in sysfs. */
bool features_may_use_passthrough(void);

#endif
