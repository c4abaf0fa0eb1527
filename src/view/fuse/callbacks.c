/* SPDX-License-Identifier: MIT */

/* One function for each FUSE operation: queries the view and replies. Several threads call them at
 * a time: those of the loop, and those of libfuse if it uses io_uring. The user data of a request
 * is the session.
 *
 * view/fuse/kernel_cache.h says when a node is marked, and has the timeouts.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/stop.h"
#include "view/fuse/fuse.h"
#include "view/fuse/notifier.h"
#include "view/fuse/session.h"
#include "view/tree/caller.h"
#include "view/tree/view.h"

static struct session *session_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

/* A reply fails only if the request was interrupted or the connection has ended. In both cases no
 * reply is needed. */
static void reply_error(fuse_req_t request, int result)
{
	(void)fuse_reply_err(request, -result);
}

/* ---- the caller --------------------------------------------------------------------- */

/* The caller of a request, in a mount that is shared with other users (allow_other). Only root can
 * make such a mount. If root is the caller, root sees everything that its capabilities allow. In a
 * mount that is not shared, no caller is determined, as the kernel refuses other users.
 *
 * The kernel provides uid, gid and thread id of a request. Supplementary groups are read from /proc
 * (view/tree/caller.h). */

struct requester {
	struct view_call call; /* argument for calls of the view; points to the other two fields */
	struct caller caller;
	struct cancellation cancellation; /* requested when the kernel interrupts the request */
};

static bool is_interrupted(void *request)
{
	return fuse_req_interrupted(request) != 0;
}

/* Returns a cancellation that is requested when the kernel interrupts this request. */
static struct cancellation requester_cancellation(fuse_req_t request)
{
	return (struct cancellation){is_interrupted, request};
}

/* Determines the caller, and reports the request to the watcher thread. Returns 0, -EACCES if the
 * caller is unknown, or another -errno. In each case, requester_deinit frees the caller. */
static int requester_init(struct requester *requester, fuse_req_t request)
{
	struct session *session = session_of(request);
	const struct fuse_ctx *context = fuse_req_ctx(request);
	int r;

	if (!watcher_thread_is_from_mounter(&session->watcher, request))
		watcher_thread_note_request(&session->watcher, context->pid);
	*requester = (struct requester){.cancellation = requester_cancellation(request)};
	requester->call =
		(struct view_call){.view = session->view, .cancellation = &requester->cancellation};
	if (!session->settings.options.shared)
		return 0;
	r = caller_read(&requester->caller, context->pid, context->uid, context->gid);
	if (r < 0 || !requester->caller.reads_all)
		requester->call.caller = &requester->caller;
	return r;
}

static void requester_deinit(struct requester *requester)
{
	caller_free(&requester->caller);
}
#define CLEANUP_REQUESTER CLEANUP(requester_deinit)

/* ---- names and attributes ----------------------------------------------------------- */

/* Sets the inode generation. The node number of a file repeats after 4096 versions. */
static void set_generation(struct session *session, struct fuse_entry_param *entry)
{
	uint32_t version = (uint32_t)entry->attr.st_dev;

	entry->generation = node_generation(version);
	if (node_kind(entry->ino) == NODE_FILE)
		generations_record(&session->generations, node_id(entry->ino), version);
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	bool shared = session->settings.options.shared;
	struct fuse_entry_param entry = {.entry_timeout = entry_timeout_of(parent, shared)};
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_lookup(&session->replies, parent, name, &entry)) {
		(void)fuse_reply_entry(request, &entry);
		return;
	}
	if (watcher_reply_is_changing(&session->replies, parent, name))
		entry.entry_timeout = 0.0;
	cached_marks_set(&session->cached, node_inode(parent));
	if (r == 0)
		r = view_lookup(&requester.call, parent, name, &entry.attr);
	if (r < 0 && (r != -ENOENT || entry.entry_timeout <= 0)) {
		reply_error(request, r);
		return;
	}
	if (r == 0) { /* ino 0, for a missing name, makes a negative entry */
		entry.ino = entry.attr.st_ino;
		set_generation(session, &entry);
		entry.attr.st_ino = view_inode(session->view, entry.ino);
		entry.attr_timeout = attr_timeout_of(entry.ino, shared);
		if (node_kind(entry.ino) == NODE_FILE)
			listing_habits_note_use(&session->habits, fuse_req_ctx(request)->pid);
		cached_marks_set(&session->cached, node_inode(entry.ino));
	}
	(void)fuse_reply_entry(request, &entry);
}

