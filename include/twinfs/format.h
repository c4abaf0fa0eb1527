/* SPDX-License-Identifier: MIT */
#ifndef TWINFS_FORMAT_H
#define TWINFS_FORMAT_H

/* The index on disk: a folder of its own with these files in it.
 *
 * The tables in TWINFS_INDEX_DATA are described in src/catalog/record.h. An index of a newer
 * format is refused and left alone; one of an older format and a damaged one are set aside as
 * TWINFS_INDEX_DAMAGED and built anew.
 */
#define TWINFS_INDEX_FORMAT 5

#define TWINFS_INDEX_DATA "data.mdb"
/* LMDB's own: who reads it. */
#define TWINFS_INDEX_READERS "lock.mdb"
/* Held with flock(2) by the one process that writes; its text names pid and mount point. */
#define TWINFS_INDEX_LOCK "owner"
/* Size and hash of TWINFS_INDEX_DATA at the last clean stop; absent while a writer is at work. */
#define TWINFS_INDEX_SEAL "seal"
/* The lowest id that no index in this folder has ever used: ids are never used again. */
#define TWINFS_INDEX_IDS "next-id"
/* Which start of the system it was last written in. */
#define TWINFS_INDEX_BOOT "boot"
/* What remove, link and the like have begun; see src/act/journal.h. */
#define TWINFS_INDEX_ACTS "acts"
#define TWINFS_INDEX_DAMAGED "damaged.mdb"

/* Ids of directories, files and groups are below this, so that a FUSE node id (kind and id)
 * stays below 2^53 and survives programs that keep inode numbers in a double. */
#define TWINFS_ID_MAX ((UINT64_C(1) << 48) - 1)

#endif
