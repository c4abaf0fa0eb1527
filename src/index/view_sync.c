/* SPDX-License-Identifier: MIT */
#include "index/view_sync.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <jansson.h>

#include "base/bytes.h"
#include "base/timed_call.h"
#include "index/status_file.h"

/* Interval at which the daemon is asked whether it still answers. */
#define CHECK_MS 2000

struct syncing {
	const char *mount_point;
	const char *path; /* of the file */
};

static int read_file(void *context)
{
	const struct syncing *syncing = context;
	AUTO_CLOSE int fd = open(syncing->path, O_RDONLY | O_CLOEXEC);
	char generation[32];

	return fd < 0 || read(fd, generation, sizeof(generation)) < 0 ? -errno : 0;
}

/* Returns -ETIMEDOUT if the daemon does not answer. After any other failure, the read will fail. */
static int check_answer(void *context)
{
	const struct syncing *syncing = context;
	json_auto_t *status = NULL;

	return status_file_read(syncing->mount_point, &status) == -ETIMEDOUT ? -ETIMEDOUT : 0;
}

static int read_control(const char *mount_point, const char *name)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct syncing syncing = {.mount_point = mount_point};
	int r = bytes_format(&path, "%s/.twinfs/%s", mount_point, name);

	syncing.path = r < 0 ? NULL : bytes_text(&path);
	if (!syncing.path)
		return -ENOMEM;
	return call_while(read_file, check_answer, &syncing, CHECK_MS);
}

int view_sync(const char *mount_point)
{
	return read_control(mount_point, "sync");
}

int view_remap(const char *mount_point)
{
	return read_control(mount_point, "remap");
}
