/* SPDX-License-Identifier: MIT */
#include "view/fuse/callbacks.h"

#include <limits.h>

#include "base/log.h"
#include "view/fuse/fuse.h"

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
	if (session->settings.ready)
		session->settings.ready(session->settings.context);
}

/* ---- changes ------------------------------------------------------------------------- */

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

static void remove_name(fuse_req_t request, fuse_ino_t parent, const char *name)
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

static void on_unlink(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name);
}

static void on_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	remove_name(request, parent, name);
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
	(void)parent;
	(void)name;
	(void)new_parent;
	(void)new_name;
	(void)flags;
	reply_error(request, -EROFS);
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

/* ---- the table ----------------------------------------------------------------------- */

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
	.unlink = on_unlink,
	.rmdir = on_rmdir,
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
