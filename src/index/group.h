/* SPDX-License-Identifier: MIT */
#ifndef INDEX_GROUP_H
#define INDEX_GROUP_H

/* Membership in groups within a write transaction. A changed group stays in memory until
 * groups_flush(), which runs at the end of the transaction. If the group has members but no kept
 * copy, groups_flush() chooses one. It then writes the records of the group and updates the totals.
 * So the kept copy of a group is chosen at most once in a transaction, even if many copies are
 * added and removed. Only index includes this.
 *
 * Unless noted otherwise, the functions return 0 or -errno. */

#include "index/writer.h"

/* Returns 0 if the group exists, -ENOENT if not, or another -errno. */
MUST_CHECK int group_find(struct catalog_writer *w, uint64_t group);

/* Adds a member; does nothing if the file is a member. See also catalog_reconsider_kept(). Returns
 * 0, -ENOENT if the group does not exist, or another -errno.
 *
 * dir		of the only name of the file, which this transaction leaves as it is; 0: unknown
 * maps		catalog_maps_file() */
MUST_CHECK int group_join(struct catalog_writer *w, uint64_t group, uint64_t file, uint64_t dir,
			  bool maps);

/* Notes that file_is_held_outside() changed for a member, to held. Does nothing if the group is
 * missing. */
MUST_CHECK int group_note_held(struct catalog_writer *w, uint64_t group, bool held);

/* Notes that places of members possibly changed. Does nothing if the group is missing.
 *
 * emptied	a member is in a place that something else empties */
MUST_CHECK int group_note_places(struct catalog_writer *w, uint64_t group, bool emptied);

/* Sets the retained bytes of a group that maps. due: as in struct group_extents. */
MUST_CHECK int group_set_retained(struct catalog_writer *w, uint64_t group, uint64_t retained,
				  uint64_t due);

/* Notes in the record of a member that will leave whether it is the kept copy. The caller writes
 * the record. */
MUST_CHECK int group_note_kept(struct catalog_writer *w, uint64_t group, struct file_record *file);

/* Checks at the end of the transaction whether another copy has to be kept, because names or
 * attributes of this member changed. */
MUST_CHECK int group_judge(struct catalog_writer *w, uint64_t group, uint64_t file);

/* Makes a member the kept copy if its record says that it left a group of this hash as the kept
 * copy, and the present kept copy did not do so before. At the end of the transaction, a copy that
 * the rules prefer takes its place. */
MUST_CHECK int group_keep_again(struct catalog_writer *w, uint64_t group,
				const struct file_record *file);

/* Makes a member the kept copy. */
MUST_CHECK int group_keep(struct catalog_writer *w, uint64_t group, uint64_t file);

/* Removes a member; does nothing if the group or the member is missing.
 *
 * stays	true: a group whose last member left is not deleted, as its files can get names
 *		again before orphans are purged
 */
MUST_CHECK int group_leave(struct catalog_writer *w, uint64_t group, uint64_t file, bool stays);

/* Sets whether the group stays if it has no members at the end of the transaction: a new group can
 * get its first members in a later one. Does nothing if the group is missing. */
MUST_CHECK int group_set_stays(struct catalog_writer *w, uint64_t group, bool stays);

MUST_CHECK int groups_flush(struct catalog_writer *w);

/* Requests catalog_choose_kept(). anew: kept copies do not stay kept */
void groups_choose_again(struct catalog_writer *w, bool anew);

/* Frees the changed groups, after groups_flush() or instead of it. */
void groups_discard(struct catalog_writer *w);

#endif
