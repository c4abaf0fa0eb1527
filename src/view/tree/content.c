/* SPDX-License-Identifier: MIT */

/* Reads files and symlinks, of the sources and of .twinfs/. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/filesystem.h"
#include "base/hash.h"
#include "index/query.h"
#include "index/source.h"
#include "view/tree/access.h"
#include "view/tree/node.h"
#include "view/tree/query.h"
#include "view/tree/view.h"

/* ---- silent writes ------------------------------------------------------------------ */

/* Detection of silent writes: on some file systems a write can leave the times of a file unchanged
 * (base/filesystem.h). A read lease, requested at open and read, detects a writer. */

/* Sets times_unreliable and lease_checked by the file system of an open file. An unknown file
 * system has unreliable times and leases. */
static void silent_writes_classify(struct view_file *file)
{
	uint32_t type = filesystem_type_at(file->fd);
	struct stat status;

	file->times_unreliable = !filesystem_keeps(type, PROMISE_STORES);
	file->lease_checked = file->times_unreliable && fstat(file->fd, &status) == 0 &&
			      filesystem_leases_are_reliable(type, status.st_dev);
}

/* ---- opening ------------------------------------------------------------------------ */

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

/* Verifies that an open file was not written to since its comparison. If a write can leave the
 * signature unchanged and cause no event, reads the file and compares its hash with that of its
 * group. Before that, ends the snapshot of the query. Blocks on the source.
 *
 * Three kinds of files are not read: files in no group, files larger than VIEW_VERIFIED_MAX, and
 * files whose times change in the end after every write.
 *
 * Returns 0, VIEW_RECOMPARE if the bytes differ or a program has the file open for writing, or
 * -errno, such as -EINTR. Before VIEW_RECOMPARE, the hook writer_found was called. */
