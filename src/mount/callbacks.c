/* SPDX-License-Identifier: MIT */

/* One function per request of the kernel: it asks the view and hands the answer on. libfuse calls
 * them in threads of its own, several at a time.
 *
 * What the kernel may keep: nothing while the view still changes; when it is current, nothing in
 * it changes until it is unmounted, so names, attributes, listings and also missing names are
 * kept. The state is read before the view is asked: read after, it could call an answer final
 * that was given a moment before the last commit.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "mount/session.h"

/* Seconds. Only the end of the mount ends the truth of an answer; the hour is so that the kernel
 * asks again some day. */
#define TIMEOUT_CURRENT 3600.0

/* Cookies of "." and ".."; those of the view are above. */
#define COOKIE_SELF 1
#define COOKIE_PARENT 2

/* The inode number in listings of what has none; as libfuse does it. */
#define INODE_UNKNOWN 0xffffffff

static struct session *session_of(fuse_req_t request)
{
	return fuse_req_userdata(request);
}

static bool is_current(const struct session *session)
{
	return view_get_state(session->view) == VIEW_CURRENT;
}

static double timeout_now(const struct session *session)
{
	return is_current(session) ? TIMEOUT_CURRENT : 0.0;
}

/* Requests that were interrupted have nobody to reply to; nothing else can fail in a reply. */
static void reply_error(fuse_req_t request, int result)
{
	(void)fuse_reply_err(request, -result);
}

/* ---- names and attributes ------------------------------------------------------------ */

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	const struct session *session = userdata;
	/* With default_permissions, ACLs have to be the kernel's affair, too: else who may read a
	 * file by its ACL alone would be refused. */
	const unsigned int wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
				    FUSE_CAP_POSIX_ACL | FUSE_CAP_READDIRPLUS |
				    FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_SPLICE_WRITE;
	/* Requests are small: splicing them would cost a system call more. Pages are given up by
	 * page_gate.h, not on account of times; asking for those before each read is for nothing. */
	const unsigned int unwanted =
		FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ | FUSE_CAP_AUTO_INVAL_DATA;

	connection->want &= ~unwanted;
	connection->want |= wanted & connection->capable;
	if (session->settings.ready)
		session->settings.ready(session->settings.context);
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct session *session = session_of(request);
	double timeout = timeout_now(session);
	struct fuse_entry_param entry = {.attr_timeout = timeout, .entry_timeout = timeout};
	int r = view_lookup(session->view, parent, name, &entry.attr);

	if (r < 0 && (r != -ENOENT || timeout <= 0)) {
		reply_error(request, r);
		return;
	}
	entry.ino = r == 0 ? entry.attr.st_ino : 0; /* 0: there is no such name, remember that */
	(void)fuse_reply_entry(request, &entry);
}

static void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	double timeout = timeout_now(session);
	struct stat attributes;
	int r = view_getattr(session->view, node, &attributes);

	(void)info;
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_attr(request, &attributes, timeout);
}

static void on_readlink(fuse_req_t request, fuse_ino_t node)
{
	struct bytes target CLEANUP_BYTES = {0};
	int r = view_readlink(session_of(request)->view, node, &target);
	const char *text = r == 0 ? bytes_text(&target) : NULL;

	if (text)
		(void)fuse_reply_readlink(request, text);
	else
		reply_error(request, r < 0 ? r : -ENOMEM);
}

static void on_statfs(fuse_req_t request, fuse_ino_t node)
{
	struct statvfs statfs;
	int r = view_statfs(session_of(request)->view, &statfs);

	(void)node;
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_statfs(request, &statfs);
}

/* ---- listings ------------------------------------------------------------------------ */

/* The handle that opening gave to the kernel; held by it until it asks to release it. */
static struct handle *handle_of(const struct fuse_file_info *info)
{
	return (struct handle *)(uintptr_t)info->fh; // NOLINT(performance-no-int-to-ptr)
}

/* Hands an open handle to the kernel. Its reply fails when the request was interrupted, and then
 * it will never ask to release it. */
static void reply_open(fuse_req_t request, struct fuse_file_info *info, struct handle *handle)
{
	info->fh = (uintptr_t)handle;
	if (fuse_reply_open(request, info) == -ENOENT)
		handle_drop(handle);
}

/* Closes a file or a directory. */
static void on_release(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	handle_drop(handle_of(info));
	reply_error(request, 0);
}

static void on_opendir(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	bool current = is_current(session);
	struct handle *handle;
	int r = handle_open_directory(&session->handles, session->view, node, &handle);

	if (r < 0) {
		reply_error(request, r);
		return;
	}
	info->cache_readdir = current;
	info->keep_cache = current;
	reply_open(request, info, handle);
}

/* The answer to a readdir or readdirplus while it is put together. */
struct listing_reply {
	fuse_req_t request;
	bool plus; /* with attributes, as a lookup gives them */
	double timeout;
	char *data;
	size_t used, size;
};

