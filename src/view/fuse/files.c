/* SPDX-License-Identifier: MIT */

/* Requests for open files. */

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "view/fuse/callbacks.h"
#include "view/fuse/notifier.h"
#include "view/fuse/requester.h"

/* ---- open ---------------------------------------------------------------------------- */

/* Size of the largest file that is stored in the kernel's page cache while it is opened. The
 * program then waits for one request instead of two. */
#define PREFETCH_BYTES_MAX (64U << 10)

/* Is the file small, and is it certain that the kernel has no pages of an older content? A node
 * number of generation 0 was never used before (view/fuse/kernel_cache.h). Behind the end of the
 * file, older kernels leave memory of others in the last page, which a program can map. */
static bool can_prefetch(const struct session *session, const struct view_file *file)
{
	return session->facts.kernel_zeroes_stores && file->size > 0 &&
	       file->size <= PREFETCH_BYTES_MAX && node_kind(file->node) == NODE_FILE &&
	       node_generation(file->version) == 0;
}

static bool store_pages(struct session *session, const struct view_file *file, char *data)
{
	struct fuse_bufvec vector = FUSE_BUFVEC_INIT(file->size);

	vector.buf[0].mem = data;
	return fuse_lowlevel_notify_store(session->fuse, file->node, 0, &vector, 0) == 0;
}

/* Reads and checks the bytes as for a read request. An invalidation drops no pages of a file
 * (view/fuse/notifier.c), so the index is queried again. If the content changed meanwhile, the
 * kernel drops the pages at the reply, and the next read fails. */
static bool read_and_store(struct session *session, const struct view_call *reader,
			   struct view_file *file)
{
	struct buffer buffer = buffers_take(&session->buffers, file->size);
	bool stored = buffer.data &&
		      view_read(reader, file, buffer.data, file->size, 0) == (long)file->size &&
		      store_pages(session, file, buffer.data);

	buffers_return(&session->buffers, buffer);
	return stored && view_is_current(session->view, file);
}

/* Stores the content of a small file in the kernel's page cache. Returns whether the kernel may
 * keep all pages of the file. */
static bool prefetch(struct session *session, const struct view_call *reader,
		     struct view_file *file)
{
	bool stored = false;

	if (!can_prefetch(session, file))
		return false;
	/* the kernel makes the store wait for pages that are locked by read requests */
	if (atomic_fetch_add(&session->prefetches, 1) < loop_waits_max(&session->loop))
		stored = read_and_store(session, reader, file);
	atomic_fetch_sub(&session->prefetches, 1);
	return stored;
}

/* Sets backing id and keep_cache for an open file. Returns 0 or -ENOMEM. */
static int set_read_mode(struct session *session, fuse_req_t request, struct fuse_file_info *info,
			 struct view_file *file)
{
	const struct cancellation cancellation = requester_cancellation(request);
	const struct view_call reader = {.view = session->view, .cancellation = &cancellation};
	int id = backing_begin(&session->backings, request, file);

	listing_habits_note_use(&session->habits, fuse_req_ctx(request)->pid);
	if (id < 0)
		return id;
#if PASSTHROUGH_KNOWN
	info->backing_id = id;
#endif
	if (id == 0 && !file->times_unreliable)
		info->keep_cache = page_gate_may_keep(&session->gate, node_id(file->node),
						      file->content_digest) ||
				   prefetch(session, &reader, file);
	return 0;
}

/* Updates status.json: whether this request arrived over io_uring, and whether the kernel refused a
 * backing file. */
static void note_transport(struct session *session, fuse_req_t request)
{
	if (request_is_io_uring(request))
		session->view->transport = "io_uring";
	if (backing_was_refused(&session->backings))
		session->view->read_mode = features_read_mode(BACKING_NONE);
}

/* Does the kernel's inode belong to this version of the file? */
static bool has_current_inode(struct session *session, const struct view_file *file)
{
	return node_kind(file->node) != NODE_FILE ||
	       generations_has(&session->generations, node_id(file->node), file->version);
}

