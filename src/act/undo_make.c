/* SPDX-License-Identifier: MIT */
#include "act/undo_make.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "act/file_copy.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/path.h"
#include "index/filesystem.h"

/* ---- places --------------------------------------------------------------------------- */

/* Outcome of find_entry(), which ends the visit. */
enum {
	ENTRY_FOUND = 1,
};

/* What is compared with the record of a file: the directory of its source. */
struct undo_root {
	const struct record *record;
	int fd;
	bool any_filesystem;
};

/* Returns whether a directory is on the mount that the record names. */
static bool is_on_its_mount(const struct record *record, int directory)
{
	CLEANUP_BYTES struct bytes path = {0};
	struct root_identity root;

	return place_find_mount(directory, &path, &root) == 0 && bytes_text(&path) &&
	       strcmp(bytes_text(&path), record->mount.path) == 0 &&
	       root.inode == record->mount.root.inode && root.born_ns == record->mount.root.born_ns;
}

/* Returns whether the source is the same directory as at the time of the act, and no mount is
 * between it and the directory, now and at that time. The source itself can have another mount. */
static bool is_in_its_source(const struct undo_root *root, int directory)
{
	const struct record *record = root->record;
	const char *below = path_below(record->mount.path, record->source);
	const struct root_identity now = place_identify_root(root->fd);
	struct stat one, other;

	return (!below || !*below) && now.born_ns && now.born_ns == record->root.born_ns &&
	       now.inode == record->root.inode && fstat(root->fd, &one) == 0 &&
	       fstat(directory, &other) == 0 && one.st_dev == other.st_dev;
}

/* Returns whether a directory is on the file system of the record. If it is not, the former one is
 * probably not mounted. Of a file system without an identity, the mount is compared. A record
 * without a mount was made where /proc was not mounted. */
static bool is_on_its_filesystem(const struct undo_root *root, int directory)
{
	const struct record *record = root->record;
	uint64_t now = record->filesystem ? filesystem_lasting_identity(directory) : 0;

	if (root->any_filesystem)
		return true;
	if (now && now != record->filesystem)
		return false;
	return !record->mount.path || is_on_its_mount(record, directory) ||
	       is_in_its_source(root, directory);
}

/* Gives a new directory its former owner and mode. ACLs that it inherited would give rights that it
 * did not give. Returns 0, UNDO_PLACE_PRIVATE, or -errno. */
static int restore_access(const struct record *record, int fd)
{
	const struct xattrs none = {0};
	uint64_t refused = 0;
	int r = xattrs_write(&none, fd, &refused);

	if (r < 0 || refused > 0)
		return r < 0 ? r : UNDO_PLACE_PRIVATE;
	if (fchown(fd, record->folder_uid, record->folder_gid) < 0)
		return UNDO_PLACE_PRIVATE;
	return fchmod(fd, record->folder_mode) < 0 ? -errno : 0;
}

/* Gives a new directory of which nothing is known the owner of the directory above. A user without
 * the right to do this keeps it. In a sticky directory, such as /tmp, each user has files. */
static int make_private(int above, int fd)
{
	struct stat status;

	if (fstat(above, &status) < 0)
		return -errno;
	if ((status.st_mode & S_ISVTX) == 0 && fchown(fd, status.st_uid, status.st_gid) < 0)
		return errno == EPERM ? UNDO_PLACE_PRIVATE : -errno;
	return UNDO_PLACE_PRIVATE;
}

/* A directory to make: the path up to length. */
struct folder_making {
	const struct undo_root *root;
	const char *path;
	size_t length;
	const char *name; /* its last component */
	bool is_private; /* set */
};

static void explain_private(const struct folder_making *making)
{
	CLEANUP_BYTES struct bytes path = {0};

	if (bytes_format(&path, "%s/%.*s", making->root->record->source, (int)making->length,
			 making->path) == 0 &&
	    bytes_text(&path))
		log_warning("made the folder %s with the mode 0700: its former owner and mode are "
			    "unknown, or only root can restore them; check who needs access",
			    quote_path(bytes_text(&path)));
}

