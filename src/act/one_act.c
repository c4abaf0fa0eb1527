/* SPDX-License-Identifier: MIT */

/* Steps that the kinds of acts share: checks before and after the quarantine, and the removal of
 * the quarantine name. If the last name of a copy was removed but its bytes are needed, the copy is
 * rescued:
 *
 *	removal -> is_valid() is false -> save() in a child process -> place_restore()
 *	                                       |
 *	                                       '- cannot write: rescue folder, noted in the journal
 */
#include "act/one_act.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/extents.h"
#include "base/filesystem.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/path.h"
#include "index/emptied_place.h"
#include "index/managed.h"
#include "index/store/index_files.h"

/* ---- outcomes ------------------------------------------------------------------------- */

static const char *const texts[] = {
	[ACT_DONE] = "done",
	[ACT_NEEDLESS] = "already shares its bytes with the kept file",
	[ACT_MISSING] = "is no longer at its path",
	[ACT_CHANGED] = "was replaced by another file",
	[ACT_DIFFERS] = "is no longer equal to the kept file",
	[ACT_BUSY] = "is open for writing or was written to",
	[ACT_KEPT_MISSING] = "the kept file is no longer at its path",
	[ACT_KEPT_CHANGED] = "the kept file was replaced by another file",
	[ACT_NOT_INDEXED] = "is no longer at its path, or the options of the scan leave it out",
	[ACT_KEPT_NOT_INDEXED] = ("the kept file is no longer at its path, or the options "
				  "of the scan leave it out"),
	[ACT_KEPT_TRASHED] = "the kept file is in the trash",
	[ACT_KEPT_IN_SNAPSHOT] = "the kept file is in a snapshot, which a schedule can delete",
	[ACT_KEPT_IN_CACHE] = "the kept file is in a cache, which its program can empty",
	[ACT_KEPT_IN_MEMORY] = ("the kept file is in memory, and is lost when the machine stops or "
				"the file system is unmounted"),
	[ACT_OTHER_CONTENT] = "its SHA-256 is no longer that of the plan",
	[ACT_NOT_ATTESTED] = "too few hosts attested lately that they keep its content",
	[ACT_PROMISED] = ("this host attested lately that it keeps the content, so that other "
			  "hosts possibly rely on it"),
	[ACT_OTHER_HOST] = ("it is on a network or FUSE file system, and can be the file of a host "
			    "that keeps the content"),
	[ACT_ATTESTED_ITSELF] =
		("it can be the file that another host attested: both have one inode number and "
		 "time of birth, as on a disk that two hosts share"),
	[ACT_KEPT_BUSY] = "the kept file is open for writing or was written to",
	[ACT_KEPT_ITSELF] = ("the kept file changed together with it: both may be one file that an "
			     "overlay or a stacked file system shows twice"),
	[ACT_NO_LEASE] =
		("writes to it cannot be detected: it belongs to another user, or its file "
		 "system has no leases; use --without-leases to act anyway"),
	[ACT_IMMUTABLE] = ("it or its folder is immutable or append-only, or the folder is another "
			   "user's sticky folder; see chattr(1) and chmod(1)"),
	[ACT_OTHER_FILE_SYSTEM] = "is on another file system than the kept file",
	[ACT_CANNOT_SHARE] = ("its file system cannot share blocks between files; btrfs, XFS and "
			      "bcachefs can"),
	[ACT_OTHER_METADATA] =
		("its owner, mode or extended attributes differ from those of the kept "
		 "file; use --force-metadata to link it anyway"),
	[ACT_OTHER_REACH] =
		("some users who can reach it possibly have no access to a folder of the "
		 "kept file; use --force-metadata to link it anyway"),
	[ACT_EXISTS] = "its path in the destination folder exists already",
	[ACT_LOWER_LINK] =
		("it or the kept file has other hard links in a lower layer of its overlay and "
		 "would become a separate file; change it in that layer"),
	[ACT_OWN] = ("it, the kept file, or a file in it belongs to twinfs: to an index, to "
		     "promises, or "
		     "to an act that runs or was interrupted; see 'twinfs recover'"),
	[ACT_MANAGED] = ("a program manages it together with other files, such as those of a "
			 "database; remove or move the whole folder instead"),
	[ACT_KEPT_MANAGED] = ("the kept file is in a store, such as a database, whose program can "
			      "change or delete it"),
	[ACT_WRITTEN_IN_PLACE] =
		("a program writes it or the kept file in place, and a link would change both"),
	[ACT_NO_LINKS] = ("on its file system this needs hard links that have the inode number of "
			  "their file, and it has none"),
	[ACT_NO_TRASH] = ("no trash folder exists on its file system and none can be created; "
			  "remove it without --trash, or move it"),
	[ACT_FAILED] = "failed",
	[ACT_LEFTOVER] = "its name could not be restored",
	[ACT_NOT_IN_KEPT] = "is not in the kept folder",
	[ACT_OTHER_TYPE] = "has another type in the kept folder",
	[ACT_MOUNT_INSIDE] = "is a mount point; unmount it first",
	[ACT_SUBVOLUME] = "is a subvolume, which undo cannot make again; remove it yourself",
	[ACT_SAME_FOLDER] = "the kept folder is the same folder, reached by another path",
	[ACT_NESTED] = "one of the folders contains the other",
	[ACT_HAS_SOURCE] = "is a source or the index of twinfs, or contains one",
	[ACT_ACROSS] = ("the destination is on another file system, and a folder is moved "
			"by a rename; choose a destination on its file system"),
	[ACT_IN_USE] = ("shows that a program uses the database; stop the program, or remove this "
			"file if none runs"),
};

