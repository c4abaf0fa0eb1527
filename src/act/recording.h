/* SPDX-License-Identifier: MIT */
#ifndef ACT_RECORDING_H
#define ACT_RECORDING_H

/* Makes the records of an act. One thread. */

#include <sys/types.h>

#include "act/act.h"
#include "act/held.h"
#include "act/place.h"
#include "act/record.h"
#include "base/attributes.h"
#include "base/bytes.h"

struct recording {
	char id[ACT_ID_SIZE];
	struct act_order order;
	enum act_kind kind;
	uint64_t files; /* records so far */
	/* the last file system and mount, which take several system calls to find */
	dev_t device;
	uint64_t mount_id; /* 0: the kernel has no ids of mounts */
	uint64_t filesystem;
	struct mount_identity mount; /* of the path below, or unknown */
	struct bytes mount_path;
};

void recording_begin(struct recording *recording, enum act_kind kind);
void recording_deinit(struct recording *recording);

/* Sets file system, mount, owner and mode of the directory of the copy in the record. The path of
 * the mount is valid until the next call. Returns 0 or -ENOMEM. */
MUST_CHECK int recording_note_place(struct recording *recording, struct record *record,
				    const struct place *place);

/* Starts the record of a copy: sets what is known before the act. Texts are borrowed.
 *
 * place	the copy; directory -1: it is missing
 * copy, kept	as planned
 * xattrs	filled with the attributes of the copy, and borrowed by the record
 *
 * Returns 0 or -errno. */
MUST_CHECK int recording_plan(struct recording *recording, struct record *record,
			      const struct place *place, const struct act_file *copy,
			      struct xattrs *xattrs);

/* Outcome: the record is another one now. */
enum {
	RECORDING_CHANGED = 1,
};

/* Updates the metadata of the record from the copy that is held now, and the hash if the index has
 * none or possibly another one. Returns 0, RECORDING_CHANGED, or -errno.
 *
 * kept		NULL: other hosts keep the content
 * planned	attributes of copy and kept file in the index
 */
MUST_CHECK int recording_update(struct record *record, struct xattrs *xattrs,
				const struct held *copy, const struct held *kept,
				const struct attributes *planned[2]);

#endif
