/* SPDX-License-Identifier: MIT */
#ifndef ACT_HELD_H
#define ACT_HELD_H

/* A file that is held open with a read lease (fcntl(2), F_SETLEASE), so that each writer is
 * detected.
 *
 *	taking		The kernel refuses the lease while any program has the file open for writing
 *			or mapped writable.
 *	holding		If a program opens the file for writing, the kernel marks the lease as
 *			broken. It blocks the program until the lease is released, but for at most
 *			/proc/sys/fs/lease-break-time seconds (0: without limit).
 *	releasing	The blocked program continues.
 *
 * Without a lease (another user's file, or a file system without reliable leases) size and mtime
 * are compared instead, if the caller allows it. Any thread; a struct held is not shared. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "act/act.h"
#include "act/place.h"
#include "base/hash.h"
#include "index/record.h"

struct held {
	int fd; /* -1: not held */
	bool leased;
	struct stat status; /* attributes of the file when it was held */
};

/* Reasons why a file is not held; failures are -errno. */
enum {
	HELD_CHANGED = 1, /* another inode than expected, or not a regular file */
	HELD_BUSY = 2, /* a program has the file open for writing */
	HELD_NO_LEASE = 3, /* no reliable lease is available */
};

/* Opens the file at the place and takes the lease. Returns 0, HELD_CHANGED, HELD_BUSY,
 * HELD_NO_LEASE, or -errno.
 *
 * expected		attributes of the inode that the file must be
 * without_leases	hold the file even if no reliable lease is available
 */
MUST_CHECK int held_open(struct held *held, const struct place *place,
			 const struct sources *sources, const struct attributes *expected,
			 bool without_leases);

/* Returns the outcome of an act for a result that is not 0.
 *
 * kept		true: the file is the kept file, which has outcomes of its own (ACT_KEPT_...)
 */
enum act_outcome held_outcome(int result, bool kept);

/* Opens any regular file at the place and takes a lease if one is available. Returns 0,
 * HELD_CHANGED, HELD_BUSY or -errno. */
MUST_CHECK int held_open_any(struct held *held, const struct place *place);

/* Opens the file that a symbolic or hard link at the place leads to, and takes a lease if one is
 * available. Returns 0, HELD_CHANGED, HELD_BUSY or -errno. */
MUST_CHECK int held_open_linked(struct held *held, const struct place *place);

/* Returns whether no program has opened the file for writing since it was held. Without a lease,
 * returns whether size and mtime are unchanged. */
bool held_is_unbroken(const struct held *held);

/* Returns whether kept file and copy are possibly one although their file systems differ. An
 * overlay or a FUSE file system can show a file a second time. If it does, renaming the copy after
 * both were held changes the ctime of the kept file. Also for directories. */
bool held_is_itself(const struct held *kept, const struct held *copy);

/* Returns true if a writer that broke the lease is certainly still blocked, so that the bytes are
 * unchanged since the time since_ns.
 *
 * since_ns	a time of clock_monotonic_ns() when the lease was unbroken
 */
bool held_blocks_writer(const struct held *held, uint64_t since_ns);

/* Releases the lease, so that a blocked writer continues. */
void held_release_lease(struct held *held);

/* Releases the lease and waits, for at most a minute, until no program has the file open for
 * writing. Does not wait for a file of which no lease can be taken. */
void held_wait_for_writer(struct held *held);
void held_close(struct held *held);

/* Compares the bytes of two held files. Skips holes that both have. Checks the leases of large
 * files regularly. Returns 1 if the bytes are equal, 0 if not, -EBUSY if a lease was found broken,
 * or another -errno. */
MUST_CHECK int held_same_bytes(const struct held *a, const struct held *b);

/* Compares the SHA-256 of a held file. Checks the lease regularly. Returns 1 if it is equal, 0 if
 * not, -EBUSY if the lease was found broken, or another -errno. */
MUST_CHECK int held_same_sha256(const struct held *held, const uint8_t sha256[SHA256_BYTES]);

/* ---- what is on the disk -------------------------------------------------------------------- */

/* Syncs what an act relies on.
 *
 *	kept file	The kept file and its name are on the disk before the copy is removed.
 *			Without this sync, a power failure could leave a recently written kept file
 *			empty (delayed allocation) and the copy removed.
 *	names		Changed names are on the disk before the journal (journal.h) records that
 *			their acts are done.
 *
 * One thread. A zeroed struct is empty. */

/* Highest number of file systems that are remembered. Further ones cost additional calls of
 * syncfs(2) or sync(2). */
#define DURABLE_FILE_SYSTEMS 16

struct durable_kept {
	dev_t device;
	struct timespec synced_at; /* start of its last syncfs; 0: none */
};

struct durable_changed {
	dev_t device;
	int directory; /* open for syncfs */
};

struct durable {
	struct durable_kept kept[DURABLE_FILE_SYSTEMS];
	size_t kept_count;
	struct durable_changed changed[DURABLE_FILE_SYSTEMS];
	size_t changed_count;
	bool more_changed; /* names changed in a file system that changed[] lacks */
};

/* Ensures that the kept file and its name are on the disk. The file must be held until the copy is
 * removed. Calls syncfs(2) once for each file system, and again if the file changed since the act
 * was planned or shortly before the last syncfs.
 *
 * planned	attributes of the file when the act was planned
 *
 * Blocks on the disk. Returns 0 or -errno. After a failure no copy may be removed. */
MUST_CHECK int durable_ensure_kept(struct durable *durable, const struct held *kept,
				   const struct sources *sources, const struct attributes *planned);

/* Notes that names in a directory changed.
 *
 * device	st_dev of the directory
 */
void durable_note_directory(struct durable *durable, int directory, dev_t device);

/* Syncs all file systems with changed names. Blocks. Returns 0 or -errno. */
MUST_CHECK int durable_sync_changed(const struct durable *durable);

void durable_deinit(struct durable *durable);

#endif