/* A getattr of an open file is not checked: a program can get a descriptor from another user. */
static void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	const struct view_call opener = {.view = session->view};
	CLEANUP_REQUESTER struct requester requester = {.call = opener};
	double timeout = attr_timeout_of(node, session->settings.options.shared);
	struct stat attributes;
	int r = info ? 0 : requester_init(&requester, request);

	cached_marks_set(&session->cached, node_inode(node));
	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_getattr(&session->replies, node, &attributes)) {
		r = 0;
		timeout = 0.0;
	} else if (r == 0) {
		r = view_getattr(&requester.call, node, &attributes);
	}
	if (r < 0) {
		reply_error(request, r);
		return;
	}
	attributes.st_ino = view_inode(session->view, node);
	(void)fuse_reply_attr(request, &attributes, timeout);
}

/* access(2) and chdir(2), if the kernel does not check permissions. */
static void on_access(fuse_req_t request, fuse_ino_t node, int mask)
{
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0 && mask & W_OK)
		r = -EROFS;
	if (r == 0)
		r = view_access(&requester.call, node, mask);
	reply_error(request, r);
}

static void on_readlink(fuse_req_t request, fuse_ino_t node)
{
	CLEANUP_BYTES struct bytes target = {0};
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);
	const char *text;

	if (r == 0)
		r = view_readlink(&requester.call, node, &target);
	text = r == 0 ? bytes_text(&target) : NULL;
	if (text)
		(void)fuse_reply_readlink(request, text);
	else
		reply_error(request, r < 0 ? r : -ENOMEM);
}

static void on_statfs(fuse_req_t request, fuse_ino_t node)
{
	CLEANUP_REQUESTER struct requester requester;
	struct statvfs statfs;
	int r = requester_init(&requester, request);

	(void)node;
	if (r == 0)
		r = view_statfs(&requester.call, &statfs);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_statfs(request, &statfs);
}

/* ---- extended attributes ------------------------------------------------------------ */

/* Replies with the value of the attribute, or with the list of names if name is NULL; with its
 * length only if size is 0. */
static void reply_xattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	AUTO_FREE char *value = malloc(size ? size : 1);
	CLEANUP_REQUESTER struct requester requester;
	long length = requester_init(&requester, request);

	if (!value)
		length = -ENOMEM;
	if (length == 0)
		length = name ? view_getxattr(&requester.call, node, name, value, size)
			      : view_listxattr(&requester.call, node, value, size);
	if (length < 0)
		reply_error(request, (int)length);
	else if (size == 0)
		(void)fuse_reply_xattr(request, (size_t)length);
	else
		(void)fuse_reply_buf(request, value, (size_t)length);
}

static void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	reply_xattr(request, node, name, size);
}

static void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
	reply_xattr(request, node, NULL, size);
}

/* ---- listings ----------------------------------------------------------------------- */

/* st_ino of entries whose inode is unknown. libfuse uses the same value. */
#define INODE_UNKNOWN 0xffffffff

static bool emit_none(const struct view_entry *entry, void *context)
{
	(void)entry;
	(void)context;
	return false;
}

/* In a shared mount, listings are not cached, and opendir checks the permission, as for a directory
 * of the source. */
static void open_shared(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0 && requester.call.caller)
		r = view_list(&requester.call, node, 0, emit_none, NULL);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_open(request, info);
}

/* An open directory has no state. After ENOSYS the kernel caches all listings and sends no more
 * opendir and releasedir requests: a find(1) over cached directories sends no request. */
