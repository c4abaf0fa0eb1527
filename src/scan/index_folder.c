/* SPDX-License-Identifier: MIT */
#include "scan/index_folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "index/catalog.h"
#include "index/mount_point.h"
#include "index/operands.h"
#include "index/own.h"
#include "index/source.h"
#include "scan/status_file.h"
#include "twinfs/format.h"

/* Prefix of the names of index folders for operands. */
#define OPERANDS_PREFIX "files-"

/* Longest part of a source's name in the name of its index folder. */
#define SHOWN_NAME_MAX 32

int index_folders_parent(char **folder)
{
	int r = own_state_folder(folder);

	if (r < 0 && r != -ENOMEM)
		log_error("cannot find your home folder: %s; set HOME, or choose a folder with "
			  "--index",
			  error_text(r));
	return r;
}

/* Copies at most SHOWN_NAME_MAX bytes of the last part of a path. Replaces all characters but
 * letters, digits, '.' and '_'. Returns the length. */
static size_t show_name(char name[static INDEX_NAME_MAX], const char *path)
{
	static const char portable[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				       "0123456789._";
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = 0;

	if (base[0] == '\0')
		base = "root";
	for (; base[length] != '\0' && length < SHOWN_NAME_MAX; length++)
		name[length] = strchr(portable, base[length]) ? base[length] : '_';
	return length;
}

void index_folder_name(char name[static INDEX_NAME_MAX], char *const *resolved)
{
	uint64_t hash = 0;
	size_t length;

	assert(resolved[0]);
	/* the NULs keep {"ab", "c"} and {"a", "bc"} apart */
	for (size_t i = 0; resolved[i]; i++)
		hash = hash64(resolved[i], strlen(resolved[i]) + 1, hash);
	length = show_name(name, resolved[0]);
	(void)snprintf(name + length, INDEX_NAME_MAX - length, "-%08" PRIx32, (uint32_t)hash);
}

int index_folder_for_sources(char *const *resolved, char **folder)
{
	AUTO_FREE char *indexes = NULL;
	char name[INDEX_NAME_MAX];
	int r;

	r = index_folders_parent(&indexes);
	if (r < 0)
		return r;
	index_folder_name(name, resolved);
	return asprintf(folder, "%s/%s", indexes, name) < 0 ? -ENOMEM : 0;
}

int index_folder_given(const char *given, char **folder)
{
	AUTO_FREE char *here = NULL;

	if (given[0] == '/') {
		*folder = strdup(given);
		return *folder ? 0 : -ENOMEM;
	}
	here = getcwd(NULL, 0);
	if (!here) {
		int r = -errno;

		log_error("cannot find the current folder: %s; use an absolute path with --index",
			  error_text(r));
		return r;
	}
	return asprintf(folder, "%s/%s", here, given) < 0 ? -ENOMEM : 0;
}

static int check_outside(const char *folder, char *const *sources)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	int r = source_paths_recall((char *const[]){(char *)(uintptr_t)folder}, 1, &resolved);

	for (size_t i = 0; r == 0 && sources[i]; i++) {
		if (strcmp(sources[i], "/") == 0 || !path_below(resolved.items[0], sources[i]))
			continue;
		log_error("cannot make an index in %s: the folder is in the source %s; choose a "
			  "folder outside of the sources with --index",
			  quote_path(folder), quote_path(sources[i]));
		return -EINVAL;
	}
	return r;
}

int index_folder_check_new(const char *folder, char *const *sources)
{
	AUTO_FREE char *other = NULL;
	bool is_index;
	int r = catalog_examine_folder(folder, &is_index, &other);

	if (r < 0)
		return r == -ENOMEM ? r : 0; /* catalog_open() reports it */
	if (is_index)
		return 0;
	if (!other)
		return check_outside(folder, sources);
	log_error("cannot make an index in %s: the folder has other files, such as %s; choose a "
		  "new or empty folder with --index",
		  quote_path(folder), quote_path(other));
	return -ENOTEMPTY;
}

