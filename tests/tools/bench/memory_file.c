/* SPDX-License-Identifier: MIT */

/* Measures what the kernel costs a reader of a FUSE file system. Serves a folder with one file, and
 * answers reads from one buffer in memory. Ends when it is unmounted.
 *
 *   memory_file BYTES MOUNTPOINT   the file is MOUNTPOINT/file
 */

#define FUSE_USE_VERSION 314
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <fuse_lowlevel.h>

#define REPLY_BYTES_MAX (1U << 20) /* as twinfs */
#define TIMEOUT_SECONDS 3600.0

enum {
	FILE_NODE = FUSE_ROOT_ID + 1
};

static size_t file_bytes;
static char reply[REPLY_BYTES_MAX];

static void on_init(void *userdata, struct fuse_conn_info *connection)
{
	(void)userdata;
	connection->want &= ~(unsigned int)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
					    FUSE_CAP_SPLICE_MOVE | FUSE_CAP_AUTO_INVAL_DATA);
	connection->max_readahead = UINT_MAX;
	if (connection->max_write > REPLY_BYTES_MAX)
		connection->max_write = REPLY_BYTES_MAX;
}

static struct stat attributes_of(fuse_ino_t node)
{
	struct stat attributes = {.st_ino = node, .st_nlink = 1};

	attributes.st_mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0555;
	attributes.st_size = node == FILE_NODE ? (off_t)file_bytes : 0;
	return attributes;
}

static void on_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {
		.ino = FILE_NODE,
		.attr = attributes_of(FILE_NODE),
		.attr_timeout = TIMEOUT_SECONDS,
		.entry_timeout = TIMEOUT_SECONDS,
	};

	if (parent == FUSE_ROOT_ID && strcmp(name, "file") == 0)
		(void)fuse_reply_entry(request, &entry);
	else
		(void)fuse_reply_err(request, ENOENT);
}

static void on_getattr(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	const struct stat attributes = attributes_of(node);

	(void)info;
	(void)fuse_reply_attr(request, &attributes, TIMEOUT_SECONDS);
}

static void on_open(fuse_req_t request, fuse_ino_t node, struct fuse_file_info *info)
{
	(void)node;
	info->keep_cache = 1;
	(void)fuse_reply_open(request, info);
}

static void on_read(fuse_req_t request, fuse_ino_t node, size_t size, off_t offset,
		    struct fuse_file_info *info)
{
	size_t left = (size_t)offset < file_bytes ? file_bytes - (size_t)offset : 0;

	(void)node;
	(void)info;
	if (size > left)
		size = left;
	(void)fuse_reply_buf(request, reply, size < sizeof(reply) ? size : sizeof(reply));
}

static const struct fuse_lowlevel_ops callbacks = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.open = on_open,
	.read = on_read,
};

int main(int argc, char **argv)
{
	struct fuse_args arguments = FUSE_ARGS_INIT(1, argv);
	struct fuse_session *session;
	int r;

	if (argc != 3) {
		(void)fprintf(stderr, "usage: memory_file BYTES MOUNTPOINT\n");
		return EXIT_FAILURE;
	}
	file_bytes = strtoull(argv[1], NULL, 10);
	memset(reply, 'x', sizeof(reply));
	session = fuse_session_new(&arguments, &callbacks, sizeof(callbacks), NULL);
	if (!session || fuse_session_mount(session, argv[2]) != 0)
		return EXIT_FAILURE;
	r = fuse_session_loop(session);
	fuse_session_unmount(session);
	fuse_session_destroy(session);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