static void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	const struct session *session = session_of(request);

	if (session->settings.options.shared) {
		open_shared(request, node, info);
	} else if (session->needs_opendir) {
		info->cache_readdir = 1;
		info->keep_cache = 1;
		(void)fuse_reply_open(request, info);
	} else {
		reply_error(request, -ENOSYS);
	}
}

static void on_releasedir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	(void)info;
	reply_error(request, 0);
}

/* The reply to a readdir or readdirplus request while it is built. */
struct listing_reply {
	fuse_req_t request;
	bool plus; /* readdirplus */
	uint64_t node; /* node of the directory */
	struct session *session;
	enum listing_attributes attributes; /* of files, for readdirplus */
	char *data;
	size_t used, size;
};

/* Can the kernel use the attributes of this entry? If it does not cache the name, it sends a lookup
 * anyway. */
static bool has_use(const struct listing_reply *reply, const struct view_entry *entry)
{
	if (!reply->plus || entry->cookie < VIEW_COOKIE_MIN ||
	    entry_timeout_of(reply->node, reply->session->settings.options.shared) <= 0)
		return false;
	return reply->attributes == LISTING_OF_ALL || S_ISDIR(entry->attributes.st_mode);
}

/* Returns the attributes of an entry, as a lookup does, or its inode number and type only. */
static struct fuse_entry_param attributes_of(const struct listing_reply *reply,
					     const struct view_entry *entry)
{
	struct fuse_entry_param plus = {.attr = entry->attributes};
	struct session *session = reply->session;
	bool shared = session->settings.options.shared;

	plus.attr.st_ino =
		entry->known ? view_inode(session->view, entry->attributes.st_ino) : INODE_UNKNOWN;
	if (!has_use(reply, entry))
		return plus;
	/* With ino 0 the kernel sends a lookup when it needs the entry. Only a lookup makes the
	 * kernel replace an inode of another generation. */
	if (node_generation((uint32_t)entry->attributes.st_dev) > 0)
		return plus;
	plus.ino = entry->attributes.st_ino;
	plus.attr_timeout = attr_timeout_of(plus.ino, shared);
	if (!watcher_reply_is_changing(&session->replies, reply->node, entry->name))
		plus.entry_timeout = entry_timeout_of(reply->node, shared);
	if (entry->known)
		cached_marks_set(&session->cached, node_inode(plus.ino));
	return plus;
}

static bool add_name(const struct view_entry *entry, void *context)
{
	struct listing_reply *reply = context;
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	const struct fuse_entry_param plus = attributes_of(reply, entry);

	if (reply->plus)
		needed = fuse_add_direntry_plus(reply->request, at, room, entry->name, &plus,
						(off_t)entry->cookie);
	else
		needed = fuse_add_direntry(reply->request, at, room, entry->name, &plus.attr,
					   (off_t)entry->cookie);
	if (needed > room)
		return false;
	reply->used += needed;
	return true;
}

/* Marks the directory before the view is queried. */
static int mark_listing(struct session *session, uint64_t node)
{
	cached_marks_set(&session->cached, node_inode(node));
	return node_has_copies(node) ? listed_groups_add(&session->listed, node) : 0;
}

static void reply_listing(fuse_req_t request, struct listing_reply *reply, off_t offset)
{
	struct session *session = session_of(request);
	struct buffer buffer = buffers_take(&session->buffers, reply->size);
	CLEANUP_REQUESTER struct requester requester;
	int r = requester_init(&requester, request);

	if (r == 0)
		r = buffer.data ? mark_listing(session, reply->node) : -ENOMEM;
	reply->request = request;
	reply->data = buffer.data;
	reply->session = session;
	if (r == 0)
		r = view_list(&requester.call, reply->node, (uint64_t)offset, add_name, reply);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_buf(request, buffer.data, reply->used);
	buffers_return(&session->buffers, buffer);
}

static void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		       struct fuse_file_info *info)
{
	struct listing_reply reply = {.node = node, .size = size};

	(void)info;
	reply_listing(request, &reply, offset);
}

static void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
			   struct fuse_file_info *info)
{
	struct listing_habits *habits = &session_of(request)->habits;
	struct listing_reply reply = {.node = node, .size = size, .plus = true};