/* Refuses a new index in a folder that the operands contain. */
static int check_outside_operands(const char *folder, const struct operands *operands)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	const char *below;
	int r = source_paths_recall((char *const[]){(char *)(uintptr_t)folder}, 1, &resolved);

	if (r < 0)
		return r;
	below = path_below(resolved.items[0], operands->folder);
	if (!below || operands_rank(operands, below, true) == UINT32_MAX)
		return index_folder_check_new(folder, (char *const[]){NULL});
	return index_folder_check_new(folder, (char *const[]){operands->folder, NULL});
}

int index_folder_for_operands(const struct operands *operands, const char *given, char **folder)
{
	AUTO_FREE char *indexes = NULL;
	char name[INDEX_NAME_MAX];
	int r;

	if (given) {
		r = index_folder_given(given, folder);
		return r < 0 ? r : check_outside_operands(*folder, operands);
	}
	r = index_folders_parent(&indexes);
	if (r < 0)
		return r;
	index_folder_name(name, (char *const[]){operands->folder, NULL});
	return asprintf(folder, "%s/" OPERANDS_PREFIX "%s", indexes, name) < 0 ? -ENOMEM : 0;
}

uint64_t index_folder_bytes(const char *folder)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct stat status;

	if (bytes_format(&path, "%s/" TWINFS_INDEX_DATA, folder) < 0 || !bytes_text(&path) ||
	    stat(bytes_text(&path), &status) < 0)
		return 0;
	return (uint64_t)status.st_blocks * 512;
}

bool index_folder_is_same(const char *one, const char *other)
{
	struct stat first, second;

	return stat(one, &first) == 0 && stat(other, &second) == 0 &&
	       is_same_inode(&first, &second);
}

struct folder_list {
	const char *parent;
	struct text_list *folders;
};

static int add_folder(void *context, int directory, const struct dirent *entry)
{
	const struct folder_list *list = context;
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	(void)directory;
	if (entry->d_name[0] == '.')
		return 0;
	r = bytes_format(&path, "%s/%s", list->parent, entry->d_name);
	return r < 0 ? r : text_list_add(list->folders, (const char *)path.data, path.length);
}

int index_folders_list(struct text_list *folders)
{
	AUTO_FREE char *parent = NULL;
	AUTO_CLOSE int fd = -1;
	int r = index_folders_parent(&parent);

	if (r < 0)
		return r;
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	r = fd < 0 ? -errno
		   : directory_visit(fd, add_folder, &(struct folder_list){parent, folders});
	if (r < 0)
		log_error("cannot list the indexes in %s: %s", quote_path(parent), error_text(r));
	return r;
}

int index_folders_chosen(const char *given, struct text_list *folders)
{
	AUTO_FREE char *folder = NULL;
	int r;

	if (!given)
		return index_folders_list(folders);
	r = index_folder_given(given, &folder);
	return r < 0 || !folder ? r : text_list_add(folders, folder, strlen(folder));
}

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

/* Why an index cannot be used, and the remedy, where both do not depend on the index. */
static const struct {
	int outcome;
	const char *text;
} explanations[] = {
	{CATALOG_NEWER,
	 "a newer twinfs wrote it; use that version, or choose another with --index"},
	{CATALOG_REMOTE, "locks are unreliable on a network or FUSE file system; choose a local "
			 "folder with --index"},
	{CATALOG_DAMAGED, "it is damaged; run 'twinfs scan', which sets it aside and builds a new "
			  "one"},
	{CATALOG_OLDER, "an older twinfs wrote it; run 'twinfs scan', or mount its view again, to "
			"build a new one"},
	{CATALOG_UNSEALED, "another process is changing it, or it was not closed cleanly; let its "
			   "owner run 'twinfs scan', then try again"},
	{-EMFILE, "the limit of open files is too low; raise the limit with 'ulimit -n 1024', see "
		  "'twinfs doctor'"},
};

void index_explain(const char *folder, int outcome)
{
	for (size_t i = 0; i < ARRAY_SIZE(explanations); i++) {
		if (explanations[i].outcome != outcome)
			continue;
		log_error("cannot use the index %s: %s", quote_path(folder), explanations[i].text);
		return;
	}
	switch (outcome) {
	case CATALOG_IN_USE:
		index_holder_explain(folder);
		break;
	case CATALOG_NO_INDEX:
		log_error("cannot find an index in %s; run 'twinfs scan'", quote_path(folder));
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