const char *act_outcome_text(enum act_outcome outcome)
{
	return texts[outcome];
}

enum act_outcome act_place_refusal(enum emptied_place kept)
{
	static const enum act_outcome refusals[EMPTIED_PLACES] = {
		[PLACE_SNAPSHOT] = ACT_KEPT_IN_SNAPSHOT,
		[PLACE_CACHE] = ACT_KEPT_IN_CACHE,
		[PLACE_TRASH] = ACT_KEPT_TRASHED,
		[PLACE_MEMORY] = ACT_KEPT_IN_MEMORY,
	};

	return refusals[kept];
}

/* ---- the two files ------------------------------------------------------------------- */

/* Returns whether a file belongs to twinfs, or has the private name of another act. An index can
 * know such a file: it was made by an earlier version, or the file is newer. */
static bool is_own(const struct sources *sources, const struct place *place, const char *path)
{
	struct attributes attributes;

	return own_is_private_path(path) ||
	       own_has_directory(&sources->own, sources->catalog, place->directory) ||
	       (source_attributes_at(sources->catalog, place->directory, place->name, 0,
				     &attributes) >= 0 &&
		own_has(&sources->own, &attributes));
}

int subject_open(struct subject *subject, const struct act_settings *settings, bool kept,
		 struct act_result *result)
{
	const struct act_file *file = subject->file;
	int r = place_open(&subject->place, settings->sources, file->source, file->path);

	subject->held.fd = -1;
	if (r == 0 && is_own(settings->sources, &subject->place, file->path)) {
		place_close(&subject->place);
		result->outcome = ACT_OWN;
		return 1;
	}
	if (r == 0)
		r = held_open(&subject->held, &subject->place, settings->sources, file->attributes,
			      settings->without_leases);
	if (r == 0)
		return 0;
	place_close(&subject->place);
	result->outcome = held_outcome(r, kept);
	result->error = r < 0 ? -r : 0;
	return 1;
}

void subject_close(struct subject *subject)
{
	held_close(&subject->held);
	place_close(&subject->place);
}

bool keeper_has(const struct keeper *keeper, const struct act_file *file)
{
	return keeper->is_open && keeper->file.source == file->source &&
	       strcmp(keeper->file.path, file->path) == 0 &&
	       held_is_unbroken(&keeper->subject.held);
}

bool keeper_open(struct keeper *keeper, const struct act_settings *settings,
		 const struct act_file *file, struct act_result *result)
{
	keeper_close(keeper);
	keeper->path.length = 0;
	keeper->attributes = *file->attributes;
	if (bytes_append_text(&keeper->path, file->path) < 0 || !bytes_text(&keeper->path)) {
		*result = (struct act_result){.outcome = ACT_FAILED, .error = ENOMEM};
		return false;
	}
	keeper->file = (struct act_file){file->source, bytes_text(&keeper->path),
					 &keeper->attributes, file->hash};
	keeper->subject = (struct subject){.file = &keeper->file};
	keeper->is_open = subject_open(&keeper->subject, settings, true, result) == 0;
	return keeper->is_open;
}

void keeper_close(struct keeper *keeper)
{
	if (keeper->is_open)
		subject_close(&keeper->subject);
	keeper->is_open = false;
}

