/* SPDX-License-Identifier: MIT */
#include "backup/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backup/restoring.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/stop.h"

/* ---- the check of the manifest ----------------------------------------------------------- */

/* Reads the whole manifest and counts its names, before anything is written. */
static int check_manifest(struct manifest_reader *reader, int fd, struct restoring *restoring)
{
	int r = manifest_reader_init(reader, fd, restoring->settings->manifest);

	while (r == 0 && (r = manifest_reader_next(reader)) == 0) {
		if (stop_requested())
			return -EINTR;
		restore_folder_note(&restoring->folder, reader->name.path.data,
				    reader->name.path.length);
		restore_only_note(restoring->settings->only, reader->name.path.data,
				  reader->name.path.length);
	}
	return r == MANIFEST_END ? 0 : r;
}

/* ---- the folders ------------------------------------------------------------------------- */

static int open_folder(const char *path, const char *what, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0 || fstat(fd, status) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	log_error("cannot open %s %s: %s", what, quote_path(path), error_text(r));
	cleanup_close(&fd);
	return r;
}

static int check_apart(const struct restoring *restoring)
{
	const struct restore_settings *settings = restoring->settings;
	bool inside = false;
	bool around = false;
	int r = find_within(restoring->target, &restoring->backup_status, &inside);

	if (r == 0)
		r = find_within(restoring->backup, &restoring->target_status, &around);
	if (r < 0) {
		log_error("cannot open the parent directories of %s and %s: %s",
			  quote_path(settings->backup), quote_path(settings->target),
			  error_text(r));
		return r;
	}
	if (!inside && !around)
		return 0;
	log_error("cannot restore into %s: target and backup %s are one folder, or one contains "
		  "the other; give another target",
		  quote_path(settings->target), quote_path(settings->backup));
	return -EINVAL;
}

/* Checks that each path that is to be restored exists, before anything is written. */
static int check_only(const struct restoring *restoring)
{
	const char *missing =
		restore_only_find_missing(restoring->settings->only, restoring->backup);

	if (!missing)
		return 0;
	log_error("cannot restore %s: neither the manifest nor the backup has it; paths are those "
		  "in uniques/, relative to it",
		  quote_path(missing));
	return -ENOENT;
}

static int choose_folder(struct restoring *restoring)
{
	int r = restore_folder_choose(&restoring->folder, restoring->backup,
				      restoring->result->folder);

	if (r < 0)
		log_error("cannot restore %s: all names from " RESTORE_FOLDER
			  " to %s are in use in it; rename one of them in the backup",
			  quote_path(restoring->settings->backup), restoring->result->folder);
	return r;
}

static int check_devices(const struct restoring *restoring)
{
	const struct restore_settings *settings = restoring->settings;

	if (settings->way != RESTORE_LINK ||
	    restoring->backup_status.st_dev == restoring->target_status.st_dev)
		return 0;
	log_error("cannot link files of %s into %s: they are on different file systems; restore "
		  "without --link",
		  quote_path(settings->backup), quote_path(settings->target));
	return -EXDEV;
}

static int open_folders(struct restoring *restoring)
{
	const struct restore_settings *settings = restoring->settings;
	int r;

	restoring->backup = open_folder(settings->backup, "the backup", &restoring->backup_status);
	if (restoring->backup < 0)
		return restoring->backup;
	r = check_only(restoring);
	if (r == 0)
		r = choose_folder(restoring);
	if (r < 0)
		return r;
	if (mkdir(settings->target, S_IRWXU) < 0 && errno != EEXIST) {
		r = -errno;
		log_error("cannot create the target %s: %s", quote_path(settings->target),
			  error_text(r));
		return r;
	}
	restoring->target = open_folder(settings->target, "the target", &restoring->target_status);
	if (restoring->target < 0)
		return restoring->target;
	r = check_apart(restoring);
	return r < 0 ? r : check_devices(restoring);
}

