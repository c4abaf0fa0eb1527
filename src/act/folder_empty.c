/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "act/folder_check.h"
#include "base/descriptor.h"
#include "base/file_copy.h"
#include "base/path.h"

/* Removes a directory whose names were removed. */
static int remove_directory(struct folder_emptying *emptying, struct folder_pair *pair,
			    const struct folder_name *name)
{
	if (unlinkat(name->copy, name->name, AT_REMOVEDIR) == 0) {
		emptying->removed++;
		return 0;
	}
	/* a program made a name in the directory meanwhile */
	if (errno == ENOTEMPTY || errno == EEXIST)
		return folder_refuse(pair, "", ACT_BUSY);
	return folder_fail(pair, "", -errno);
}

/* Gives a name back that has its private form. Returns the result of the caller, or -errno. */
static int restore(const struct place *place, const char *other, int result)
{
	CLEANUP_BYTES struct bytes leftover = {0};
	int r = place_restore(place, other, &leftover);

	return r < 0 ? r : result;
}

/* Gives a name its private form, to which no other program renames a file. Returns 0,
 * FOLDER_REFUSED or -errno. */
static int hide_name(const struct folder_emptying *emptying, struct folder_pair *pair,
		     const struct folder_name *name, char other[static OTHER_NAME_SIZE])
{
	const struct place place = {.directory = name->copy, .name = name->name};
	int r;

	folder_private_name(other, name->name, emptying->other);
	r = place_hide(&place, other, PLACE_STAYS);
	return r < 0 ? folder_fail(pair, name->name, r) : 0;
}

/* Removes a regular file under its private name. */
static int remove_file(struct folder_emptying *emptying, struct folder_pair *pair,
		       const struct folder_name *name, struct folder_files *files)
{
	const struct place place = {.directory = name->copy, .name = name->name};
	char other[OTHER_NAME_SIZE];
	int r = hide_name(emptying, pair, name, other);

	if (r != 0)
		return r;
	if (!place_leads_to(&place, other, &files->copy.status))
		return restore(&place, other, folder_refuse(pair, name->name, ACT_CHANGED));
	r = emptying->remove_file(emptying->context, pair, name, other, files);
	if (r < 0)
		return restore(&place, other, folder_fail(pair, name->name, r));
	emptying->removed += r == 0;
	return r;
}

static int remove_regular(struct folder_emptying *emptying, struct folder_pair *pair,
			  const struct folder_name *name)
{
	struct folder_files files;
	int r = folder_check_files(emptying->check, pair, name, &files);

	if (r != 0)
		return r;
	r = remove_file(emptying, pair, name, &files);
	folder_files_close(&files);
	return r;
}

/* Removes a name of another type, which is compared under its private name. */
static int remove_other(struct folder_emptying *emptying, struct folder_pair *pair,
			const struct folder_name *name)
{
	const struct place place = {.directory = name->copy, .name = name->name};
	char other[OTHER_NAME_SIZE];
	int r = hide_name(emptying, pair, name, other);

	if (r != 0)
		return r;
	r = folder_check_other(pair, name, other);
	if (r == 0 && unlinkat(name->copy, other, 0) < 0)
		r = folder_fail(pair, name->name, -errno);
	emptying->removed += r == 0;
	return r == 0 ? 0 : restore(&place, other, r);
}

static int visit(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	return S_ISREG(name->of_copy.stx_mode) ? remove_regular(context, pair, name)
					       : remove_other(context, pair, name);
}

static int leave(void *context, struct folder_pair *pair, const struct folder_name *name)
{
	return remove_directory(context, pair, name);
}

int folder_empty(struct folder_emptying *emptying, struct folder_pair *pair,
		 const struct place *place)
{
	const struct folder_name name = {.name = emptying->other,
					 .copy = place->directory,
					 .kept = -1};
	int r;

	emptying->check->is_begun = true;
	r = folder_pair_walk_back(pair, visit, leave, emptying);
	pair->current = 0;
	return r != 0 ? r : leave(emptying, pair, &name);
}

/* ---- after an interruption ------------------------------------------------------------ */

struct names_restoring {
	int folder;
	const char *other; /* quarantine name of the folder */
	const char *path; /* of the folder in its record */
};

