/* SPDX-License-Identifier: MIT */
#include "view/silent_writes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file_hash.h"
#include "base/filesystem_kind.h"
#include "catalog/query.h"
#include "view/node.h"

void silent_writes_classify(struct view_file *file)
{
	uint32_t type = filesystem_type_at(file->fd);
	struct stat status;

	file->times_unreliable = !filesystem_times_are_reliable(type);
	file->lease_checked = file->times_unreliable && fstat(file->fd, &status) == 0 &&
			      filesystem_leases_are_reliable(type, status.st_dev);
}

/* ---- opening ------------------------------------------------------------------------- */

/* Gets the group of a file. If the file is in no group, leaves group unchanged. */
static int find_group(const struct view_query *query, uint64_t file, struct group_record *group)
{
	struct content_record content;
	int r = catalog_get_content(query->reader, file, &content);

	if (r == 0 && content.group)
		r = expect_record(catalog_get_group(query->reader, content.group, group));
	return r == -ENOENT ? 0 : r;
}

/* Hashes the file under a read lease, which a writer breaks. If the lease is refused for a reason
 * other than a writer, the hash alone decides. */
static int has_hash(const struct view_query *query, int fd, const struct hash128 *expected,
		    bool *has)
{
	struct hash128 hash;
	bool leased = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
	int r;

	*has = false;
	if (!leased && errno == EAGAIN)
		return 0;
	r = file_hash(fd, query->cancellation, &hash);
	*has = r == 0 && hash128_equal(hash, *expected) &&
	       (!leased || fcntl(fd, F_GETLEASE) == F_RDLCK);
	if (leased)
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return r;
}

static void report_writer(const struct view *view, uint64_t file)
{
	if (view->hooks.writer_found)
		view->hooks.writer_found(view->hooks.context, file);
}

/* Returns whether the bytes can change while the signature stays the same. */
static bool can_change_unseen(const struct view *view, const struct view_file *file,
			      const struct file_record *record)
{
	return filesystem_hides_stores_at(file->fd) ||
	       catalog_lacks_ctime(view->catalog, filesystem_type_at(file->fd),
				   record->attributes.filesystem);
}

int silent_writes_verify(struct view_query *query, const struct view_file *file,
			 const struct file_record *record)
{
	struct group_record group = {0};
	bool has = false;
	int r;

	if (!file->times_unreliable || record->attributes.size > VIEW_VERIFIED_MAX ||
	    !can_change_unseen(query->view, file, record))
		return 0;
	r = find_group(query, record->id, &group);
	query_end(query);
	if (r < 0 || !group.id)
		return r;
	r = has_hash(query, file->fd, &group.hash, &has);
	if (r < 0 || has)
		return r;
	report_writer(query->view, record->id);
	return VIEW_RECOMPARE;
}

/* ---- reading ------------------------------------------------------------------------- */

static int handle_writer(struct view *view, struct view_file *file)
{
	uint64_t id = node_id(file->node);
	CLEANUP_QUERY struct view_query query = {0};
	struct group_record group = {0};
	int r = query_begin(&query, view);

	if (r == 0)
		r = find_group(&query, id, &group);
	if (r < 0 || !group.id)
		return r;
	atomic_store(&file->signature, 0);
	report_writer(view, id);
	return -ESTALE;
}

/* The kernel refuses a read lease with EAGAIN while the inode is open for writing or has a writable
 * shared mapping. The lease is requested after the read and before the signature is compared. A
 * writer that closed the file before the lease, or truncate(2), has changed the times by then. If
 * the lease is refused for another reason, the signature alone decides. */
int silent_writes_check_read(struct view *view, struct view_file *file)
{
	if (fcntl(file->fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? handle_writer(view, file) : 0;
	(void)fcntl(file->fd, F_SETLEASE, F_UNLCK);
	return 0;
}