void keeper_deinit(struct keeper *keeper)
{
	keeper_close(keeper);
	bytes_free(&keeper->path);
}

static bool is_of_other_host(const struct one_act *act)
{
	return !act->kept && !filesystem_is_of_this_host(act->copy.held.fd);
}

static bool is_link_in_lower_layer(const struct held *held)
{
	return held->status.st_nlink > 1 && layer_of(held->fd) == LAYER_LOWER &&
	       !layer_is_copied_up(held->fd);
}

/* Returns whether a rename of the copy, or a link to the kept file, would copy that file to the
 * upper layer of an overlay. The new file would not have the other names of the file, and this
 * could not be undone. */
static bool is_lower_link(const struct one_act *act)
{
	return act->settings->kind != ACT_DEDUPE &&
	       (is_link_in_lower_layer(&act->copy.held) ||
		(act->settings->kind == ACT_LINK && is_link_in_lower_layer(&act->kept->held)));
}

/* ---- what surrounds the files -------------------------------------------------------- */

/* Most folders remain what they are between two files of them. */
#define SURROUNDINGS_NS UINT64_C(1000000000)

void surroundings_deinit(struct surroundings *surroundings)
{
	bytes_free(&surroundings->folder);
	*surroundings = (struct surroundings){.in_store = false};
}

/* Sets *surroundings to those of a file or folder, unless they are already. */
static void look_around(const struct one_act *act, const struct subject *subject,
			struct surroundings *surroundings)
{
	const struct act_file *file = subject->file;
	bool is_folder = S_ISDIR(subject->held.status.st_mode);
	const char *relative = strcmp(file->path, FOLDER_ROOT) == 0 ? "" : file->path;
	uint64_t now_ns = clock_monotonic_ns();
	CLEANUP_BYTES struct bytes path = {0};
	const char *text;
	size_t length;

	if (source_absolute_path(act->settings->sources, file->source, relative, &path) < 0 ||
	    bytes_append_text(&path, is_folder ? "/" : "") < 0 || !bytes_text(&path)) {
		surroundings_deinit(surroundings);
		return;
	}
	text = bytes_text(&path);
	length = (size_t)(path_base_name(text) - text);
	if (surroundings->folder.length == length && length > 0 &&
	    memcmp(surroundings->folder.data, text, length) == 0 &&
	    now_ns - surroundings->found_ns < SURROUNDINGS_NS)
		return;
	surroundings->found_ns = now_ns;
	surroundings->folder.length = 0;
	if (bytes_append(&surroundings->folder, text, length) < 0)
		surroundings->folder.length = 0;
	surroundings->place = emptied_place_at(subject->held.fd, text);
	if (is_folder) /* what is in a store itself, as a whole, is no file of it */
		path.data[path.length - 1] = '\0';
	surroundings->in_store = managed_find_above(text);
}

static enum act_outcome judge(const struct surroundings around[2])
{
	const struct surroundings *kept = &around[0], *copy = &around[1];

	if (copy->in_store)
		return ACT_MANAGED;
	if (kept->in_store)
		return ACT_KEPT_MANAGED;
	return place_spares(kept->place, copy->place) ? act_place_refusal(kept->place) : ACT_DONE;
}

enum act_outcome one_act_examine_folders(const struct one_act *act, const struct subject *kept)
{
	struct surroundings around[2] = {{.in_store = false}};
	enum act_outcome outcome;

	look_around(act, kept, &around[0]);
	look_around(act, &act->copy, &around[1]);
	outcome = judge(around);
	surroundings_deinit(&around[0]);
	surroundings_deinit(&around[1]);
	return outcome;
}

/* Finds out whether a program writes the file in place, or manages it with files beside it. */
static struct managed_file examine_file(const struct subject *subject, bool links)
{
	const struct place *place = &subject->place;

	if (!managed_name_is_possible(place->name) &&
	    !managed_size_is_possible((uint64_t)subject->held.status.st_size, links))
		return (struct managed_file){.kind = NULL};
	return managed_file_find(place->directory, place->name);
}

enum act_outcome one_act_examine(struct one_act *act)
{
	struct surroundings *around = act->session->around;
	bool links = act->settings->kind == ACT_LINK || act->settings->kind == ACT_SYMLINK;
	struct managed_file file;