	(void)info;
	/* few processes list all groups without a look into their folders */
	reply.attributes =
		node_is_source_dir(node)
			? listing_habits_choose(habits, fuse_req_ctx(request)->pid, offset == 0)
			: LISTING_OF_ALL;
	reply_listing(request, &reply, offset);
}

/* ---- opening files ------------------------------------------------------------------ */

/* Returns the handle of an open file, which is valid until the kernel releases it. */
static struct handle *handle_of(const struct fuse_file_info *info)
{
	return (struct handle *)(uintptr_t)info->fh; // NOLINT(performance-no-int-to-ptr)
}

/* Replies to an open with a handle. If the request was interrupted, the reply fails and the kernel
 * never releases the handle. In that case, closes the file. */
static void reply_open(fuse_req_t request, struct fuse_file_info *info, struct handle *handle)
{
	struct session *session = session_of(request);

	info->fh = (uintptr_t)handle;
	if (fuse_reply_open(request, info) != -ENOENT)
		return;
	if (handle->file.fd >= 0)
		backing_end(&session->backings, NULL, handle->file.node);
	handle_drop(handle);
}

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

static void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
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

/* ---- reading and closing ------------------------------------------------------------ */

static void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct handle *handle = handle_of(info);

	if (handle->file.fd >= 0)
		backing_end(&session_of(request)->backings, request, node);
	handle_drop(handle);
	reply_error(request, 0);
}

/* The reply copies the data, instead of splicing from the descriptor, because the data is checked
 * first. */
static void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
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
static void on_poll(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info,
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

static void on_lseek(fuse_req_t request, fuse_ino_t node, off_t offset, int whence,
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

/* ---- beginning ---------------------------------------------------------------------- */

/* Selects the fastest allowed way to read files. */
static void choose_speed(struct session *session, struct fuse_conn_info *connection)
{
	struct features *facts = &session->facts;
	enum backing_choice choice;

#if PASSTHROUGH_KNOWN
	facts->kernel_passthrough = connection->capable & FUSE_CAP_PASSTHROUGH;
	choice = features_backing(facts);
	if (choice != BACKING_NONE) {
		connection->want |= (unsigned int)FUSE_CAP_PASSTHROUGH;
		/* A source can be on overlayfs. Unless the user requests it, the daemon reads such
		 * a source, so that an overlayfs can use the view as a layer. */
		connection->max_backing_stack_depth = choice == BACKING_ALL
							      ? FUSE_BACKING_STACKED_OVER
							      : FUSE_BACKING_STACKED_UNDER;
	}
#else
	(void)connection;
	choice = features_backing(facts);
#endif
	session->backings.choice = choice;
	features_advise(facts, session->advice);
	session->view->read_mode = features_read_mode(choice);
	session->view->advice = session->advice;
	if (facts->wants_passthrough && choice == BACKING_NONE && session->expects_passthrough)
		log_warning("reading without passthrough: %s", features_no_passthrough(facts));
}

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	struct session *session = userdata;
	const unsigned int wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS;
	/* Without timeouts, attributes in listings are useless to the kernel. */
	const unsigned int alone = FUSE_CAP_READDIRPLUS;
	/* Requests are small, and data passes through a buffer anyway, so splice would only add
	 * system calls. AUTO_INVAL_DATA causes a getattr before each read, which is useless,
	 * because the page gate (kernel_cache.h) decides on the page cache. With READDIRPLUS_AUTO,
	 * the kernel would choose which listings have attributes (kernel_cache.h). */
	const unsigned int unwanted = FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ |
				      FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
				      FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS_AUTO;

	connection->want &= ~(unwanted | alone | (unsigned int)FUSE_CAP_POSIX_ACL);
	connection->want |= wanted & connection->capable;
	if (!session->settings.options.shared)
		connection->want |= alone & connection->capable;
	/* If the kernel checked modes only (default_permissions), it would refuse users whose
	 * access is granted by an ACL. FUSE_CAP_POSIX_ACL implies default_permissions. */
	if (!session_checks_access(session))
		connection->want |= FUSE_CAP_POSIX_ACL & connection->capable;
	/* no limit but that of the mount; libfuse would send the value before readahead_raise */
	connection->max_readahead = UINT_MAX;
	connection->max_read = fuse_options_max_read(&session->settings);
	if (connection->max_write > LOOP_DATA_MAX) /* max_write limits reads as well */
		connection->max_write = LOOP_DATA_MAX;
	session->needs_opendir = !(connection->capable & FUSE_CAP_NO_OPENDIR_SUPPORT);
	choose_speed(session, connection);
	atomic_store(&session->loop.begun, true);
	session->settings.ready(session->settings.context);
}

/* ---- changes ------------------------------------------------------------------------ */

/* Requests that change something get EROFS. The mounter process gets success for the requests by
 * which it raises inotify events (view/fuse/watcher_event.h), but nothing changes. Without these
 * functions libfuse replies ENOSYS, which the kernel translates to other errors. */

static void make_name(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	struct fuse_entry_param entry;

	if (watcher_thread_is_from_mounter(&session->watcher, request) &&
	    watcher_reply_change(&session->replies, parent, name, true, &entry))
		(void)fuse_reply_entry(request, &entry);
	else
		reply_error(request, -EROFS);
}

static void on_remove(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	bool replies = watcher_thread_is_from_mounter(&session->watcher, request) &&
		       watcher_reply_change(&session->replies, parent, name, false, NULL);

	reply_error(request, replies ? 0 : -EROFS);
}

static void on_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
		     dev_t device)
{
	(void)mode;
	(void)device;
	make_name(request, parent, name);
}

