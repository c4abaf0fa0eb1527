/* SPDX-License-Identifier: MIT */
#ifndef FLEET_ROW_SET_H
#define FLEET_ROW_SET_H

/* Writes a set of rows, such as the inventory of a host, into a folder of its own:
 *
 *	FOLDER/manifest.json                            what the set is, and its parts
 *	       generation-N/part-00001.jsonl.zst        the rows: a JSON object a line
 *
 * A set is written as a new generation beside the old one. When all parts are on the disk, the new
 * manifest replaces the old one by a rename. Then the old generation is removed. So after a failure
 * or a kill at any moment, the manifest names a whole generation, if there was one before. Parts
 * that a killed process left are removed when the next set is written.
 *
 * Other users have no access to the files and to folders that are made here, as rows have names of
 * private files.
 *
 * A lock on the folder excludes a second writer. For one thread. The functions return 0, -EXDEV if
 * they failed and logged why, or -ENOMEM.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "row/fields.h"

/* ---- set folder ----------------------------------------------------------------------------- */

/* The folder of a set: its lock, and the generations in it. For one thread. */

/* All pointers are borrowed until row_set_deinit(). */
struct row_set_settings {
	const char *folder; /* as the user gave it; made if missing */
	const char *format; /* of the manifest: "twinfs-inventory" */
	const char *noun; /* for messages: "inventory" */
	const char *host;
};

struct set_folder {
	const struct row_set_settings *settings; /* borrowed */
	int fd; /* locked; -1: none */
	bool made; /* this process made the folder */
	json_t *manifest; /* of the present set; NULL: there is none */
	uint64_t current; /* generation of the manifest; 0: there is no manifest */
	uint64_t highest; /* highest generation of the manifest and of all parts; 0: none */
};

/* ---- part file ------------------------------------------------------------------------------ */

/* A part that is written: compressed by libzstd, if the program was built
 * with it, and with the SHA-256 of the bytes on the disk. One thread at a time. */

/* Suffix of the names of the parts. */
#ifdef ZSTD_KNOWN
#define PART_FILE_SUFFIX ".jsonl.zst"
#else
#define PART_FILE_SUFFIX ".jsonl"
#endif

struct ZSTD_CCtx_s; /* of libzstd */

struct part_file {
	int fd; /* -1: no file is open */
	struct ZSTD_CCtx_s *compressor; /* NULL: the program was built without libzstd */
	struct sha256 *sha256;
	struct bytes waiting; /* output that is not written yet */
	uint64_t bytes; /* size of the file, with what waits */
	const char *fault; /* why libzstd failed; static */
};

/* ---- row set -------------------------------------------------------------------------------- */

/* Members of the manifest that the writer of the rows knows. */
struct row_set_figures {
	uint64_t index; /* catalog_identity() of the index from which the rows are */
	json_t *sources; /* array of objects with a path (row/json_path.h); borrowed */
	uint64_t min_size; /* smallest size of files that are compared, in bytes */
	uint64_t errors; /* files and folders that could not be read */
	uint64_t pending; /* files that are not compared yet */
};

struct row_set {
	struct row_set_settings settings;
	struct set_folder folder;
	bool begun; /* files of the new generation possibly exist */
	bool committed;
	uint64_t generation; /* the new one */
	int generation_folder; /* -1: it is not made yet */
	struct part_file part;
	uint64_t part_rows; /* rows of the part that is open */
	json_t *parts; /* array of the manifest */
	uint64_t rows, bytes; /* sums of the new set */
	struct bytes waiting; /* lines of the rows that are not written yet */
	size_t waiting_count;
};

/* Opens, checks and locks the folder, but writes nothing into it. A folder that is not empty must
 * have a set of this format and host, or leftovers of a first set. The caller must call
 * row_set_deinit() in all cases. */
MUST_CHECK int row_set_begin(struct row_set *set, const struct row_set_settings *settings);

/* Keeps a row until row_set_write_waiting(), without any I/O: for a caller with an open snapshot of
 * the index. Returns 0 or -ENOMEM.
 *
 * table	the members of the row
 * bytes	size of the file of the row, for the sum in the manifest
 */
MUST_CHECK int row_set_keep(struct row_set *set, const void *row, struct field_table table,
			    uint64_t bytes);

/* Adds the rows that wait. Blocks if a part is complete, until it is on the disk. */
MUST_CHECK int row_set_write_waiting(struct row_set *set);

/* Writes the manifest, so that the set replaces the earlier one, and removes the earlier one.
 * Blocks until everything is on the disk. */
MUST_CHECK int row_set_commit(struct row_set *set, const struct row_set_figures *figures);

/* Unlocks the folder. If the set was not committed, removes its parts, and the folder if
 * row_set_begin() made it. */
void row_set_deinit(struct row_set *set);
#define CLEANUP_ROW_SET CLEANUP(row_set_deinit)

/* ---- the folder of a set -------------------------------------------------------------------- */

/* The folder of --output=DIR. For one thread. */

/* Opens the folder, in which this process can make files. Makes it if it is missing; the new name
 * is then on the disk. Sets *made to whether it was made. Returns a descriptor, which the caller
 * closes, or -errno. Logs nothing. */
MUST_CHECK int output_folder_open(const char *path, bool *made);

/* Returns what the user can do about a failure to write to the folder, or NULL. */
const char *output_folder_remedy(int error);

#endif
