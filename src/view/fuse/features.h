/* SPDX-License-Identifier: MIT */
#ifndef VIEW_FUSE_FEATURES_H
#define VIEW_FUSE_FEATURES_H

/* How a mount reads files and receives requests, and hints to make both faster. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "view/fuse/fuse.h"
#include "view/tree/view.h"

/* ---- backing files ------------------------------------------------------------------ */

/* Passthrough: files that the kernel reads from a backing file, without requests to this program.
 * Stores the backing id of each open node. Any thread.
 *
 * The kernel requires that all opens of a node use the same backing id, or none; other opens fail
 * with EIO. So the first open of a node decides for all later opens while the node is open.
 *
 * Reads by the kernel are not checked, and an open backing file cannot be revoked. If a source file
 * is written to while the view has it open, programs read new bytes as the old version. Therefore
 * passthrough is used for files that can never be written (sealed). For other files it is used only
 * if the user asks for it, and never if writers leave no trace (view_file.times_unreliable). */

enum backing_choice {
	BACKING_NONE, /* the kernel or missing permissions prevent passthrough */
	BACKING_SEALED, /* files that can never be written */
	BACKING_ALL, /* all files with reliable times, and sealed files */
};

struct backings {
	pthread_mutex_t lock; /* protects all fields below */
	enum backing_choice choice; /* set before files are opened */
	struct backing *table; /* uthash, by node; empty for BACKING_NONE */
	size_t idle; /* entries without users whose backing id is still open */
	/* the kernel refused a backing file; no further attempts, as libfuse logs each failure */
	bool refused;
};

void backings_init(struct backings *backings);
void backings_deinit(struct backings *backings);

/* Gets the backing id for an open of a file. Returns an id above 0, 0 if reads are requests to this
 * program, or -ENOMEM. After a success, the caller must call backing_end. */
MUST_CHECK int backing_begin(struct backings *backings, fuse_req_t request,
			     const struct view_file *file);

/* Ends one open of a node. After the last open, closes the backing id by way of request, which can
 * be any unanswered request. If request is NULL, the next backing_begin closes the id. */
void backing_end(struct backings *backings, fuse_req_t request, uint64_t node);

/* Returns whether the kernel refused a backing file. */
bool backing_was_refused(struct backings *backings);

/* Returns whether the bytes of an open file can never be changed. */
MUST_CHECK bool backing_is_sealed(int fd);

/* ---- features ----------------------------------------------------------------------- */

/* Pure code, any thread, except features_gather. */

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
