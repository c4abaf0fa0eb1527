/* SPDX-License-Identifier: MIT */
#include "index/index_holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/quote.h"
#include "catalog/catalog.h"
#include "index/status_file.h"
#include "mountpoint/point.h"

struct holder {
	pid_t pid; /* 0: none, -1: unknown */
	char *mount_point; /* "": none */
};

static void holder_free(struct holder *holder)
{
	free(holder->mount_point);
}

static bool is_same_folder(const char *one, const char *other)
{
	struct stat first, second;

	return stat(one, &first) == 0 && stat(other, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* Returns whether the view of this index is mounted at the mount point. A view that does not answer
 * in time counts as mounted. */
static bool is_mounted(const char *folder, const char *mount_point)
{
	AUTO_FREE char *found = NULL;
	CLEANUP_BYTES struct bytes served = {0};
	int r;

	if (mount_point_of(mount_point, &found) < 0 || !found || strcmp(found, mount_point) != 0)
		return false;
	r = status_file_index(mount_point, &served);
	if (r < 0 || !bytes_text(&served))
		return r == -ETIMEDOUT || r == -ENOMEM;
	return is_same_folder(bytes_text(&served), folder);
}

bool index_holder_may_end(const char *folder)
{
	CLEANUP(holder_free) struct holder holder = {0};

	if (catalog_owner(folder, &holder.pid, &holder.mount_point) < 0)
		return false;
	if (holder.pid <= 0)
		return true;
	return holder.mount_point[0] != '\0' && !is_mounted(folder, holder.mount_point);
}

bool index_holder_is_stopped(pid_t pid)
{
	AUTO_FCLOSE FILE *file = NULL;
	char path[sizeof("/proc//stat") + 10], line[128] = "";
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	name_end = strrchr(line, ')');
	return name_end && strncmp(name_end, ") T", strlen(") T")) == 0;
}

void index_holder_explain(const char *folder)
{
	CLEANUP(holder_free) struct holder holder = {0};
	int r = catalog_owner(folder, &holder.pid, &holder.mount_point);

	if (r < 0 || holder.pid <= 0)
		log_error("cannot use the index %s: another twinfs uses the index; try again when "
			  "it has finished",
			  quote_path(folder));
	else if (holder.mount_point[0] == '\0')
		log_error("cannot use the index %s: process %d uses the index; try again when it "
			  "has finished",
			  quote_path(folder), (int)holder.pid);
	else if (is_mounted(folder, holder.mount_point))
		log_error("cannot use the index %s: process %d uses the index for the view at %s; "
			  "unmount the view, or choose another index with --index",
			  quote_path(folder), (int)holder.pid, quote_path(holder.mount_point));
	else
		log_error("cannot use the index %s: process %d uses the index for a view at %s, "
			  "which is not mounted; try again when the process has ended, or end it "
			  "with 'kill %d'",
			  quote_path(folder), (int)holder.pid, quote_path(holder.mount_point),
			  (int)holder.pid);
}
