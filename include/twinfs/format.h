/* SPDX-License-Identifier: MIT */
#ifndef TWINFS_FORMAT_H
#define TWINFS_FORMAT_H

/* The index on disk: a folder with these files.
 *
 * src/index/record.h describes the tables in TWINFS_INDEX_DATA. An index of a newer format is
 * refused and not changed. An index of an older format, or a damaged one, is renamed to
 * TWINFS_INDEX_DAMAGED and rebuilt. An index of TWINFS_INDEX_FORMAT_USABLE, which lacks optional
 * fields only, is used and gets the present format.
 */
#define TWINFS_INDEX_FORMAT 19
#define TWINFS_INDEX_FORMAT_USABLE 18

#define TWINFS_INDEX_DATA "data.mdb"
/* LMDB: table of readers. */
#define TWINFS_INDEX_READERS "lock.mdb"
/* Locked with flock(2) by the only writing process. The file has the pid of that process and the
 * mount point. If the process ends cleanly, it empties the file. */
#define TWINFS_INDEX_LOCK "owner"
/* Size and hash of TWINFS_INDEX_DATA at the last clean stop. A process removes the file before it
 * changes TWINFS_INDEX_DATA. */
#define TWINFS_INDEX_SEAL "seal"
/* The lowest unused id. Ids are never reused in this folder, not even by a rebuilt index. */
#define TWINFS_INDEX_IDS "next-id"
/* The boot in which the index was last written, or what a power cut left to forget
 * (index/catalog.c). */
#define TWINFS_INDEX_BOOT "boot"
/* The time of the last whole scan, in seconds since 1970. */
#define TWINFS_INDEX_SCANNED "scanned"
/* Paths of the sources, one in each line: shows other indexes of the user which ones know the same
 * files (scan/shared_contents.h). */
#define TWINFS_INDEX_SOURCES "scanned-sources"
/* What the last `dedupe --partial` of the whole index left to share; see src/index/hashes.h. */
#define TWINFS_INDEX_PARTS "equal-parts"
/* Journal of started acts (remove, link and others); see src/act/journal.h. */
#define TWINFS_INDEX_ACTS "acts"
/* Records of completed acts, a JSON line for each file; see src/act/act_log.h. Unlike the other
 * files, this one cannot be made anew. */
#define TWINFS_INDEX_LOG "acts.log"
/* The order of the acts: in the folder with the indexes, or in an index in another place; see
 * src/act/act_log.h. */
#define TWINFS_ACT_ORDER ".acts"
#define TWINFS_INDEX_DAMAGED "damaged.mdb"
/* A copy of TWINFS_INDEX_DATA that replaces it when it is complete. */
#define TWINFS_INDEX_COPY "checked.mdb"
/* Which promises the index last made; see src/fleet/promises.h. */
#define TWINFS_INDEX_PROMISED "promised"
/* The identity of the folder, which a copy of the folder does not have; see
 * src/index/store/index_files.h. Each folder of the promises has this file, too. */
#define TWINFS_OWN_MARK ".twinfs-own"

/* Bounds the ids of directories, files and groups, so that a FUSE node id (kind and id) is below
 * 2^53. Some programs store inode numbers in a double, which is exact up to 2^53. */
#define TWINFS_ID_MAX ((UINT64_C(1) << 48) - 1)

#endif
