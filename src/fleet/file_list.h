/* SPDX-License-Identifier: MIT */
#ifndef FLEET_FILE_LIST_H
#define FLEET_FILE_LIST_H

/* Reads a list of files of this host, as twinfs-fleet writes it (twinfs(5)):
 *
 *	wanted	files whose digests other hosts need
 *	keep	one file of each content that this host keeps for other hosts
 *	remove	files that can be removed, because other hosts keep their contents
 *
 *	{"format": "twinfs-keep", "schema": 1, "host": ..., "sources": [{"path": ...}], "rows": N}
 *	{"id": ..., "source": 0, "path": ..., "size": ..., ...}                      N such lines
 *
 * The list comes from another host, so nothing in it is believed. All of it is read and checked
 * before any of it is used. Takes 56 bytes of memory, the length of its path, and 32 bytes for a
 * digest for each file. For one thread.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "fleet/json_lines.h"

struct catalog;
struct catalog_reader;
struct file_record;
struct sources;

enum file_list_kind {
	FILE_LIST_WANTED,
	FILE_LIST_KEEP,
	FILE_LIST_REMOVE,
};

/* A host that keeps contents of a remove list. */
struct file_list_keeper {
	char host[HOST_NAME_BYTES_MAX + 1];
	uint8_t list[SHA256_BYTES]; /* SHA-256 of its keep list */
};

/* All pointers are valid until file_list_free(). */
struct listed_file {
	uint64_t id; /* in the index of the inventory */
	uint64_t size; /* bytes */
	const char *path; /* below the source: only names, with a slash between two */
	const uint8_t *sha256; /* SHA256_BYTES; NULL in wanted lists */
	/* FILE_LIST_REMOVE: numbers in struct file_list.keepers, ascending, at least keep_replicas;
	 * NULL in other lists */
	const uint16_t *keepers;
	uint32_t source; /* number in struct file_list.sources */
	uint32_t line; /* in the file; the last ones of more than 2^32 lines have the same */
	uint16_t keeper_count;
};

struct file_list {
	enum file_list_kind kind;
	char host[HOST_NAME_BYTES_MAX + 1];
	uint64_t index; /* catalog_identity() of the index of the inventory */
	struct text_list sources; /* absolute paths */
	/* in the order of the list for FILE_LIST_KEEP, else by id */
	struct listed_file *rows;
	size_t count, capacity;
	uint64_t bytes; /* sizes of the rows */
	/* the members below are for FILE_LIST_KEEP and FILE_LIST_REMOVE only */
	char plan[PLAN_DIGITS + 1]; /* lower-case hexadecimal digits */
	uint64_t keep_replicas; /* at least 1 */
	struct file_list_keeper *keepers; /* FILE_LIST_REMOVE; distinct, without host */
	size_t keeper_count;
	uint8_t sha256[SHA256_BYTES]; /* of the bytes of the file */
	struct arena memory; /* of paths, digests and keepers */
};

/* Reads a list of the kind. Names of a remove list can have the same id. Returns 0, -EPROTO if the
 * list cannot be used, -EINTR if stop_requested(), or another -errno. All are logged, except -EINTR
 * and -ENOMEM. The caller must call file_list_free() in all cases. */
MUST_CHECK int file_list_read(struct file_list *list, enum file_list_kind kind, const char *file);
void file_list_free(struct file_list *list); /* kind, host and index stay */

/* ---- listed sources ------------------------------------------------------------------------- */

/* The sources and files of a list in an index. For one thread. */

/* Refuses a list of another index, whose ids mean other files. file is the path of the list, for
 * messages. Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_check_index(const struct file_list *list, const char *file,
					  struct catalog *catalog);

/* Finds the sources of a list. Sets numbers[i] to the place in sources of source i of the list.
 * Returns 0 or -EXDEV, logged. */
MUST_CHECK int listed_sources_find(const struct file_list *list, const char *file,
				   const struct sources *sources, size_t *numbers);

/* Finds the regular file that the index has at the path of a row. Sets *dir to its directory.
 * Returns 0, -ENOENT if there is none, or another -errno. Logs nothing.
 *
 * root		directory of the source in the index
 */
MUST_CHECK int listed_file_find(struct catalog_reader *reader, uint64_t root,
				const struct listed_file *row, struct file_record *file,
				uint64_t *dir);

#endif
