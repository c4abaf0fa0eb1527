/* SPDX-License-Identifier: MIT */
#ifndef CLI_CHECK_PRINT_H
#define CLI_CHECK_PRINT_H

/* Output of `check`, as text or JSON. The caller must call the functions in this order:
 *
 *	begin -> name ... -> contents -> (content -> file ...) ... -> unverified ->
 *	unverified_file ... -> end
 *
 * Write errors are stored in the output. The functions return other failures as -errno. For the
 * main thread; everything is borrowed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/output.h"
#include "cli/check_contents.h"
#include "cli/check_names.h"

struct check_printing {
	struct output *output;
	const struct sources *sources;
	bool json;
	bool grouped; /* the following files are indented below the line of their group */
	/* Numbers of printed elements. */
	uint64_t names, contents, files, unverified;
};

struct check_figures {
	const char *folder; /* of the index */
	const char *structure; /* state of the tables: "sound" or what is wrong */
	bool names_checked;
	bool names_cut_off;
	bool contents_compared;
	uint64_t names_compared, names_different;
	struct content_figures contents;
};

void check_print_begin(struct check_printing *printing);
MUST_CHECK int check_print_name(struct check_printing *printing,
				const struct name_differences *differences,
				const struct name_difference *difference);
void check_print_contents(struct check_printing *printing);
void check_print_content(struct check_printing *printing, enum content_difference what,
			 const struct group_record *group);
/* path: absolute */
MUST_CHECK int check_print_file(struct check_printing *printing, const struct bytes *path,
				enum content_state state);
/* Begins the list of unverified files in JSON. Text output has only the number of these files. */
void check_print_unverified(struct check_printing *printing);
MUST_CHECK int check_print_unverified_file(struct check_printing *printing,
					   const struct bytes *path,
					   const struct unverified *unverified);
MUST_CHECK int check_print_end(struct check_printing *printing,
			       const struct check_figures *figures);

#endif