	if (is_of_other_host(act))
		return ACT_OTHER_HOST;
	if (is_lower_link(act))
		return ACT_LOWER_LINK;
	if (act->settings->kind == ACT_DEDUPE)
		return ACT_DONE;
	file = examine_file(&act->copy, links);
	if (file.in_set)
		return ACT_MANAGED;
	if (file.kind && links)
		return ACT_WRITTEN_IN_PLACE;
	if (act->kept && examine_file(act->kept, false).in_set)
		return ACT_KEPT_MANAGED;
	look_around(act, &act->copy, &around[1]);
	if (act->kept)
		look_around(act, act->kept, &around[0]);
	else
		surroundings_deinit(&around[0]);
	return judge(around);
}

/* ---- checks during an act ------------------------------------------------------------ */

bool one_act_refuse(struct one_act *act, enum act_outcome outcome)
{
	act->result->outcome = outcome;
	return false;
}

bool one_act_fail(struct one_act *act, int error)
{
	act->result->error = -error;
	if ((error == -EPERM || error == -EACCES) && place_is_immutable(&act->copy.place))
		return one_act_refuse(act, ACT_IMMUTABLE);
	return one_act_refuse(act, ACT_FAILED);
}

int one_act_amend(struct one_act *act, const struct intent *intent, const struct record *record)
{
	CLEANUP_BYTES struct bytes line = {0};
	struct intent amended = *intent;
	int r = record_encode(&line, record);

	amended.record = r == 0 ? bytes_text(&line) : NULL;
	return amended.record ? journal_amend(act->session->journal, &amended) : -ENOMEM;
}

int one_act_note_end(const struct one_act *act)
{
	const struct act_result *result = act->result;
	struct journal *journal = act->session->journal;
	uint64_t number = act->entry->intent.number;

	if (act->is_saved_elsewhere || result->outcome == ACT_FAILED ||
	    (result->outcome == ACT_LEFTOVER && strcmp(result->leftover, act->other) == 0))
		return 0;
	return result->outcome == ACT_DONE ? journal_note_did(journal, number)
					   : journal_note_done(journal, number);
}

/* Returns whether the folder of a file is still at its path. */
static bool is_in_its_folder(const struct one_act *act, const struct subject *subject)
{
	const struct act_file *file = subject->file;

	return place_is_at(&subject->place, act->settings->sources, file->source, file->path);
}

/* Returns whether the kept file is as it must be. If not, fills in the outcome. */
static bool kept_still_holds(struct one_act *act)
{
	const struct subject *kept = act->kept;

	if (!kept)
		return true;
	if (held_is_itself(&kept->held, &act->copy.held))
		return one_act_refuse(act, ACT_KEPT_ITSELF);
	if (!place_leads_to(&kept->place, kept->place.name, &kept->held.status) ||
	    !is_in_its_folder(act, kept))
		return one_act_refuse(act, ACT_KEPT_MISSING);
	return held_is_unbroken(&kept->held) || one_act_refuse(act, ACT_KEPT_BUSY);
}

bool one_act_still_holds(struct one_act *act)
{
	if (!kept_still_holds(act))
		return false;
	return held_is_unbroken(&act->copy.held) || one_act_refuse(act, ACT_BUSY);
}

/* Reads the files. Returns 1 if the copy has the bytes that it must have, 0 if not, or -errno. */
static int has_right_bytes(const struct one_act *act)
{
	return act->kept ? held_same_bytes(&act->kept->held, &act->copy.held)
			 : held_same_sha256(&act->copy.held, act->entry->attested.sha256);
}

bool one_act_verify(struct one_act *act)
{
	const struct held *copy = &act->copy.held;
	int r;

	if (act->kept && is_same_inode(&act->kept->held.status, &copy->status))
		return one_act_refuse(act, ACT_NEEDLESS);
	r = has_right_bytes(act);
	if (r == -EBUSY && !one_act_still_holds(act))
		return false;
	if (r < 0)
		return one_act_fail(act, r);
	if (r == 0)
		return one_act_refuse(act, act->kept ? ACT_DIFFERS : ACT_OTHER_CONTENT);
	act->verified_ns = clock_monotonic_ns();
	return one_act_still_holds(act);
}

/* Syncs the kept file once more, for an act without leases. A program or another host could write
 * to the file after its last sync, even the same bytes. */
static bool sync_kept(struct one_act *act)
{
	return !act->kept || fsync(act->kept->held.fd) == 0 || one_act_fail(act, -errno);
}

