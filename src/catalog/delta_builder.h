/* SPDX-License-Identifier: MIT */
#ifndef CATALOG_DELTA_BUILDER_H
#define CATALOG_DELTA_BUILDER_H

/* Builds the commit delta of a transaction. Only catalog/ includes this.
 *
 * Members and groups are always recorded, as the redundant counts of directories depend on both
 * (redundant.h). If no observer is set, the other delta_add_ functions do nothing. The functions
 * return 0 or -ENOMEM unless noted otherwise. */

#include "base/bytes.h"
#include "catalog/commit_delta.h"
#include "catalog/writer.h"

/* A file that joined a group or left it. */
struct member_delta {
	uint64_t group;
	uint64_t file;
	bool joined;
	size_t order; /* for redundancy_changes.c */
};

struct delta_builder {
	bool observed;
	struct bytes text;
	struct bytes names; /* of struct delta_name */
	struct bytes dirs; /* of struct delta_dir */
	struct bytes files; /* of struct delta_file */
	struct bytes members; /* of struct member_delta */
	struct bytes groups; /* of struct delta_group */
	struct bytes redundancy; /* of struct delta_flip */
	struct bytes holders; /* of uint64_t */
	struct bytes folder_groups; /* of struct delta_folder_group */
	struct bytes errors; /* of struct delta_error */
};

MUST_CHECK int delta_add_name(struct catalog_writer *w, uint64_t dir, struct name name);
MUST_CHECK int delta_add_dir(struct catalog_writer *w, struct delta_dir delta);

/* what: enum delta_file_what, or-ed; 0: nothing is recorded. */
MUST_CHECK int delta_add_file(struct catalog_writer *w, uint64_t file, uint64_t size,
			      uint32_t what);
MUST_CHECK int delta_add_member(struct catalog_writer *w, uint64_t group, uint64_t file,
				bool joined);
MUST_CHECK int delta_add_group(struct catalog_writer *w, const struct group_record *before,
			       const struct group_record *now);
MUST_CHECK int delta_add_holder(struct catalog_writer *w, uint64_t dir);
MUST_CHECK int delta_add_folder_group(struct catalog_writer *w, const struct folder_group *before,
				      const struct folder_group *now);
MUST_CHECK int delta_add_error(struct catalog_writer *w, enum error_kind kind, uint64_t id,
			       int error);

/* Completes the delta at the end of the transaction: removes DELTA_FILE_GONE of files that have a
 * name again. Returns 0, -EUCLEAN or another -errno. */
MUST_CHECK int delta_builder_finish(struct catalog_writer *w);

/* Passes the delta of the commit with this generation to the observer. */
void delta_builder_send(const struct delta_builder *builder, uint64_t generation,
			commit_delta_fn *observer, void *context);

void delta_builder_free(struct delta_builder *builder);

#endif
