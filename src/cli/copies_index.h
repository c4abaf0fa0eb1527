/* SPDX-License-Identifier: MIT */
#ifndef CLI_COPIES_INDEX_H
#define CLI_COPIES_INDEX_H

/* Asking an index for the verified copies of a file, and the disk whether they still are. One
 * thread at a time; blocks on the disk.
 */

#include <stdint.h>

#include "base/attributes.h"
#include "base/text_list.h"

struct catalog;
struct sources;

/* What is known of a file, from nothing to all. */
enum copies_answer {
	COPIES_NOT_COVERED, /* it is in no source */
	COPIES_NOT_INDEXED, /* it is in a source, but was not there, or left out, at the last scan */
	COPIES_CHANGED, /* it is not what it was at the last scan */
	COPIES_UNREADABLE, /* the last scan could not read it */
	COPIES_PENDING, /* it was not compared */
	COPIES_KNOWN,
};

struct copies_question {
	const char *given; /* what the user said, borrowed */
	char *path; /* absolute, without symlinks; freed by copies_question_deinit() */
	enum copies_answer answer; /* the best one so far */
	struct text_list copies; /* absolute paths; or the folders in views that have them */
	uint64_t changed; /* copies that are not what they were, or gone, and left out */
};

void copies_question_deinit(struct copies_question *question);

/* Asks one index; adds to what others have answered: the copies, or where the mount point of the
 * view of this index is given, the folder there that has them all and the file. 0 or -errno. */
MUST_CHECK int copies_ask(struct copies_question *question, struct catalog *catalog,
			  const struct sources *sources, const char *mount_point);

#endif