bool one_act_is_still_verified(struct one_act *act)
{
	const struct held *copy = &act->copy.held;

	if (!place_leads_to(&act->copy.place, act->other, &copy->status))
		return one_act_refuse(act, ACT_CHANGED);
	if (!is_in_its_folder(act, &act->copy))
		return one_act_refuse(act, ACT_MISSING);
	if (!copy->leased || (act->kept && !act->kept->held.leased))
		return one_act_verify(act) && sync_kept(act);
	return one_act_still_holds(act);
}

bool one_act_name_can_go(struct one_act *act)
{
	const struct place *place = &act->copy.place;

	if (place_is_immutable(place))
		return one_act_refuse(act, ACT_IMMUTABLE);
	if (access_effective(place->directory, ".", W_OK | X_OK) < 0)
		return one_act_fail(act, -errno);
	/* a sticky folder */
	return !place_has_permanent_names(place, act->copy.held.status.st_uid) ||
	       one_act_fail(act, -EPERM);
}

/* ---- restoring a copy ---------------------------------------------------------------- */

void one_act_note_undone(struct one_act *act, int result)
{
	if (result == 0 && act->leftover->length == 0)
		return;
	act->result->outcome = ACT_LEFTOVER;
	act->result->leftover = result < 0 ? act->other : bytes_text(act->leftover);
}

void one_act_put_back(struct one_act *act)
{
	one_act_note_undone(act, place_restore(&act->copy.place, act->other, act->leftover));
}

static enum place_next what_follows(const struct one_act *act)
{
	switch (act->settings->kind) {
	case ACT_TRASH:
		return PLACE_MOVES_AS_INODE;
	case ACT_MOVE:
		return can_rename_between(act->session->destination, act->copy.place.directory)
			       ? PLACE_MOVES
			       : PLACE_STAYS;
	case ACT_REMOVE:
	case ACT_LINK:
	case ACT_SYMLINK:
	case ACT_DEDUPE:
		break;
	}
	return PLACE_STAYS;
}

bool one_act_hide(struct one_act *act)
{
	const struct place *place = &act->copy.place;
	int r = place_hide(place, act->other, what_follows(act));

	if (r == -ENOENT || r == -EOPNOTSUPP)
		return one_act_refuse(act, r == -ENOENT ? ACT_MISSING : ACT_NO_LINKS);
	return r == 0 || one_act_fail(act, r);
}

bool one_act_quarantine(struct one_act *act)
{
	if (!one_act_hide(act))
		return false;
	if (one_act_is_still_verified(act))
		return true;
	one_act_put_back(act);
	return false;
}

/* Result of save(), and exit status of the child process that runs it. No errno has this number. */
enum {
	SAVED_ELSEWHERE = 255,
};

/* Rescue folders, in the order of use. If the bytes of a copy cannot be written to its own
 * directory, they are written to one of these. /dev/shm is in memory, but it usually suffices:
 * act_end() restores the copy, after the removed file has freed its space. */
static const char *const rescue_folders[] = {NULL /* the index */, "/var/tmp", "/dev/shm"};

/* Opens a private folder in a rescue folder. Sets path to the path of a new file in the private
 * folder. The index folder itself is private. */
static int open_rescue(const struct one_act *act, const char *rescue, struct bytes *path, int *fd)
{
	int r;

	path->length = 0;
	if (!rescue) {
		r = bytes_format(path, "%s/%s", act->settings->folder, act->other);
		return r < 0 ? r : index_folder_open(act->settings->folder, fd);
	}
	r = bytes_format(path, "%s/%s", rescue, act->other);
	if (r < 0 || !bytes_text(path))
		return -ENOMEM;
	if (mkdir(bytes_text(path), 0700) < 0)
		return -errno;
	*fd = open(bytes_text(path), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *fd < 0 ? -errno : bytes_format(path, "/%s", act->other);
}

/* Removes the private folder that open_rescue() made, if it is empty. */
static void drop_rescue(const struct one_act *act, const char *rescue)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (rescue && bytes_format(&path, "%s/%s", rescue, act->other) == 0 && bytes_text(&path))
		(void)rmdir(bytes_text(&path));
}

/* Saves the bytes in a rescue folder and syncs them. Before that, tries to write the path of the
 * bytes to the journal and to sync it. Returns SAVED_ELSEWHERE or -errno.
 *
 * cause	-errno of the write to the copy's own directory
 */