static int silent_writes_verify(struct view_query *query, const struct view_file *file,
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

/* ---- reading ------------------------------------------------------------------------ */

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

/* Must be called after each read from a file that is lease_checked. A file in no group always
 * passes.
 *
 * The kernel refuses a read lease with EAGAIN while the inode is open for writing or has a writable
 * shared mapping. The lease is requested after the read and before the signature is compared. A
 * writer that closed the file before the lease, or truncate(2), has changed the times by then. If
 * the lease is refused for another reason, the signature alone decides.
 *
 * Returns 0, -ESTALE if the file is in a group and a program has it open for writing, or another
 * -errno. */
static int silent_writes_check_read(struct view *view, struct view_file *file)
{
	if (fcntl(file->fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? handle_writer(view, file) : 0;
	(void)fcntl(file->fd, F_SETLEASE, F_UNLCK);
	return 0;
}

/* ---- content ------------------------------------------------------------------------ */

/* Reports a file that is missing or differs from the index, so that the daemon rechecks it. */
static void report_change(const struct view *view, uint64_t file, int result)
{
	if (!view->hooks.source_changed)
		return;
	if (result == -ESTALE || result == -ENOENT || result == -ENOTDIR || result == -ELOOP)
		view->hooks.source_changed(view->hooks.context, file);
}

/* Updates the index if only the ctime of the file changed. Must be called without a snapshot.
 * Returns 0, -EINTR if the caller was interrupted, or -ESTALE. */
static int recheck(struct view *view, uint64_t file, const struct cancellation *cancellation)
{
	int r = -EBUSY;

	if (!view->hooks.recheck)
		return -ESTALE;
	if (atomic_fetch_add(&view->rechecks, 1) < VIEW_RECHECKS_MAX)
		r = view->hooks.recheck(view->hooks.context, file, cancellation);
	atomic_fetch_sub(&view->rechecks, 1);
	return r == 0 || r == -EINTR ? r : -ESTALE;
}

/* Opens a file whose signature differed, if a recheck can update the index at once. Ends the
 * snapshot of the query, and begins another after the recheck.
 */
static int open_rechecked(struct view_query *query, uint64_t node, int flags,
			  struct file_record *file)
{
	int r;

	query_end(query);
	r = recheck(query->view, file->id, query->cancellation);
	if (r == 0)
		r = catalog_read_begin(query->view->catalog, &query->reader);
	if (r == 0)
		r = file_get_version(query, node, file);
	return r < 0 ? r : source_open_file(query->view->sources, query->reader, file, flags);
}

/* Opens the source of a file node of this type, if its signature matches the index. */
static int open_source(struct view_query *query, uint64_t node, mode_t type, int flags,
		       struct file_record *file)
{
	int r;

	if (node_kind(node) != NODE_FILE)
		return -EINVAL;
	r = file_get_version(query, node, file);
	if (r < 0)
		return r;
	if ((file->attributes.mode & S_IFMT) != type)
		return -EINVAL;
	r = source_open_file(query->view->sources, query->reader, file, flags);
	if (r == -ESTALE)
		r = open_rechecked(query, node, flags, file);
	report_change(query->view, file->id, r);
	return r;
}

/* Checks that no field of the file's signature other than the ctime changed. */
static bool has_only_ctime_moved(const struct view_query *query, const struct file_record *file)
{
	const struct view *view = query->view;
	AUTO_CLOSE int fd = source_open_inode(view->sources, query->reader, file);
	struct attributes now, known = file->attributes;

	if (fd < 0 || source_attributes(view->catalog, fd, &now) < 0)
		return false;
	known.ctime = now.ctime;
	return attributes_same_signature(&known, &now);
}

/* Returns the result for a file whose signature still differs: an outcome if a recheck by the
 * follower will help, or -errno. */
static int resolve_stale_open(struct view_query *query, const struct file_record *file)
{
	struct content_record content;
	int r = query->reader ? 0 : catalog_read_begin(query->view->catalog, &query->reader);

	if (r == 0 && (!query->view->hooks.source_changed || !has_only_ctime_moved(query, file)))
		r = -ESTALE;
	if (r < 0)
		return r;
	r = catalog_get_content(query->reader, file->id, &content);
	if (r < 0 && r != -ENOENT)
		return r;
	return r == 0 && content.group != 0 ? VIEW_RECOMPARE : VIEW_RECHECK;
}

static int open_regular(struct view_query *query, uint64_t node, struct view_file *file)
{
	struct file_record record = {0};
	int r = open_source(query, node, S_IFREG, 0, &record);
	const uint64_t content[] = {record.id, record.content_version};

	if (r == -ESTALE && node_make_file(record.id, record.content_version) == node)
		return resolve_stale_open(query, &record);
	if (r < 0)
		return r;
	file->fd = r;
	silent_writes_classify(file);
	file->version = record.content_version;
	file->size = record.attributes.size;
	file->content_digest = hash64(content, sizeof(content), 0);
	atomic_init(&file->signature, attributes_digest(&record.attributes));
	return silent_writes_verify(query, file, &record);
}

static int pad(struct bytes *content, size_t length)
{
	size_t missing = content->length < length ? length - content->length : 0;
	int r = bytes_reserve(content, missing);

	if (r < 0)
		return r;
	memset(content->data + content->length, '\n', missing);
	content->length += missing;
	return content->length == length ? 0 : -EFBIG;
}

/* Generating a report takes long. The snapshot ends first, so that the index can reuse the pages of
 * the snapshot. */
static int open_report(struct view_query *query, const char *view_root, struct view_file *file)
{
	struct view *view = query->view;
	int r = -EBUSY;

	query_end(query);
	if (!view->hooks.report)
		return -ENODATA;
	if (atomic_fetch_add(&view->reports, 1) < VIEW_REPORTS_MAX)
		r = view->hooks.report(view->hooks.context, view_root, &file->content,
				       query->cancellation);
	atomic_fetch_sub(&view->reports, 1);
	return r < 0 ? r : pad(&file->content, VIEW_REPORT_BYTES);
}

/* The content of .twinfs/sync and remap is determined when a program reads it. */
static int open_own(struct view_query *query, uint64_t id, struct view_file *file)
{
	switch (id) {
	case FIXED_STATUS:
		return control_status(query, &file->content);
	case FIXED_ERRORS:
		return control_errors(query, &file->content);
	case FIXED_PENDING:
		return control_pending(query, &file->content);
	case FIXED_METRICS:
		return control_metrics(query, &file->content);
	case FIXED_SYNC:
	case FIXED_REMAP:
		return 0;
	case FIXED_EVENTS:
		atomic_store(&query->view->events.wanted, true);
		return 0;
	case FIXED_REPORT:
		return open_report(query, "../", file);
	case FIXED_ROOT_REPORT:
		return open_report(query, "./", file);
	case FIXED_README:
		return bytes_append(&file->content, control_readme, strlen(control_readme));
	default:
		return -EINVAL;
	}
}

int view_open(const struct view_call *call, uint64_t node, struct view_file *file)
{
	CLEANUP_QUERY struct view_query query = {0};
	int r = query_begin_for(&query, call);

	*file = (struct view_file){.node = node, .fd = -1};
	if (r == 0)
		r = access_check_node(&query, node, R_OK);
	if (r < 0)
		return query_error(call->view, r);
	r = node_kind(node) == NODE_FIXED ? open_own(&query, node, file)
					  : open_regular(&query, node, file);
	if (r != 0)
		view_close(file);
	return query_error(call->view, r);
}

void view_close(struct view_file *file)
{
	cleanup_close(&file->fd);
	file->fd = -1;
	bytes_free(&file->content);
}

int view_sync_text(struct view *view, struct bytes *text)
{
	CLEANUP_QUERY struct view_query query = {0};
	int r = query_begin(&query, view);

	if (r == 0)
		r = control_sync(&query, text);
	return query_error(view, r);
}

/* ---- reading ------------------------------------------------------------------------ */

/* Gets the record of an open file. If the index has another content of the file, or no longer has
 * the file, returns -ESTALE now and for all later reads. */
static int get_record(struct view *view, struct view_file *file, struct file_record *record)
{
	CLEANUP_QUERY struct view_query query = {0};
	int r = query_begin(&query, view);

	if (r == 0)
		r = catalog_get_file(query.reader, node_id(file->node), record);
	if (r == -ENOENT || (r == 0 && record->content_version != file->version)) {
		atomic_store(&file->signature, 0);
		return -ESTALE;
	}
	return r;
}

bool view_is_current(struct view *view, struct view_file *file)
{
	struct file_record record;

	return get_record(view, file, &record) == 0;
}

/* Checks an open file whose attributes differ from those of the last check. A new or removed hard
 * link moves the ctime. If the index already has the new ctime with the same content, the data that
 * was read is valid. If not, rechecks the file, which can wait for a transaction. */
static int check_again(const struct view_call *call, struct view_file *file,
		       const struct attributes *now)
{
	struct view *view = call->view;
	uint64_t id = node_id(file->node);
	struct file_record record;
	int r = get_record(view, file, &record);

	if (r == 0 && !attributes_same_signature(&record.attributes, now)) {
		r = recheck(view, id, call->cancellation);
		if (r != -EINTR)
			r = get_record(view, file, &record);
	}
	if (r < 0)
		return r;
	if (attributes_same_signature(&record.attributes, now)) {
		atomic_store(&file->signature, attributes_digest(now));
		return 0;
	}
	report_change(view, id, -ESTALE);
	return -ESTALE;
}

/* Reads data, then checks the signature. A write moves the ctime before its bytes become visible. A
 * content is indexed only if the file was quiet. So if the signature is unchanged after the read,
 * the data is the indexed content. */
static long read_source(const struct view_call *call, struct view_file *file, void *buffer,
			size_t size, off_t offset)
{
	struct view *view = call->view;
	struct attributes now;
	ssize_t length;
	int r;

	if (atomic_load(&file->signature) == 0)
		return -ESTALE;
	length = pread(file->fd, buffer, size, offset);
	if (length < 0)
		return -errno;
	r = file->lease_checked ? silent_writes_check_read(view, file) : 0;
	if (r == 0)
		r = source_attributes(view->catalog, file->fd, &now);
	if (r == 0 && attributes_digest(&now) != atomic_load(&file->signature))
		r = check_again(call, file, &now);
	return r < 0 ? query_error(view, r) : length;
}

static long read_content(const struct bytes *content, void *buffer, size_t size, size_t offset)
{
	if (offset >= content->length)
		return 0;
	if (size > content->length - offset)
		size = content->length - offset;
	memcpy(buffer, content->data + offset, size);
	return (long)size;
}

long view_read(const struct view_call *call, struct view_file *file, void *buffer, size_t size,
	       off_t offset)
{
	if (offset < 0)
		return -EINVAL;
	if (file->fd >= 0)
		return read_source(call, file, buffer, size, offset);
	if (file->node == FIXED_EVENTS)
		return (long)event_log_read(&call->view->events, &file->events, buffer, size,
					    (uint64_t)offset);
	return read_content(&file->content, buffer, size, (size_t)offset);
}

bool view_has_more(struct view *view, const struct view_file *file)
{
	return file->node != FIXED_EVENTS || event_log_has_more(&view->events, &file->events);
}

/* ---- symlinks ----------------------------------------------------------------------- */

int view_readlink(const struct view_call *call, uint64_t node, struct bytes *target)
{
	CLEANUP_QUERY struct view_query query = {0};
	struct file_record record;
	AUTO_CLOSE int fd = -1;
	ssize_t length;
	int r = query_begin_for(&query, call);

	if (r == 0)
		r = access_check_node(&query, node, F_OK);
	if (r == 0 && node_is_link(node))
		return query_error(call->view, by_size_target(&query, node, target));
	if (r == 0)
		r = fd = open_source(&query, node, S_IFLNK, O_PATH, &record);
	if (r < 0)
		return query_error(call->view, r);
	query_end(&query);
	r = bytes_reserve(target, PATH_MAX);
	if (r < 0)
		return r;
	length = readlinkat(fd, "", (char *)target->data + target->length, PATH_MAX);
	if (length < 0)
		return -errno;
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	target->length += (size_t)length;
	return 0;
}