static void on_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	make_name(request, parent, name);
}

/* Replies to the mounter process with the unchanged attributes. */
static void on_setattr(fuse_req_t request, fuse_ino_t node, struct stat *attributes, int wanted,
		       struct fuse_file_info *info)
{
	const struct session *session = session_of(request);

	(void)attributes;
	(void)wanted;
	if (watcher_thread_is_from_mounter(&session->watcher, request))
		on_getattr(request, node, info);
	else
		reply_error(request, -EROFS);
}

static void on_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	(void)parent;
	(void)name;
	reply_error(request, -EROFS);
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature */
static void on_rename(fuse_req_t request, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name, unsigned int flags)
{
	struct session *session = session_of(request);
	bool replies = watcher_thread_is_from_mounter(&session->watcher, request) &&
		       flags == RENAME_NOREPLACE &&
		       watcher_reply_move(&session->replies, parent, name, new_parent, new_name);

	reply_error(request, replies ? 0 : -EROFS);
}

static void on_link(fuse_req_t request, fuse_ino_t node, fuse_ino_t parent, const char *name)
{
	(void)node;
	(void)parent;
	(void)name;
	reply_error(request, -EROFS);
}

static void on_create(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode,
		      struct fuse_file_info *info)
{
	(void)parent;
	(void)name;
	(void)mode;
	(void)info;
	reply_error(request, -EROFS);
}

/* NOLINTNEXTLINE(readability-function-size): libfuse's signature */
static void on_setxattr(fuse_req_t request, fuse_ino_t node, const char *name, const char *value,
			size_t size, int flags)
{
	(void)node;
	(void)name;
	(void)value;
	(void)size;
	(void)flags;
	reply_error(request, -EROFS);
}

static void on_removexattr(fuse_req_t request, fuse_ino_t node, const char *name)
{
	(void)node;
	(void)name;
	reply_error(request, -EROFS);
}

/* ---- the table ---------------------------------------------------------------------- */

const struct fuse_lowlevel_ops session_callbacks = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.access = on_access,
	.readlink = on_readlink,
	.statfs = on_statfs,
	.opendir = on_opendir,
	.releasedir = on_releasedir,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.open = on_open,
	.release = on_release,
	.read = on_read,
	.lseek = on_lseek,
	.poll = on_poll,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_remove,
	.rmdir = on_remove,
	.setattr = on_setattr,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.create = on_create,
	.setxattr = on_setxattr,
	.removexattr = on_removexattr,
	.getxattr = on_getxattr,
	.listxattr = on_listxattr,
};