static int save_to(struct one_act *act, const char *rescue, int cause)
{
	CLEANUP_BYTES struct bytes path = {0}, original = {0}, mount = {0};
	struct intent intent = act->entry->intent;
	AUTO_CLOSE int folder = -1;
	int r = open_rescue(act, rescue, &path, &folder), noted;

	intent.saved = bytes_text(&path);
	if (r < 0 || !intent.saved)
		return r < 0 ? r : -ENOMEM;
	if (place_find_mount(folder, &mount, &intent.saved_mount.root) == 0)
		intent.saved_mount.path = bytes_text(&mount);
	noted = one_act_amend(act, &intent, &act->entry->record);
	if (noted == 0)
		noted = journal_sync(act->session->journal);
	r = file_copy_save(act->copy.held.fd, folder, act->other);
	if (r == 0)
		r = sync_directory(folder);
	if (r < 0) {
		drop_rescue(act, rescue);
		return r;
	}
	if (bytes_format(&original, "%s/%s", intent.source, intent.path) == 0 &&
	    bytes_text(&original))
		log_error("cannot write %s back: %s; saved the bytes in %s; %s",
			  quote_path(bytes_text(&original)), error_text(cause),
			  quote_path(intent.saved),
			  noted < 0 ? "copy them back"
				    : "free some space or check the disk, then run 'twinfs "
				      "recover'");
	return SAVED_ELSEWHERE;
}

/* Writes all bytes of the copy, which has no name left, to a new file with the quarantine name. If
 * this write fails, writes the bytes to a rescue folder. Returns 0, SAVED_ELSEWHERE or -errno. */
static int save(struct one_act *act)
{
	int r;

	held_wait_for_writer(&act->copy.held);
	r = file_copy_save(act->copy.held.fd, act->copy.place.directory, act->other);
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(rescue_folders); i++) {
		int elsewhere = save_to(act, rescue_folders[i], r);

		r = elsewhere > 0 ? elsewhere : r;
	}
	return r;
}

/* Saves the copy in a child process, which continues if this process is killed. Until the new file
 * exists, only an open descriptor has the bytes. The child inherits the lock of the journal, so
 * 'recover' cannot run before it ends. */
static int save_in_child(struct one_act *act)
{
	pid_t child = fork();
	int status, r;

	if (child == 0) {
		(void)setsid(); /* signals to the process group do not reach the child */
		r = save(act);
		_exit(r < 0 ? -r : r);
	}
	if (child < 0)
		return save(act);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	if (!WIFEXITED(status))
		return -EINTR;
	r = WEXITSTATUS(status);
	return r == SAVED_ELSEWHERE ? r : -r;
}

/* Restores a copy that has no name left, with all its bytes. */
static void restore_copy(struct one_act *act)
{
	int r = save_in_child(act);

	act->is_saved_elsewhere = r == SAVED_ELSEWHERE;
	if (r < 0)
		(void)one_act_fail(act, r);
	else if (r == 0)
		one_act_put_back(act);
}

void one_act_note_freed(struct one_act *act, uint64_t bytes, enum layer layer)
{
	act->result->freed_is_unknown = layer == LAYER_LOWER || layer == LAYER_UNKNOWN;
	act->result->freed_bytes = act->result->freed_is_unknown ? 0 : bytes;
}

/* Returns how many names a file has after one of them was removed. FUSE servers and NFS clients
 * give an open file whose last name is removed another one (.fuse_hidden..., .nfs...), which goes
 * when the file is closed. Such a name does not count.
 *
 * before	number of names before the removal
 */
static nlink_t count_names_left(int fd, nlink_t before)
{
	struct stat now;

	if (fstat(fd, &now) < 0 || (now.st_nlink >= before && is_remote_filesystem(fd)))
		return before - 1;
	return now.st_nlink;
}

int one_act_remove_other(struct one_act *act, bool (*is_valid)(struct one_act *act))
{
	struct held *held = &act->copy.held;
	uint64_t own_bytes = extents_own_bytes(held->fd);
	enum layer layer = layer_of(held->fd);
	struct stat before;

	if (fstat(held->fd, &before) < 0 || unlinkat(act->copy.place.directory, act->other, 0) < 0)
		return -errno;
	act->result->outcome = ACT_DONE;
	held->status.st_nlink = count_names_left(held->fd, before.st_nlink);
	if (held->status.st_nlink > 0)
		return 0;
	if (is_valid(act)) {
		act->result->outcome = ACT_DONE;
		one_act_note_freed(act, own_bytes, layer);
		return 0;
	}
	if (act->result->outcome == ACT_DONE)
		act->result->outcome = ACT_BUSY;
	restore_copy(act);
	return 0;
}
