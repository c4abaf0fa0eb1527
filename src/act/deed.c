/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/extents.h"
#include "act/file_copy.h"
#include "act/internal.h"
#include "act/layer.h"
#include "act/undo.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/quote.h"
#include "store/index_files.h"

/* ---- the two files ------------------------------------------------------------------- */

static enum act_outcome outcome_of(int result, bool kept)
{
	if (result == HELD_BUSY)
		return kept ? ACT_KEPT_BUSY : ACT_BUSY;
	if (result == HELD_CHANGED)
		return kept ? ACT_KEPT_CHANGED : ACT_CHANGED;
	if (result == HELD_NO_LEASE)
		return ACT_NO_LEASE;
	if (result == -ENOENT || result == -ENOTDIR || result == -ENODEV || result == -ELOOP)
		return kept ? ACT_KEPT_GONE : ACT_GONE;
	return ACT_FAILED;
}

int subject_open(struct subject *subject, const struct act_settings *settings, bool kept,
		 struct act_result *result)
{
	const struct act_file *file = subject->file;
	int r = place_open(&subject->place, settings->sources, file->source, file->path);

	subject->held.fd = -1;
	if (r == 0)
		r = held_open(&subject->held, &subject->place, settings->sources, file->attributes,
			      settings->without_leases);
	if (r == 0)
		return 0;
	place_close(&subject->place);
	result->outcome = outcome_of(r, kept);
	result->error = r < 0 ? -r : 0;
	return 1;
}

void subject_close(struct subject *subject)
{
	held_close(&subject->held);
	place_close(&subject->place);
}

/* ---- what holds while something is done ---------------------------------------------- */

bool deed_refuse(struct deed *deed, enum act_outcome outcome)
{
	deed->result->outcome = outcome;
	return false;
}

void deed_fail(struct deed *deed, int error)
{
	deed->result->outcome = ACT_FAILED;
	deed->result->error = -error;
	if ((error == -EPERM || error == -EACCES) && place_is_immutable(&deed->copy.place))
		deed->result->outcome = ACT_IMMUTABLE;
}

/* On two file systems, is it one file all the same, which an overlay, or a file system in a
 * program, shows a second time? Then the times of the kept file move with the copy's name. What is
 * asked is the file system below, whatever is remembered above it. */
static bool is_kept_itself(const struct deed *deed)
{
	const struct stat *before = &deed->kept->held.status;
	struct statx now;

	if (before->st_dev == deed->copy.held.status.st_dev)
		return false;
	return statx(deed->kept->held.fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_CTIME,
		     &now) < 0 ||
	       now.stx_ctime.tv_sec != before->st_ctim.tv_sec ||
	       now.stx_ctime.tv_nsec != before->st_ctim.tv_nsec;
}

/* Is its folder where it was found? */
static bool is_in_its_folder(const struct deed *deed, const struct subject *subject)
{
	const struct act_file *file = subject->file;

	return place_is_at(&subject->place, deed->settings->sources, file->source, file->path);
}

bool deed_still_holds(struct deed *deed)
{
	const struct subject *kept = deed->kept;

	if (is_kept_itself(deed))
		return deed_refuse(deed, ACT_KEPT_ITSELF);
	if (!place_leads_to(&kept->place, kept->place.name, &kept->held.status) ||
	    !is_in_its_folder(deed, kept))
		return deed_refuse(deed, ACT_KEPT_GONE);
	if (!held_is_unbroken(&kept->held))
		return deed_refuse(deed, ACT_KEPT_BUSY);
	if (!held_is_unbroken(&deed->copy.held))
		return deed_refuse(deed, ACT_BUSY);
	return true;
}

bool deed_verify(struct deed *deed)
{
	const struct held *kept = &deed->kept->held, *copy = &deed->copy.held;
	int r;

	if (is_same_inode(&kept->status, &copy->status))
		return deed_refuse(deed, ACT_NEEDLESS);
	r = held_same_bytes(kept, copy);
	if (r == -EBUSY && !deed_still_holds(deed))
		return false;
	if (r < 0) {
		deed_fail(deed, r);
		return false;
	}
	if (r == 0)
		return deed_refuse(deed, ACT_DIFFERS);
	deed->verified_ns = clock_monotonic_ns();
	return deed_still_holds(deed);
}

/* Without a lease the kept file may have been written since it was synced, to another host or with
 * the same bytes. */
static bool write_kept(struct deed *deed)
{
	if (fsync(deed->kept->held.fd) == 0)
		return true;
	deed_fail(deed, -errno);
	return false;
}

bool deed_is_still_verified(struct deed *deed)
{
	const struct held *copy = &deed->copy.held;

	if (!place_leads_to(&deed->copy.place, deed->other, &copy->status))
		return deed_refuse(deed, ACT_CHANGED);
	if (!is_in_its_folder(deed, &deed->copy))
		return deed_refuse(deed, ACT_GONE);
	if (!copy->leased || !deed->kept->held.leased)
		return deed_verify(deed) && write_kept(deed);
	return deed_still_holds(deed);
}

/* ---- bringing back ------------------------------------------------------------------- */

void deed_note_undone(struct deed *deed, int result)
{
	if (result == 0 && deed->stray->length == 0)
		return;
	deed->result->outcome = ACT_STRAY;
	deed->result->stray = result < 0 ? deed->other : bytes_text(deed->stray);
}