static bool add_name(const struct view_entry *entry, void *context)
{
	struct listing_reply *reply = context;
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	struct fuse_entry_param plus = {
		.ino = entry->attributes.st_ino, /* 0: the kernel makes a lookup when it needs it */
		.attr = entry->attributes,
		.attr_timeout = reply->timeout,
		.entry_timeout = reply->timeout,
	};

	if (!entry->known)
		plus.attr.st_ino = INODE_UNKNOWN;
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

/* Adds "." or "..", of which the kernel wants no attributes. */
static bool add_dot(struct listing_reply *reply, const char *name, uint64_t node, uint64_t cookie)
{
	char *at = reply->data + reply->used;
	size_t room = reply->size - reply->used, needed;
	struct fuse_entry_param plus = {.attr = {.st_ino = node, .st_mode = S_IFDIR}};

	if (reply->plus)
		needed = fuse_add_direntry_plus(reply->request, at, room, name, &plus,
						(off_t)cookie);
	else
		needed = fuse_add_direntry(reply->request, at, room, name, &plus.attr,
					   (off_t)cookie);
	if (needed > room)
		return false;
	reply->used += needed;
	return true;
}

static int fill_listing(struct listing_reply *reply, struct view_listing *listing, fuse_ino_t node,
			uint64_t after)
{
	if (after < COOKIE_SELF && !add_dot(reply, ".", node, COOKIE_SELF))
		return 0;
	if (after < COOKIE_PARENT &&
	    !add_dot(reply, "..", view_list_parent(listing), COOKIE_PARENT))
		return 0;
	return view_list(listing, after < VIEW_COOKIE_MIN ? 0 : after, add_name, reply);
}

static void reply_listing(fuse_req_t request, fuse_ino_t node, const struct fuse_file_info *info,
			  struct listing_reply *reply, off_t offset)
{
	AUTO_FREE char *data = malloc(reply->size);
	int r = -ENOMEM;

	reply->request = request;
	reply->data = data;
	reply->timeout = timeout_now(session_of(request));
	if (data)
		r = fill_listing(reply, handle_of(info)->listing, node, (uint64_t)offset);
	if (r < 0)
		reply_error(request, r);
	else
		(void)fuse_reply_buf(request, data, reply->used);
}

static void on_readdir(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		       struct fuse_file_info *info)
{
	struct listing_reply reply = {.size = size};

	reply_listing(request, node, info, &reply, offset);
}

static void on_readdirplus(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
			   struct fuse_file_info *info)
{
	struct listing_reply reply = {.size = size, .plus = true};

	reply_listing(request, node, info, &reply, offset);
}

/* ---- content ------------------------------------------------------------------------- */

static void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	struct session *session = session_of(request);
	struct handle *handle;
	int r = -EROFS;

	if ((info->flags & O_ACCMODE) == O_RDONLY && !(info->flags & O_TRUNC))
		r = handle_open_file(&session->handles, session->view, node, &handle);
	if (r < 0) {
		reply_error(request, r);
		return;
	}
	if (handle->file.fd < 0)
		info->direct_io = 1; /* its size is not known before it is opened */
	else
		info->keep_cache = page_gate_may_keep(&session->gate, node, handle->file.signature);
	reply_open(request, info, handle);
}

static void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		    struct fuse_file_info *info)
{
	struct handle *handle CLEANUP_HANDLE = handle_use(handle_of(info));
	const struct bytes *content = &handle->file.content;
	struct fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);
	size_t start = (size_t)offset;

	(void)node;
	if (handle->file.fd >= 0) {
		buffer.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
		buffer.buf[0].fd = handle->file.fd;
		buffer.buf[0].pos = offset;
		(void)fuse_reply_data(request, &buffer, 0);
		return;
	}
	if (start >= content->length) {
		(void)fuse_reply_buf(request, NULL, 0);
		return;
	}
	if (size > content->length - start)
		size = content->length - start;
	(void)fuse_reply_buf(request, (const char *)content->data + start, size);
}

/* lseek(2) for SEEK_DATA and SEEK_HOLE in a file that holds no hole. */
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

/* ---- extended attributes ------------------------------------------------------------- */

/* Replies with length bytes of value, with the length alone where size was 0, or an error. */
static void reply_xattr(fuse_req_t request, const char *value, size_t size, long length)
{
	if (length < 0)
		reply_error(request, (int)length);
	else if (size == 0)
		(void)fuse_reply_xattr(request, (size_t)length);
	else
		(void)fuse_reply_buf(request, value, (size_t)length);
}

static void on_getxattr(fuse_req_t request, fuse_ino_t node, const char *name, size_t size)
{
	AUTO_FREE char *value = malloc(size ? size : 1);
	long length = -ENOMEM;

	if (value)
		length = view_getxattr(session_of(request)->view, node, name, value, size);
	reply_xattr(request, value, size, length);
}

static void on_listxattr(fuse_req_t request, fuse_ino_t node, size_t size)
{
	AUTO_FREE char *list = malloc(size ? size : 1);
	long length = -ENOMEM;

	if (list)
		length = view_listxattr(session_of(request)->view, node, list, size);
	reply_xattr(request, list, size, length);
}

const struct fuse_lowlevel_ops session_callbacks = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.readlink = on_readlink,
	.statfs = on_statfs,
	.opendir = on_opendir,
	.releasedir = on_release,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.open = on_open,
	.release = on_release,
	.read = on_read,
	.lseek = on_lseek,
	.getxattr = on_getxattr,
	.listxattr = on_listxattr,
};
