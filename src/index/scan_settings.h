/* SPDX-License-Identifier: MIT */
#ifndef INDEX_SCAN_SETTINGS_H
#define INDEX_SCAN_SETTINGS_H

/* The options of the last scan, except the smallest size (catalog_get_min_size()). A process that
 * reads the index of another process compares its own options with these. One thread at a time. A
 * zeroed struct has the defaults.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "index/catalog.h"

struct scan_settings {
	bool recorded; /* set by catalog_get_scan_settings() if the index had a scan */
	bool cross_mounts; /* directories of other file systems are entered */
	uint32_t disk; /* enum ingest_disk */
	/* globs, each terminated by NUL, sorted by bytes, without duplicates */
	struct bytes excludes;
};

void scan_settings_free(struct scan_settings *settings);
#define CLEANUP_SCAN_SETTINGS CLEANUP(scan_settings_free)

/* Sets the globs from a NULL-terminated list (NULL: none) in any order. Returns 0 or -ENOMEM. */
MUST_CHECK int scan_settings_set_excludes(struct scan_settings *settings, char *const *globs);

/* Returns whether the globs include this one. */
bool scan_settings_exclude(const struct scan_settings *settings, const char *glob);

/* Returns whether the globs include all globs of other options. */
bool scan_settings_exclude_all(const struct scan_settings *settings,
			       const struct scan_settings *other);

/* Reads the options of the last scan, or the defaults if there was none. The caller must free
 * *settings, even after a failure. Returns 0, -EUCLEAN or another -errno. */
MUST_CHECK int catalog_get_scan_settings(struct catalog_reader *r, struct scan_settings *settings);

/* Stores the options, in a transaction that begins a scan. Writes nothing if they are unchanged.
 * Returns 0 or -errno. */
MUST_CHECK int catalog_set_scan_settings(struct catalog_writer *w,
					 const struct scan_settings *settings);

/* The directories of other file systems that walks do not enter (DIR_NOT_ENTERED), so that a
 * command names them without reading every directory. An index that an older version made lacks
 * them until its next walk. */

/* Ids of such directories. All zeros is empty. */
struct left_out {
	uint64_t *ids;
	size_t count, capacity;
};

void left_out_free(struct left_out *list);
#define CLEANUP_LEFT_OUT CLEANUP(left_out_free)

/* Reads the list. Each of its directories is in the index and not entered. Returns 0 or -errno. */
MUST_CHECK int catalog_get_left_out(struct catalog_reader *r, struct left_out *list);

bool left_out_has(const struct left_out *list, uint64_t id);

/* Adds a directory, unless the list has it. Directories that are gone leave the list here, so that
 * the removal of a directory costs nothing. Returns 0 or -errno. */
MUST_CHECK int catalog_note_left_out(struct catalog_writer *w, uint64_t id);

/* ---- the file systems of the sources -------------------------------------------------------- */

/* The identity of the file system of a source (index/source_change.h). */

struct source_identity {
	uint64_t type; /* f_type of statfs(2); 0: not stored */
	uint64_t uuid; /* hash of the UUID; 0: none */
	uint64_t fsid; /* f_fsid of statfs(2); 0 if it equals st_dev, which a remount can change */
};

/* Reads the identity of an open directory. Returns 0 or -errno. */
MUST_CHECK int source_identity_read(int fd, struct source_identity *identity);

/* Returns true if both can be of the same file system. An unknown uuid or fsid matches any. */
bool source_identity_matches(const struct source_identity *a, const struct source_identity *b);

/* Gets the stored identity of source number index. Adds the number of its records to *records,
 * unless records is NULL. Returns 0 (type is 0 if none is stored), -EUCLEAN or -ENOMEM. */
MUST_CHECK int source_identity_get(struct catalog_reader *r, uint64_t index,
				   struct source_identity *identity, uint64_t *records);
MUST_CHECK int source_identity_put(struct catalog_writer *w, uint64_t index,
				   const struct source_identity *identity);

#endif