/* Opens a directory, and makes it if it is missing. The record knows only the directory of the
 * file itself. Returns a descriptor or -errno. */
static int descend(int above, struct folder_making *making)
{
	const struct record *record = making->root->record;
	bool is_last = !strchr(making->path + making->length + 1, '/');
	bool is_new;
	int fd, r;

	if (!is_on_its_filesystem(making->root, above))
		return -ENODEV;
	is_new = mkdirat(above, making->name, 0700) == 0;
	if (!is_new && errno != EEXIST)
		return -errno;
	fd = openat(above, making->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !is_new)
		return fd < 0 ? -errno : fd;
	r = is_last && record->folder_known ? restore_access(record, fd) : make_private(above, fd);
	if (r == UNDO_PLACE_PRIVATE) {
		explain_private(making);
		making->is_private = true;
	}
	if (r >= 0)
		r = sync_directory(above);
	if (r < 0)
		close(fd);
	return r < 0 ? r : fd;
}

/* Opens the longest existing part of a path below a directory. Sets *rest to the remaining
 * components. Returns a descriptor or -errno. */
static int open_existing(const struct undo_root *root, const char *path, const char **rest)
{
	AUTO_FREE char *part = strdup(path);
	int fd = part ? -ENOENT : -ENOMEM;

	for (*rest = path + strlen(path); fd == -ENOENT;) {
		char *slash = strrchr(part, '/');

		*(slash ? slash : part) = '\0';
		*rest = path + strlen(part) + (slash ? 1 : 0);
		fd = open_beneath(root->fd, part, O_PATH | O_DIRECTORY, true);
	}
	return fd;
}

/* Makes the directories of a path that are missing. Returns 0, UNDO_PLACE_PRIVATE or -errno. */
static int make_directories(const struct undo_root *root, const char *path)
{
	struct folder_making making = {.root = root, .path = path};
	const char *rest, *slash;
	int above = open_existing(root, path, &rest);

	for (; above >= 0 && (slash = strchr(rest, '/')); rest = slash + 1) {
		AUTO_FREE char *name = strndup(rest, (size_t)(slash - rest));
		int next;

		making.name = name;
		making.length = (size_t)(slash - path);
		next = name ? descend(above, &making) : -ENOMEM;
		close(above);
		above = next;
	}
	if (above < 0)
		return above;
	close(above);
	return making.is_private ? UNDO_PLACE_PRIVATE : 0;
}

bool undo_place_is_certain(const struct place *place, const struct record *record)
{
	return record->filesystem &&
	       filesystem_lasting_identity(place->directory) == record->filesystem;
}

static int find_entry(void *context, int directory, const struct dirent *entry)
{
	(void)directory;
	(void)entry;
	*(bool *)context = true;
	return ENTRY_FOUND;
}

/* Refuses a source that is empty if neither its file system nor its mount is known: it can be the
 * folder below a mount that is absent. */