/* Open flag that the kernel adds when a program is executed (FMODE_EXEC in linux/fs.h of the
 * kernel). Not part of open(2). */
#define FLAG_EXECUTE 0x20

void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	CLEANUP_REQUESTER struct requester requester;
	struct handle *handle = NULL;
	int r = requester_init(&requester, request);

	if (node == FIXED_STATUS)
		note_transport(session, request);
	if ((info->flags & O_ACCMODE) != O_RDONLY || info->flags & O_TRUNC)
		r = -EROFS;
	if (r == 0 && session_checks_access(session) && info->flags & FLAG_EXECUTE)
		r = view_access(&requester.call, node, X_OK);
	if (r == 0)
		r = handle_open(&session->handles, &requester.call, node, &handle);
	if (!handle) {
		if (r > 0)
			sync_refuse_open(session, request, r == VIEW_RECOMPARE);
		else
			reply_error(request, r);
		return;
	}
	if (!has_current_inode(session, &handle->file)) {
		handle_drop(handle);
		reply_error(request, -ESTALE);
		return;
	}
	if (handle->file.fd < 0) {
		info->direct_io = 1; /* the size is unknown before the open */
	} else {
		r = set_read_mode(session, request, info, &handle->file);
		if (r < 0) {
			handle_drop(handle);
			reply_error(request, r);
			return;
		}
	}
	reply_open(request, info, handle);
}

/* ---- reading and closing ------------------------------------------------------------- */

void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);

	if (handle->file.fd >= 0)
		backing_end(&session_of(request)->backings, request, node);
	handle_drop(handle);
	reply_error(request, 0);
}

/* The reply copies the data, instead of splicing from the descriptor, because the data is checked
 * first. */
void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
	     struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	CLEANUP_HANDLE struct handle *handle = handle_use(handle_of(info));
	const struct cancellation cancellation = requester_cancellation(request);
	const struct view_call reader = {.view = session->view, .cancellation = &cancellation};
	struct buffer buffer;
	long length = -ENOMEM;

	if (node == FIXED_SYNC || node == FIXED_REMAP) {
		sync_read(session, request, handle, size, (size_t)offset);
		return;
	}
	buffer = buffers_take(&session->buffers, size);
	if (buffer.data)
		length = view_read(&reader, &handle->file, buffer.data, size, offset);
	if (length < 0)
		reply_error(request, (int)length);
	else
		(void)fuse_reply_buf(request, buffer.data, (size_t)length);
	buffers_return(&session->buffers, buffer);
}

/* Only .twinfs/events can have nothing to read. Other files are always ready. */
void on_poll(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info,
	     struct fuse_pollhandle *poll)
{
	const unsigned int ready = POLLIN | POLLRDNORM;
	struct session *session = session_of(request);
	struct handle *handle = handle_of(info);

	if (node != FIXED_EVENTS) {
		if (poll)
			fuse_pollhandle_destroy(poll);
		(void)fuse_reply_poll(request, ready);
		return;
	}
	/* set before the state is checked, so that later data causes a notification */
	if (poll)
		handle_set_poll(handle, poll);
	(void)fuse_reply_poll(request, view_has_more(session->view, &handle->file) ? ready : 0);
}

/* lseek(2) with SEEK_DATA and SEEK_HOLE in a file without holes. */
static off_t seek_in_content(const struct bytes *content, off_t offset, int whence)
{
	if (offset < 0 || (size_t)offset >= content->length)
		return -ENXIO;
	return whence == SEEK_DATA ? offset : (off_t)content->length;
}

void on_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence,
	      struct fuse_file_info *info)
{
	const struct view_file *file = &handle_of(info)->file;

	(void)node;
	if (whence != SEEK_DATA && whence != SEEK_HOLE) {
		reply_error(request, -EINVAL);
		return;
	}
	if (file->fd < 0) {
		offset = seek_in_content(&file->content, offset, whence);
	} else {
		offset = lseek(file->fd, offset, whence);
		if (offset < 0)
			offset = -errno;
	}
	if (offset < 0)
		reply_error(request, (int)offset);
	else
		(void)fuse_reply_lseek(request, offset);
}