/* Gives the name of a record back if it has its private form. */
static int restore_name(void *context, const struct record *record, const char *line)
{
	const struct names_restoring *restoring = context;
	const char *below = path_below(record->path, restoring->path);
	char other[OTHER_NAME_SIZE];
	struct place place;
	struct stat status;
	int r;

	(void)line;
	if (!below || !*below || record->type == S_IFDIR)
		return 0;
	r = place_open_below(&place, restoring->folder, below, false);
	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? 0 : r;
	folder_private_name(other, place.name, restoring->other);
	if (fstatat(place.directory, other, &status, AT_SYMLINK_NOFOLLOW) == 0)
		r = restore(&place, other, 0);
	place_close(&place);
	return r;
}

int folder_restore_names(const struct place *place, const struct intent *intent,
			 const struct record *record, struct act_log *log)
{
	AUTO_CLOSE int folder =
		open_beneath_for_reading(place->directory, intent->other, O_DIRECTORY, false);
	struct names_restoring restoring = {folder, intent->other, record->path};
	struct act_log_pass pass = {.record = restore_name,
				    .context = &restoring,
				    .act = record->act};

	return folder < 0 ? folder : act_log_reread(log, &pass);
}

/* Removes a file, unless it is possibly the kept one. If a program opened one of the files in the
 * last moment, or the kept one lost its name, writes the file again. */
static int remove_and_check(void *context, struct folder_pair *pair, const struct folder_name *name,
			    const char *other, struct folder_files *files)
{
	const struct place kept = {.directory = name->kept, .name = name->name};
	const struct place copy = {.directory = name->copy, .name = name->name};
	int r;

	(void)context;
	if (held_is_itself(&files->kept, &files->copy))
		return restore(&copy, other, folder_refuse(pair, name->name, ACT_KEPT_ITSELF));
	if (unlinkat(name->copy, other, 0) < 0)
		return -errno;
	if (held_is_unbroken(&files->kept) && held_is_unbroken(&files->copy) &&
	    place_leads_to(&kept, name->name, &files->kept.status))
		return 0;
	held_wait_for_writer(&files->copy);
	r = file_copy_save(files->copy.fd, name->copy, other);
	if (r == 0)
		r = restore(&copy, other, 0);
	return r < 0 ? folder_fail(pair, name->name, r) : folder_refuse(pair, name->name, ACT_BUSY);
}

/* Opens the kept folder of a record. Returns a descriptor, or -errno if it is not at its path. */
static int open_kept(const struct record *record)
{
	const struct root_identity any = {0};
	const char *path = record->kept && record->kept_source
				   ? path_below(record->kept, record->kept_source)
				   : NULL;
	AUTO_CLOSE int root = path ? place_open_root(record->kept_source, &any) : -ENOENT;
	struct statx status;
	int fd;

	if (root < 0)
		return root;
	fd = open_beneath_for_reading(root, path, O_DIRECTORY, true);
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) == 0 &&
	    status.stx_ino == record->kept_inode &&
	    (!record->kept_born_ns || record->kept_born_ns == place_born_ns(&status)))
		return fd;
	close(fd);
	return -ESTALE;
}

int folder_complete(const struct place *place, const struct intent *intent,
		    const struct record *record, struct act_result *result)
{
	AUTO_CLOSE int kept = open_kept(record);
	AUTO_CLOSE int copy =
		open_beneath_for_reading(place->directory, intent->other, O_DIRECTORY, false);
	CLEANUP_FOLDER_PAIR
	struct folder_pair pair = {.kept = kept, .copy = copy, .result = result};
	CLEANUP_FOLDER_CHECK
	struct folder_check check = {.depth = FOLDER_COMPARE, .without_leases = true};
	struct folder_emptying emptying = {.check = &check,
					   .other = intent->other,
					   .remove_file = remove_and_check};
	int r;

	if (kept < 0)
		return FOLDER_KEPT_ABSENT;
	if (copy < 0)
		return copy;
	r = folder_check_run(&check, &pair);
	if (r == 0 && syncfs(kept) < 0)
		r = -errno;
	check.depth = FOLDER_RECHECK;
	if (r == 0)
		r = folder_empty(&emptying, &pair, place);
	result->inside = NULL; /* the pair has the text */
	return r;
}