static int refuse_unmounted(const struct undo_root *root)
{
	const struct record *record = root->record;
	AUTO_CLOSE int fd = -1;
	bool found = false;
	int r;

	if (root->any_filesystem || record->mount.path ||
	    (record->filesystem && filesystem_lasting_identity(root->fd)))
		return 0;
	fd = openat(root->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = directory_visit(fd, find_entry, &found);
	if (r < 0)
		return r;
	return found ? 0 : -ENODEV;
}

/* Opens the directory of a path below the source, and makes it if it is missing. */
static int open_or_make(struct place *place, const struct undo_root *root, const char *path)
{
	int made = 0;
	int r = place_open_below(place, root->fd, path, true);

	if (r == -ENOENT) {
		made = make_directories(root, path);
		r = made < 0 ? made : place_open_below(place, root->fd, path, true);
	}
	if (r == 0 && !is_on_its_filesystem(root, place->directory)) {
		place_close(place);
		return -ENODEV;
	}
	return r < 0 ? r : made;
}

int undo_place_open(struct place *place, const struct record *record, bool any_filesystem,
		    const char **absent)
{
	const struct root_identity any = {0};
	AUTO_CLOSE int fd = place_open_root(record->source, &any);
	const struct undo_root root = {record, fd, any_filesystem};
	const char *path = path_below(record->path, record->source);
	int r;

	place->directory = -1;
	*absent = record->source;
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? -ENODEV : fd;
	if (!path || !*path)
		return -EPROTO;
	if (record->mount.path)
		*absent = record->mount.path;
	r = refuse_unmounted(&root);
	return r < 0 ? r : open_or_make(place, &root, path);
}

int undo_place_open_path(struct place *place, const char *path)
{
	AUTO_CLOSE int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	*place = (struct place){.directory = -1, .name = ""};
	if (root < 0)
		return -errno;
	return path[0] == '/' && path[1] ? place_open_below(place, root, path + 1, true) : -EINVAL;
}

/* ---- making a file -------------------------------------------------------------------- */

void undo_end(struct bringing *bringing, enum undo_outcome outcome)
{
	bringing->result->outcome = outcome;
}

void undo_fail(struct bringing *bringing, int error)
{
	bringing->result->error = -error;
	undo_end(bringing, error == -EEXIST   ? UNDO_EXISTS
			   : error == -ENODEV ? UNDO_ABSENT
			   : error == -EBUSY  ? UNDO_BUSY
					      : UNDO_FAILED);
}

/* ---- hard links of one copy -------------------------------------------------------------- */

bool undo_is_brought_back(const struct stat *file, const struct record *record)
{
	return (file->st_mode & ALLPERMS) == record->mode &&
	       clock_equal(file->st_mtim, record->mtime);
}

/* Returns what an entry has of the copy of a record. */
static struct brought_back copy_of(const struct record *record)
{
	return (struct brought_back){.inode = record->inode,
				     .born_ns = record->born_ns,
				     .filesystem = record->filesystem,
				     .hash = record->hash,
				     .links = record->links};
}

static bool is_same_copy(const struct brought_back *a, const struct brought_back *b)
{
	return a->inode == b->inode && a->born_ns == b->born_ns && a->filesystem == b->filesystem &&
	       hash128_equal(a->hash, b->hash);
}

/* Returns the slot of a copy, or the free slot where it belongs. */
static struct brought_back *find_slot(const struct brought_back_table *table,
				      const struct brought_back *copy)
{
	size_t at = hash64(&copy->inode, sizeof(copy->inode), 0) & (table->room - 1);

	while (table->slots[at].path && !is_same_copy(&table->slots[at], copy))
		at = (at + 1) & (table->room - 1);
	return &table->slots[at];
}

/* Makes room for one more entry. */
static int grow(struct brought_back_table *table)
{
	struct brought_back_table larger = {.count = table->count,
					    .room = table->room ? table->room * 2 : 64};

	if (table->count * 2 < table->room)
		return 0;
	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->room; i++) {
		if (table->slots[i].path)
			*find_slot(&larger, &table->slots[i]) = table->slots[i];
	}
	free(table->slots);
	*table = larger;
	return 0;
}

/* Returns whether the file at the path can be the copy, and sets what it is now. */
static bool identify(const struct bringing *bringing, struct brought_back *now)
{
	const struct record *record = bringing->record;
	const struct place *place = &bringing->place;
	AUTO_CLOSE int fd = open_beneath(place->directory, place->name, O_PATH, false);
	struct statx status;
	struct stat file;

	if (fd < 0 || fstat(fd, &file) < 0 ||
	    statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) < 0)
		return false;
	now->inode_now = status.stx_ino;
	now->born_now_ns = place_born_ns(&status);
	return (file.st_uid == record->uid || file.st_uid == geteuid()) &&
	       (bringing->result->outcome != UNDO_ALREADY || undo_is_brought_back(&file, record));
}

