/* SPDX-License-Identifier: MIT */
#include "mount/callbacks.h"

#include <limits.h>

#include "base/log.h"
#include "mount/fuse_options.h"

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
	view_set_reading(session->view, features_read_mode(choice), session->advice);
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
	 * because the page gate (page_gate.h) decides on the page cache. With READDIRPLUS_AUTO, the
	 * kernel would choose which listings have attributes (listing_habits.h). */
	const unsigned int unwanted = FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_SPLICE_READ |
				      FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
				      FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS_AUTO;

	connection->want &= ~(unwanted | alone | (unsigned int)FUSE_CAP_POSIX_ACL);
	connection->want |= wanted & connection->capable;
	if (!session->settings.shared)
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