void deed_put_back(struct deed *deed)
{
	deed_note_undone(deed, undo_rename(&deed->copy.place, deed->other, deed->stray));
}

/* Outcome of saving, and the exit status of the process that does: no errno has this number. */
enum {
	SAVED_ELSEWHERE = 255,
};

/* Where the bytes of a copy are saved that have no room on its own file system, in turn. In memory
 * they last until the act ends: it puts them back then, as the old file has freed its room. */
static const char *const refuges[] = {NULL /* the index */, "/var/tmp", "/dev/shm"};

/* Opens a folder that other users cannot enter. Sets path to that of the file to be made in it. */
static int open_refuge(const struct deed *deed, const char *refuge, struct bytes *path, int *fd)
{
	int r;

	path->length = 0;
	if (!refuge) {
		r = bytes_format(path, "%s/%s", deed->settings->folder, deed->other);
		return r < 0 ? r : index_folder_open(deed->settings->folder, fd);
	}
	r = bytes_format(path, "%s/%s", refuge, deed->other);
	if (r < 0 || !bytes_text(path))
		return -ENOMEM;
	if (mkdir(bytes_text(path), 0700) < 0)
		return -errno;
	*fd = open(bytes_text(path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : bytes_format(path, "/%s", deed->other);
}

/* The journal names the place before there is something, both durably. */
static int save_to(struct deed *deed, const char *refuge)
{
	struct bytes path CLEANUP_BYTES = {0}, original CLEANUP_BYTES = {0};
	struct intent intent = *deed->intent;
	AUTO_CLOSE int folder = -1;
	int r = open_refuge(deed, refuge, &path, &folder), noted;

	intent.saved = bytes_text(&path);
	if (r < 0 || !intent.saved)
		return r < 0 ? r : -ENOMEM;
	noted = journal_amend(deed->journal, &intent);
	if (noted == 0)
		noted = journal_sync(deed->journal);
	r = file_copy_save(deed->copy.held.fd, folder, deed->other);
	if (r == 0)
		r = sync_directory(folder);
	if (r < 0)
		return r;
	if (bytes_format(&original, "%s/%s", intent.source, intent.path) == 0 &&
	    bytes_text(&original))
		log_error(
			"cannot write %s again, though its kept file went: its bytes are saved in "
			"%s; %s",
			quote_path(bytes_text(&original)), quote_path(intent.saved),
			noted < 0 ? "copy them back"
				  : "make room, then 'twinfs recover' puts them back");
	return SAVED_ELSEWHERE;
}

/* Writes all bytes of the copy, which has no name any more, to a new file under the other name. If
 * there is no room, to another file system. 0, SAVED_ELSEWHERE or -errno. */
static int save(struct deed *deed)
{
	int r;

	held_wait_for_writer(&deed->copy.held);
	r = file_copy_save(deed->copy.held.fd, deed->copy.place.directory, deed->other);
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(refuges); i++) {
		int elsewhere = save_to(deed, refuges[i]);

		r = elsewhere > 0 ? elsewhere : r;
	}
	return r;
}

/* The same by a process of its own, which goes on when this one is killed: until the new file is
 * there, only an open descriptor has the bytes. That process also holds the lock of the journal, so
 * that 'recover' waits for it. */
static int save_apart(struct deed *deed)
{
	pid_t child = fork();
	int status, r;

	if (child == 0) {
		(void)setsid(); /* what ends the group of this process does not end that one */
		r = save(deed);
		_exit(r < 0 ? -r : r);
	}
	if (child < 0)
		return save(deed);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (!WIFEXITED(status))
		return -EINTR;
	r = WEXITSTATUS(status);
	return r == SAVED_ELSEWHERE ? r : -r;
}

/* Gives the copy a name and all its bytes again. */
static void bring_back(struct deed *deed)
{
	int r = save_apart(deed);

	deed->is_saved_elsewhere = r == SAVED_ELSEWHERE;
	if (r == SAVED_ELSEWHERE)
		deed_fail(deed, -ENOSPC);
	else if (r < 0)
		deed_fail(deed, r);
	else
		deed_put_back(deed);
}

/* What was copied from a lower layer, perhaps by the rename, does not count: it is there still. */
static void note_freed(struct deed *deed, uint64_t bytes, enum layer layer)
{
	deed->result->freed_is_unknown = layer == LAYER_LOWER || layer == LAYER_UNKNOWN;
	deed->result->freed_bytes = deed->result->freed_is_unknown ? 0 : bytes;
}

int deed_remove_other(struct deed *deed, bool (*was_right)(struct deed *deed))
{
	const struct held *held = &deed->copy.held;
	uint64_t own_bytes = extents_own_bytes(held->fd);
	enum layer layer = layer_of(held->fd);
	struct stat now;

	if (unlinkat(deed->copy.place.directory, deed->other, 0) < 0)
		return -errno;
	deed->result->outcome = ACT_DONE;
	if (fstat(held->fd, &now) < 0 || now.st_nlink > 0)
		return 0;
	if (was_right(deed)) {
		deed->result->outcome = ACT_DONE;
		note_freed(deed, own_bytes, layer);
		return 0;
	}
	if (deed->result->outcome == ACT_DONE)
		deed->result->outcome = ACT_BUSY;
	bring_back(deed);
	return 0;
}
