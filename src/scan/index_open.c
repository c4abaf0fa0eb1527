/* SPDX-License-Identifier: MIT */
#include "scan/index_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/log.h"
#include "index/catalog.h"
#include "index/mount_point.h"
#include "scan/index_folder.h"
#include "scan/status_file.h"

/* ---- the process that holds the lock ------------------------------------------------ */

struct holder {
	pid_t pid; /* 0: none, -1: unknown */
	char *mount_point; /* "": none */
};

static void holder_free(struct holder *holder)
{
	free(holder->mount_point);
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
	return index_folder_is_same(bytes_text(&served), folder);
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

/* Logs which process uses the index, and the remedy. */
static void index_holder_explain(const char *folder)
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

/* ---- opening ------------------------------------------------------------------------ */

/* Logs why an index is refused as that of another user (index/store/index_files.h). */
static void explain_foreign(const char *folder)
{
	struct stat status;

	if (lstat(folder, &status) < 0)
		log_error("cannot use the index %s: %s; choose another with --index",
			  quote_path(folder), error_text(-errno));
	else if (S_ISLNK(status.st_mode))
		log_error("cannot use the index %s: it is a symbolic link; use the folder that it "
			  "leads to with --index",
			  quote_path(folder));
	else if (status.st_uid != geteuid())
		log_error("cannot use the index %s: it belongs to user %u; run twinfs as that user "
			  "('sudo -u \\#%u twinfs ...'), or choose another with --index",
			  quote_path(folder), (unsigned int)status.st_uid,
			  (unsigned int)status.st_uid);
	else
		log_error("cannot use the index %s: a file in it belongs to another user or is a "
			  "symbolic link; remove that file, or choose another with --index",
			  quote_path(folder));
}

void index_explain(const char *folder, int outcome)
{
	switch (outcome) {
	case CATALOG_IN_USE:
		index_holder_explain(folder);
		break;
	case CATALOG_NEWER:
		log_error("cannot use the index %s: a newer twinfs wrote it; use that version, or "
			  "choose another with --index",
			  quote_path(folder));
		break;
	case CATALOG_NO_INDEX:
		log_error("cannot find an index in %s; run 'twinfs scan'", quote_path(folder));
		break;
	case CATALOG_REMOTE:
		log_error("cannot use the index %s: locks are unreliable on a network or FUSE file "
			  "system; choose a local folder with --index",
			  quote_path(folder));
		break;
	case CATALOG_DAMAGED:
		log_error(
			"cannot use the index %s: it is damaged; run 'twinfs scan', which sets it "
			"aside and builds a new one",
			quote_path(folder));
		break;
	case CATALOG_OLDER:
		log_error(
			"cannot use the index %s: an older twinfs wrote it; run 'twinfs scan', or "
			"mount its view again, to build a new one",
			quote_path(folder));
		break;
	case CATALOG_UNSEALED:
		log_error("cannot use the index %s: another process is changing it, or it was not "
			  "closed cleanly; let its owner run 'twinfs scan', then try again",
			  quote_path(folder));
		break;
	case -EXDEV: /* logged by spool_open() */
		break;
	case -EPERM:
		explain_foreign(folder);
		break;
	case -EFBIG:
		log_error("cannot use the index %s: %s; raise the limit with 'ulimit -f "
			  "unlimited', or use another disk with --index",
			  quote_path(folder), error_text(outcome));
		break;
	case -EMFILE:
		log_error("cannot use the index %s: the limit of open files is too low; "
			  "raise the limit with 'ulimit -n 1024', see 'twinfs doctor'",
			  quote_path(folder));
		break;
	default:
		log_error("cannot use the index %s: %s; choose another with --index",
			  quote_path(folder), error_text(outcome));
		break;
	}
}

int index_open_read_only(const char *folder, struct catalog **catalog)
{
	const struct catalog_options options = {.folder = folder, .read_only = true};

	return catalog_open(catalog, &options);
}
