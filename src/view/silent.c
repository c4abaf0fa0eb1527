/* SPDX-License-Identifier: MIT */
#include "view/silent.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/file_hash.h"
#include "base/filesystem_kind.h"
#include "catalog/query.h"
#include "view/node.h"

void silent_examine(struct view_file *file)
{
	uint32_t type = filesystem_type_at(file->fd);
	struct stat status;

	file->silent = !filesystem_times_are_reliable(type);
	file->probed = file->silent && fstat(file->fd, &status) == 0 &&
		       filesystem_leases_are_reliable(type, status.st_dev);
}

/* ---- opening ------------------------------------------------------------------------- */

/* The group that a file is in; of none it is left as it is. */
static int find_group(const struct view_query *query, uint64_t file, struct group_record *group)
{
	struct content_record content;
	int r = catalog_get_content(query->reader, file, &content);

	if (r == 0 && content.group)
		r = expect_record(catalog_get_group(query->reader, content.group, group));
	return r == -ENOENT ? 0 : r;
}

/* Whoever opens it for writing meanwhile waits, and breaks the lease. Where leases are refused for
 * another reason than a writer, the hash must do. */
static int has_hash(const struct view_query *query, int fd, const struct hash128 *expected,
		    bool *has)
{
	struct hash128 hash;
	bool leased = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
	int r;

	*has = false;
	if (!leased && errno == EAGAIN)
		return 0;
	r = file_hash(fd, query->interruption, &hash);
	*has = r == 0 && hash128_equal(hash, *expected) &&
	       (!leased || fcntl(fd, F_GETLEASE) == F_RDLCK);
	if (leased)
		(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return r;
}

static void tell_written(const struct view *view, uint64_t file)
{
	if (view->written)
		view->written(view->suspect_context, file);
}

int silent_verify(struct view_query *query, const struct view_file *file,
		  const struct file_record *record)
{
	struct group_record group = {0};
	bool has = false;
	int r;

	if (!file->silent || record->attributes.size > VIEW_VERIFIED_MAX ||
	    !filesystem_hides_stores_at(file->fd))
		return 0;
	r = find_group(query, record->id, &group);
	query_end(query);
	if (r < 0 || !group.id)
		return r;
	r = has_hash(query, file->fd, &group.hash, &has);
	if (r < 0 || has)
		return r;
	tell_written(query->view, record->id);
	return VIEW_RECOMPARE;
}

/* ---- reading ------------------------------------------------------------------------- */

static int meet_writer(struct view *view, struct view_file *file)
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
	tell_written(view, id);
	return -ESTALE;
}

/* The kernel refuses a read lease with EAGAIN while the inode is open for writing or mapped so. The lease
 * comes after the read and before the signature: a writer that closed the file before the lease, or
 * truncate(2), has moved the times by then. Where the lease is refused for another reason, the signature
 * must do. */
int silent_check_read(struct view *view, struct view_file *file)
{
	if (fcntl(file->fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? meet_writer(view, file) : 0;
	(void)fcntl(file->fd, F_SETLEASE, F_UNLCK);
	return 0;
}