/* Adds a file that was brought back, or notes that the copy has another one. */
static int add_brought_back(struct brought_back_table *table, const char *path,
			    struct brought_back *now)
{
	struct brought_back *slot;

	if (grow(table) < 0)
		return -ENOMEM;
	slot = find_slot(table, now);
	if (slot->path) {
		slot->links = slot->links > now->links ? slot->links : now->links;
		slot->is_made |= now->is_made;
		return 0;
	}
	now->path = strdup(path);
	if (!now->path)
		return -ENOMEM;
	*slot = *now;
	table->count++;
	return 0;
}

void undo_remember(const struct bringing *bringing)
{
	const struct record *record = bringing->record;
	struct brought_back now = copy_of(record);

	now.is_made = bringing->is_made;
	if (record->links > 1 && record->inode && identify(bringing, &now) &&
	    add_brought_back(&bringing->undo->linked, record->path, &now) < 0)
		log_debug("further names of %s become files of their own: %s",
			  quote_path(record->path), error_text(-ENOMEM));
}

/* Opens a file that was brought back, O_PATH. Returns a descriptor, or -1 if it is not there. */
static int open_brought_back(const struct brought_back *known)
{
	struct place place;
	int fd;

	if (undo_place_open_path(&place, known->path) < 0)
		return -1;
	fd = open_beneath(place.directory, place.name, O_PATH, false);
	place_close(&place);
	if (fd >= 0 && place_has_inode(fd, "", known->inode_now, known->born_now_ns))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

void undo_report_split(const struct undo *undo)
{
	const struct undo_settings *settings = undo->settings;

	for (size_t i = 0; settings->split && i < undo->linked.room; i++) {
		const struct brought_back *known = &undo->linked.slots[i];
		AUTO_CLOSE int fd = known->path && known->is_made ? open_brought_back(known) : -1;
		struct stat now;

		if (fd >= 0 && fstat(fd, &now) == 0 && now.st_nlink < known->links)
			settings->split(settings->context, known->path,
					known->links - now.st_nlink);
	}
}

void undo_forget(struct undo *undo)
{
	for (size_t i = 0; i < undo->linked.room; i++)
		free(undo->linked.slots[i].path);
	free(undo->linked.slots);
	undo->linked = (struct brought_back_table){.count = 0};
}

/* Makes a hard link to an open file, which may be O_PATH. Returns 0, -EEXIST, or -ENOENT if no link
 * is possible. */
static int link_to(int fd, const struct bringing *bringing, const char *name)
{
	if (linkat(AT_FDCWD, fd_path(fd).text, bringing->place.directory, name,
		   AT_SYMLINK_FOLLOW) == 0)
		return 0;
	return errno == EEXIST ? -EEXIST : -ENOENT;
}

/* A search for a name of the copy that the act left alone. */
struct joining {
	struct bringing *bringing;
	const char *name; /* of the link to make */
};

/* Outcome of try_join(): the link was made. */
enum {
	JOINED = 1,
};

/* Returns whether a held file is the copy of the record. If its time of birth is unknown, the inode
 * number possibly is that of a later file. */
static bool is_copy(const struct held *held, const struct bringing *bringing)
{
	const struct record *record = bringing->record;
	struct stat here;

	return fstat(bringing->place.directory, &here) == 0 && held->status.st_dev == here.st_dev &&
	       place_has_inode(held->fd, "", record->inode, record->born_ns) &&
	       (record->born_ns ||
		(undo_is_brought_back(&held->status, record) && undo_is_certain(held, record)));
}

/* Makes a link to the file at a path, if that is the copy. Returns 0, JOINED or -errno. */
static int try_join(void *context, const char *path)
{
	const struct joining *joining = context;
	const struct record *record = joining->bringing->record;
	struct held held = {.fd = -1};
	struct place place;
	int fd, r = undo_place_open_path(&place, path);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	fd = open_beneath(place.directory, place.name, O_PATH, false);
	r = fd >= 0 && place_has_inode(fd, "", record->inode, record->born_ns)
		    ? undo_hold(&held, &place, record)
		    : UNDO_DIFFERS;
	cleanup_close(&fd);
	place_close(&place);
	if (r != 0)
		return r == -ENOMEM || r == -EINTR ? r : 0;
	r = is_copy(&held, joining->bringing) ? link_to(held.fd, joining->bringing, joining->name)
					      : -ENOENT;
	held_close(&held);
	if (r == 0)
		return JOINED;
	return r == -ENOENT ? 0 : r;
}

int undo_search(const struct bringing *bringing, int (*try)(void *trying, const char *path),
		void *trying)
{
	const struct undo_settings *settings = bringing->undo->settings;
	const struct record *record = bringing->record;
	int r = record->kept ? try(trying, record->kept) : 0;

	return r == 0 && settings->find ? settings->find(settings->context, record, try, trying)
					: r;
}

int undo_join(struct bringing *bringing, const char *name)
{
	const struct record *record = bringing->record;
	const struct brought_back_table *table = &bringing->undo->linked;
	const struct brought_back copy = copy_of(record);
	const struct brought_back *known =
		record->inode && table->count > 0 ? find_slot(table, &copy) : NULL;
	AUTO_CLOSE int fd = known && known->path ? open_brought_back(known) : -1;
	struct joining joining = {bringing, name};
	int r;

	if (fd >= 0)
		return link_to(fd, bringing, name);
	if (record->links < 2 || !record->inode)
		return -ENOENT;
	r = undo_search(bringing, try_join, &joining);
	return r == JOINED ? 0 : r == 0 ? -ENOENT : r;
}

/* ---- content ----------------------------------------------------------------------------- */

int undo_check_content(const struct held *held, const struct record *record)
{
	struct hash128 hash = {0};
	int r;

	if ((uint64_t)held->status.st_size != record->size)
		return UNDO_DIFFERS;
	r = file_hash(held->fd, NULL, &hash);
	if (r < 0)
		return r;
	if (!hash128_equal(hash, record->hash))
		return UNDO_DIFFERS;
	return held_is_unbroken(held) ? 0 : -EBUSY;
}

int undo_hold(struct held *held, const struct place *place, const struct record *record)
{
	int r = held_open_any(held, place);

	if (r > 0)
		return r == HELD_BUSY ? -EBUSY : UNDO_DIFFERS;
	if (r == 0)
		r = undo_check_content(held, record);
	if (r != 0)
		held_close(held);
	return r;
}

static bool has_capabilities(const struct record *record)
{
	for (size_t i = 0; record->xattrs && i < record->xattrs->count; i++) {
		if (strcmp(record->xattrs->list[i].name, "security.capability") == 0)
			return true;
	}
	return false;
}

/* Returns whether the owner of a file could choose its content without gaining a right by that. */
static bool is_of_trusted_owner(const struct stat *file, const struct record *record)
{
	bool gives_rights = (record->mode & (S_ISUID | S_ISGID)) || has_capabilities(record);
	bool gives_own = !(record->mode & S_ISGID) && !has_capabilities(record);

	if (!gives_rights)
		return file->st_uid == 0 || file->st_uid == record->uid ||
		       file->st_uid == geteuid();
	return (file->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
	       (file->st_uid == 0 || (gives_own && file->st_uid == record->uid));
}

/* Returns whether this is the kept file as the act compared it. */
static bool is_compared_file(const struct held *held, const struct record *record)
{
	return record->kept_born_ns && record->kept_changed_ns &&
	       place_has_inode(held->fd, "", record->kept_inode, record->kept_born_ns) &&
	       clock_ns(held->status.st_ctim) == record->kept_changed_ns &&
	       filesystem_keeps(filesystem_type_at(held->fd), PROMISE_STORES);
}

bool undo_is_certain(const struct held *held, const struct record *record)
{
	return is_of_trusted_owner(&held->status, record) || is_compared_file(held, record);
}

int undo_intend(const struct bringing *bringing, enum intent_kind kind, uint64_t link_inode,
		struct undo_private *names)
{
	const struct record *record = bringing->record;
	struct journal *journal = bringing->undo->journal;
	AUTO_CLOSE int root = open(record->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r;

	journal_other_name(names->other);
	(void)snprintf(names->part, sizeof(names->part), "%s" FILE_COPY_PART, names->other);
	names->intent = (struct intent){
		.kind = kind,
		.source = record->source,
		.path = path_below(record->path, record->source),
		.other = names->other,
		.kept_inode = link_inode,
		.target = record->target,
		.root = place_identify_root(root),
	};
	r = journal_intend(journal, &names->intent);
	return r < 0 ? r : journal_sync(journal);
}

/* The file that is copied. */
struct file_making {
	const struct held *from;
	const struct record *record;
};

/* Checks the copied file once more. Its owner possibly wrote to it since. */
static bool is_still_certain(void *context)
{
	const struct file_making *making = context;
	struct held now = *making->from;

	return held_is_unbroken(making->from) && fstat(now.fd, &now.status) == 0 &&
	       undo_is_certain(&now, making->record);
}

struct metadata undo_metadata_of(const struct record *record)
{
	return (struct metadata){.mode = record->mode,
				 .uid = record->uid,
				 .gid = record->gid,
				 .mtime = record->mtime,
				 .xattrs = record->xattrs};
}

void undo_note_refused(struct bringing *bringing, const struct metadata_refused *refused)
{
	bringing->result->other_owner = refused->owners > 0;
	bringing->result->fewer_xattrs = refused->xattrs > 0;
	bringing->result->other_time = refused->times > 0;
}

int undo_make_as(struct bringing *bringing, const struct held *from, const char *name,
		 const char *part)
{
	const struct record *record = bringing->record;
	struct file_making making = {from, record};
	struct file_copy_wish wish = {.metadata = undo_metadata_of(record),
				      .hash = record->hash,
				      .has_flags = record->has_flags,
				      .flags = record->flags,
				      .is_valid = is_still_certain,
				      .context = &making};
	int r;

	if (!undo_is_certain(from, record))
		return UNDO_FORGEABLE;
	r = file_copy_restore(from->fd, bringing->place.directory, name, part, &wish);
	bringing->is_made = r == 0;
	if (r == 0) {
		undo_note_refused(bringing, &wish.refused);
		bringing->result->fewer_flags = wish.fewer_flags;
	}
	return r;
}

/* Makes the file at its path: the file system has no way to give it this name that replaces
 * nothing. Recovery names the file if this is interrupted. */
static int make_directly(struct bringing *bringing, const struct held *from, struct intent *intent)
{
	struct journal *journal = bringing->undo->journal;
	const char *name = bringing->place.name;
	int r;

	intent->is_direct = 1;
	r = journal_amend(journal, intent);
	if (r == 0)
		r = journal_sync(journal);
	return r < 0 ? r : undo_make_as(bringing, from, name, name);
}

static int make_journalled(struct bringing *bringing, const struct held *from)
{
	struct journal *journal = bringing->undo->journal;
	struct undo_private names;
	int r = undo_intend(bringing, INTENT_AWAY, bringing->record->kept_inode, &names);

	if (r == 0)
		r = undo_make_as(bringing, from, bringing->place.name, names.part);
	if (r == -EOPNOTSUPP)
		r = make_directly(bringing, from, &names.intent);
	return r < 0 || journal_note_done(journal, names.intent.number) == 0 ? r : -ENOMEM;
}

int undo_make(struct bringing *bringing, const struct held *from)
{
	int r = undo_make_as(bringing, from, bringing->place.name, NULL);

	return r == -EOPNOTSUPP ? make_journalled(bringing, from) : r;
}