static int explain_staging(const struct restoring *restoring, int result)
{
	const char *target = quote_path(restoring->settings->target);

	switch (result) {
	case 0:
		return 0;
	case STAGING_ENDING:
		log_info("all files are in the target %s already: completing the interrupted "
			 "restore",
			 target);
		return STAGING_ENDING;
	case STAGING_NOT_EMPTY:
		log_error("cannot restore into %s: it is not empty; give an empty directory or a "
			  "name that does not exist",
			  target);
		return -ENOTEMPTY;
	case STAGING_OTHER:
		log_error("cannot restore into %s: an interrupted restore into it used another "
			  "manifest, or a different --link or --only; finish that restore first, "
			  "or give an "
			  "empty directory",
			  target);
		return -ENOTEMPTY;
	case STAGING_ENDED:
		log_error("cannot restore into %s: all files are restored already; remove the "
			  "empty folder %s",
			  target, restoring->result->folder);
		return -ENOTEMPTY;
	case STAGING_BUSY:
		log_error("cannot restore into %s: another process is restoring into it; wait "
			  "until it has finished",
			  target);
		return -EBUSY;
	default:
		log_error("cannot begin to restore into %s: %s", target, error_text(result));
		return result;
	}
}

/* Checks that the backup is not the incomplete target of an unfinished restore. */
static int check_backup(const struct restoring *restoring, const char *task)
{
	const char *backup = quote_path(restoring->settings->backup);

	switch (restore_folder_in_backup(restoring->backup, task)) {
	case RESTORE_FOLDER_SAME:
		log_error("cannot restore from %s: it is the target of an unfinished restore of "
			  "this manifest; finish that restore first",
			  backup);
		return -EEXIST;
	case RESTORE_FOLDER_OTHER:
		log_warning("the backup %s contains a folder " RESTORE_FOLDER
			    " of another restore, which is restored like any other; if that "
			    "restore was into this backup and is unfinished, files are missing",
			    backup);
		return 0;
	default:
		return 0;
	}
}

/* Appends what identifies the paths, if not all names are restored. */
static int append_only(struct bytes *task, const struct restore_only *only)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < only->paths.count; i++)
		hash = hash64(only->paths.items[i], strlen(only->paths.items[i]), hash + 1);
	return hash == 0 ? 0 : bytes_format(task, "only %016" PRIx64 "\n", hash);
}

static int open_staging(struct restoring *restoring, const struct manifest_end *manifest)
{
	CLEANUP_BYTES struct bytes task = {0};
	char digits[HASH128_DIGITS + 1];
	int r;

	hash128_format(manifest->hash, digits);
	r = bytes_format(&task, "twinfs restore 1\nmanifest %" PRIu64 " %s\n", manifest->lines,
			 digits);
	if (r < 0 || !bytes_text(&task))
		return -ENOMEM;
	r = check_backup(restoring, bytes_text(&task));
	if (r < 0)
		return r;
	r = bytes_format(&task, "files %s\n",
			 restoring->settings->way == RESTORE_LINK ? "linked" : "copied");
	if (r == 0)
		r = append_only(&task, restoring->settings->only);
	if (r < 0 || !bytes_text(&task))
		return -ENOMEM;
	r = explain_staging(restoring, staging_init(&restoring->staging, restoring->target,
						    restoring->result->folder, bytes_text(&task)));
	if (r == 0 && restoring->staging.resumed)
		log_info("resuming the interrupted restore into %s%s",
			 quote_path(restoring->settings->target),
			 restoring->staging.trusted ? ""
						    : "; its files may be damaged, so all are "
						      "read again");
	return r;
}

/* ---- the work ---------------------------------------------------------------------------- */

static void count_bytes(void *context, uint64_t bytes)
{
	struct restoring *restoring = context;

	restoring->counts.bytes_done = size_add(restoring->counts.bytes_done, bytes);
	progress_update(&restoring->progress, &restoring->counts);
}

static void begin_part(struct restoring *restoring, const char *label, uint64_t files,
		       uint64_t bytes)
{
	restoring->counts = (struct progress_counts){.files_total = files, .bytes_total = bytes};
	progress_start(&restoring->progress, restoring->settings->progress, label);
}

static int make_names(struct restoring *restoring, struct manifest_reader *checked)
{
	CLEANUP_MANIFEST_READER struct manifest_reader all = {0};
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};
	int r = manifest_reader_init(&all, checked->lines.fd, checked->path);

	if (r < 0)
		return r;
	begin_part(restoring, "copying", 0, 0);
	r = restore_tree(restoring, &all);
	progress_end(&restoring->progress, &restoring->counts);
	if (r < 0)
		return r;
	begin_part(restoring, "restoring copies", checked->names, checked->bytes);
	r = manifest_reader_init(&reader, checked->lines.fd, checked->path);
	if (r == 0)
		r = restore_names(restoring, &reader);
	progress_end(&restoring->progress, &restoring->counts);
	return r;
}

/* Completes a restore without failures. The removal of the staging folder changes the mtime of the
 * target and needs write permission, so the target gets its final metadata afterwards. Before, it
 * gets the same metadata with write permission: if the restore is interrupted, little is missing.
 *
 * If the metadata cannot be set, the staging folder or its mark stays, so that the same command can
 * be repeated. */
static int end(struct restoring *restoring, struct manifest_reader *checked)
{
	struct restore_result *result = restoring->result;
	struct metadata_refused refused = result->refused;
	int r = restore_root(restoring, S_IRWXU);

	result->refused = refused; /* the final restore_root() counts the same again */
	if (r < 0 || result->failed > 0)
		return r;
	r = staging_remove(&restoring->staging);
	if (r < 0) {
		log_error("cannot remove %s in %s: %s; all files are restored, so remove it",
			  result->folder, quote_path(restoring->settings->target), error_text(r));
		return r;
	}
	r = restore_flags(restoring, checked);
	if (r == 0)
		r = restore_root(restoring, 0);
	if (r < 0 || result->failed > 0)
		return r;
	staging_unmark(&restoring->staging);
	restore_root_flags(restoring, checked);
	return 0;
}

/* Sets the metadata of directories and flushes the target. If a name could not be restored, the
 * staging folder stays, so that the same command can be repeated. */
static int finish(struct restoring *restoring, struct manifest_reader *checked)
{
	int r = restore_directories(restoring);

	if (r < 0)
		return r;
	if (syncfs(restoring->target) < 0) {
		r = -errno;
		log_error("cannot flush the target %s to its disk: %s; run the same command again",
			  quote_path(restoring->settings->target), error_text(r));
		return r;
	}
	return restoring->result->failed == 0 ? end(restoring, checked)
					      : restore_root(restoring, 0);
}

/* Denies other users access to the target until its metadata is set, as restored files can be more
 * accessible than in the source. Ignores a failure, for example for a directory of another user. */
static void protect_target(const struct restoring *restoring)
{
	(void)chmod(fd_path(restoring->target).text, S_IRWXU);
}

static int work(struct restoring *restoring, struct manifest_reader *checked)
{
	int r = copier_init(&restoring->copier);

	if (r < 0)
		return r;
	restoring->copier.progress = count_bytes;
	restoring->copier.context = restoring;
	r = open_folders(restoring);
	if (r == 0)
		r = open_staging(restoring, &checked->end);
	if (r == STAGING_ENDING)
		return end(restoring, checked);
	if (r != 0)
		return r;
	protect_target(restoring);
	r = make_names(restoring, checked);
	return r < 0 ? r : finish(restoring, checked);
}

int restore_run(const struct restore_settings *settings, struct restore_result *result)
{
	struct restoring restoring = {
		.settings = settings,
		.result = result,
		.backup = -1,
		.target = -1,
		.staging = {.folder = -1, .links = -1},
	};
	CLEANUP_MANIFEST_READER struct manifest_reader checked = {0};
	AUTO_CLOSE int fd = manifest_open(settings->manifest);
	int r = fd < 0 ? fd : check_manifest(&checked, fd, &restoring);

	memset(result, 0, sizeof(*result));
	if (r == 0)
		r = work(&restoring, &checked);
	if (r == -ENOMEM)
		log_error("cannot restore: %s", error_text(r));
	if (r == -EINTR)
		log_warning("interrupted; run the same command again to resume");
	staging_deinit(&restoring.staging);
	copier_deinit(&restoring.copier);
	xattrs_free(&restoring.xattrs);
	cleanup_close(&restoring.backup);
	cleanup_close(&restoring.target);
	return r;
}
