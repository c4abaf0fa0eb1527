/* SPDX-License-Identifier: MIT */
#include "index/catalog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/stop.h"
#include "index/change.h"
#include "index/filesystem.h"
#include "index/integrity.h"
#include "index/meta.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/index_files.h"
#include "index/store/store.h"
#include "index/writer.h"
#include "twinfs/format.h"

/* ---- lost writes ---------------------------------------------------------------------------- */

/* Bytes that were compared but did not reach the disk.
 *
 * A comparison reads from the page cache. If the power fails or the kernel crashes, bytes that were
 * written shortly before can be lost. The index survives, as each commit is synced but those of its
 * first second. The same sync makes ext4 and xfs write the sizes and times of all files, but not
 * bytes that were overwritten in place (measured by tests/functional/test_power_cut.py). So after a
 * reboot, the contents of files that changed shortly before the last commit are unknown.
 */

/* Age of a change, at the last commit, after which its bytes count as written to the disk. The
 * kernel starts writing data that is 30 s old (vm.dirty_expire_centisecs). The time that the disk
 * needs to write all data is unknown, so this limit is much longer. */
#define WRITTEN_AFTER_SECONDS 600

/* Maximum number of files that are found in one snapshot and changed in one transaction. */
#define PORTION 4096

/* Text of TWINFS_INDEX_BOOT instead of the id of a boot: contents of files that changed at or after
 * this time, in seconds, are being forgotten. Each commit moves the time of the last commit, so
 * after a kill the time cannot be computed again. */
#define SINCE_FORMAT "since %"

struct lost_portion {
	int64_t since; /* files that changed at or after this time are affected */
	bool since_is_stored;
	uint64_t after; /* id of the last file that was examined */
	uint64_t *files; /* PORTION numbers */
	size_t count;
};

/* Finds the next affected files, also those of unknown content: digests and hashes of blocks depend
 * on the version of the content, too. Returns 0, -ENOENT if no files are left, or -errno. */
static int find(struct catalog *catalog, struct lost_portion *portion)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct file_record file;
	int r = catalog_read_begin(catalog, &reader);

	portion->count = 0;
	if (r == 0)
		r = catalog_scan_files(reader, portion->after, &scan);
	while (r == 0 && portion->count < PORTION && (r = catalog_next_file(scan, &file)) == 0) {
		portion->after = file.id;
		if (file.attributes.ctime.tv_sec >= portion->since && S_ISREG(file.attributes.mode))
			portion->files[portion->count++] = file.id;
	}
	return r;
}

static int forget_body(struct catalog_writer *w, void *context)
{
	const struct lost_portion *portion = context;

	return catalog_forget_contents(w, portion->files, portion->count);
}

static int store_since(const struct catalog *catalog, struct lost_portion *portion)
{
	char text[BOOT_ID_MAX];

	if (portion->since_is_stored)
		return 0;
	(void)snprintf(text, sizeof(text), SINCE_FORMAT PRId64, portion->since);
	portion->since_is_stored = true;
	return index_file_replace(catalog->folder_fd, TWINFS_INDEX_BOOT, text, true);
}

/* Finds the time that a killed start stored, or else that of the last commit. */
static int find_since(struct catalog *catalog, const char *boot_text, struct lost_portion *portion)
{
	struct catalog_totals totals;
	int r;

	portion->since_is_stored = sscanf(boot_text, SINCE_FORMAT SCNd64, &portion->since) == 1;
	if (portion->since_is_stored)
		return 0;
	r = catalog_totals_now(catalog, &totals);
	if (r == 0)
		portion->since = totals.changed.tv_sec - WRITTEN_AFTER_SECONDS;
	return r == -ENOENT ? 0 : r; /* a new index */
}

static int forget(struct catalog *catalog, struct lost_portion *portion)
{
	AUTO_FREE uint64_t *files = malloc(PORTION * sizeof(*files));
	int found, r;

	if (!files)
		return -ENOMEM;
	portion->files = files;
	do {
		found = find(catalog, portion);
		r = found < 0 && found != -ENOENT ? found : 0;
		if (r == 0 && portion->count > 0)
			r = store_since(catalog, portion);
		if (r == 0 && portion->count > 0)
			r = catalog_write(catalog, forget_body, portion);
	} while (r == 0 && found == 0);
	return r;
}

int catalog_lost_since(struct catalog *catalog, int64_t *since)
{
	char text[BOOT_ID_MAX], boot[BOOT_ID_MAX];
	struct lost_portion portion = {0};
	int r = index_file_read(catalog->folder_fd, TWINFS_INDEX_BOOT, text, sizeof(text));

	*since = INT64_MAX;
	if (r < 0)
		return r;
	if (text[0] && strcmp(text, boot_id(boot)) == 0)
		return 0;
	r = find_since(catalog, text, &portion);
	*since = portion.since;
	return r;
}

/* Makes the contents of files that changed shortly before the last commit unknown, if the index was
 * last opened for writing before this boot. Then records this boot. Returns 0 or -errno. */
static int lost_writes_forget(struct catalog *catalog)
{
	char text[BOOT_ID_MAX], boot[BOOT_ID_MAX];
	struct lost_portion portion = {0};
	int r = index_file_read(catalog->folder_fd, TWINFS_INDEX_BOOT, text, sizeof(text));

	if (r < 0)
		text[0] = '\0';
	if (text[0] && strcmp(text, boot_id(boot)) == 0)
		return 0;
	r = find_since(catalog, text, &portion);
	if (r == 0)
		r = forget(catalog, &portion);
	if (r == -EUCLEAN)
		return 0; /* the next reader of the record handles the damage */
	/* a reboot makes any other text of it, too */
	return r < 0 ? r : index_file_write(catalog->folder_fd, TWINFS_INDEX_BOOT, boot_id(boot));
}

/* ---- catalog -------------------------------------------------------------------------------- */

#define OWNER_TEXT_BYTES (4096 + 32)
#define SCANNED_TEXT_BYTES 32

/* ---- folder and lock ----------------------------------------------------------------- */

int catalog_examine_folder(const char *folder, bool *is_index, char **other)
{
	return index_folder_examine(folder, is_index, other);
}

static int open_folder(struct catalog *catalog, const struct catalog_options *options)
{
	int r = options->read_only ? 0 : index_folder_make(options->folder);

	if (r == 0)
		r = index_folder_open(options->folder, &catalog->folder_fd);
	if (r == -ENOENT && options->read_only)
		return CATALOG_NO_INDEX;
	return r;
}

/* Writes the lock file: the pid, and the mount point in the second line. One write replaces the old
 * text, so other processes never read an incomplete text. A longer old text is cut off by the NUL
 * until the file is truncated. */
static int write_owner(int lock_fd, const char *mount_point)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = bytes_format(&text, "%d\n%s%c", (int)getpid(), mount_point, '\0');

	if (r == 0 && lseek(lock_fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		r = write_fully(lock_fd, text.data, text.length);
	return r == 0 && ftruncate(lock_fd, (off_t)text.length - 1) < 0 ? -errno : r;
}

/* Outcome: 'index --forget' removed the lock file after it was opened. */
#define LOCK_REMOVED (CATALOG_HAS_ACTS + 1)

/* Locks the lock file. Returns 0, CATALOG_IN_USE, LOCK_REMOVED or -errno. */
static int lock_file(int fd, struct stat *status)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? CATALOG_IN_USE : -errno;
	if (fstat(fd, status) < 0)
		return -errno;
	return status->st_nlink > 0 ? 0 : LOCK_REMOVED;
}

/* Returns as lock_file(). */
static int take_lock(struct catalog *catalog)
{
	struct stat status = {0};
	int fd = openat(catalog->folder_fd, TWINFS_INDEX_LOCK,
			O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return errno == ENOENT ? LOCK_REMOVED : -errno; /* of the folder, too */
	r = lock_file(fd, &status);
	if (r == 0)
		r = make_private(catalog->folder_fd, TWINFS_INDEX_LOCK);
	if (r) {
		close(fd);
		return r;
	}
	index_folder_mark(catalog->folder_fd);
	catalog->was_killed = status.st_size > 0;
	catalog->lock_fd = fd;
	return write_owner(catalog->lock_fd, "");
}

/* Takes the lock. If 'index --forget' removes the index in this moment, makes its folder anew. */
static int make_lock(struct catalog *catalog, const struct catalog_options *options)
{
	int r;

	while ((r = take_lock(catalog)) == LOCK_REMOVED) {
		cleanup_close(&catalog->folder_fd);
		catalog->folder_fd = -1;
		r = open_folder(catalog, options);
		if (r)
			return r;
	}
	return r;
}

int catalog_owner(const char *folder, pid_t *pid, char **mount_point)
{
	AUTO_FREE char *text = malloc(OWNER_TEXT_BYTES);
	char *end;
	AUTO_CLOSE int folder_fd = -1, fd = -1;
	int r;
	bool locked;
	long length = 0;

	*pid = 0;
	*mount_point = NULL;
	if (!text)
		return -ENOMEM;
	r = index_folder_open(folder, &folder_fd);
	if (r < 0 && r != -ENOENT)
		return r;
	if (folder_fd >= 0)
		fd = openat(folder_fd, TWINFS_INDEX_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (folder_fd >= 0 && fd < 0 && errno != ENOENT)
		return -errno;
	locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
	if (locked)
		length = read_fully_at(fd, text, OWNER_TEXT_BYTES - 1, 0);
	if (length < 0)
		return (int)length;
	text[length] = '\0';
	*pid = (pid_t)strtol(text, &end, 10);
	if (locked && (*pid <= 0 || *end != '\n'))
		*pid = -1;
	*mount_point = strdup(*end == '\n' ? end + 1 : "");
	return *mount_point ? 0 : -ENOMEM;
}

int catalog_set_mount_point(struct catalog *catalog, const char *mount_point)
{
	return write_owner(catalog->lock_fd, mount_point);
}

/* ---- the time of the last scan ------------------------------------------------------- */

void catalog_note_scan(struct catalog *catalog, struct timespec time)
{
	char text[SCANNED_TEXT_BYTES];
	int r;

	(void)snprintf(text, sizeof(text), "%" PRId64 "\n", (int64_t)time.tv_sec);
	r = index_file_write(catalog->folder_fd, TWINFS_INDEX_SCANNED, text);
	if (r < 0)
		log_debug("cannot record the time of the scan: %s", error_text(r));
}

int catalog_last_scan(struct catalog *catalog, struct timespec *time)
{
	char text[SCANNED_TEXT_BYTES];
	struct catalog_totals totals;
	int64_t seconds;
	int r = index_file_read(catalog->folder_fd, TWINFS_INDEX_SCANNED, text, sizeof(text));

	if (r == 0 && sscanf(text, "%" SCNd64, &seconds) == 1) {
		*time = (struct timespec){.tv_sec = seconds};
		return 0;
	}
	r = catalog_totals_now(catalog, &totals);
	if (r == 0)
		*time = totals.changed;
	return r;
}

/* ---- opening and closing ------------------------------------------------------------- */

/* data: as in store_open() */
static int open_store(struct catalog *catalog, const char *data,
		      const struct catalog_options *options)
{
	static const char *const files[] = {TWINFS_INDEX_DATA, TWINFS_INDEX_READERS};
	const struct store_hooks hooks = {.before_change = catalog_unseal, .context = catalog};
	int r = store_open(&catalog->store, data, options->map_bytes,
			   options->read_only ? NULL : &hooks);

	catalog->store_opened = true;
	for (size_t i = 0; r == 0 && !options->read_only && i < ARRAY_SIZE(files); i++)
		r = make_private(catalog->folder_fd, files[i]);
	if (r == 0)
		store_note_change(&catalog->store);
	return r;
}

static int initialize_body(struct catalog_writer *w, void *context)
{
	(void)context;
	return meta_initialize(w);
}

static int upgrade_body(struct catalog_writer *w, void *context)
{
	(void)context;
	w->totals.viewed = catalog_unused_id(w->catalog); /* earlier views possibly showed all */
	return meta_put_format(w);
}

/* Reads the records of the index about itself. Initializes a new index unless read_only. */
static int load_meta(struct catalog *catalog, bool read_only)
{
	struct catalog_reader *reader = NULL;
	unsigned int format = 0;
	int r = store_read_begin(&catalog->store, &reader);

	if (r == 0)
		r = meta_get_format(reader, &format);
	store_read_end(reader);
	if (r < 0)
		return r;
	if (format > TWINFS_INDEX_FORMAT)
		return CATALOG_NEWER;
	if (format == 0 && read_only)
		return CATALOG_NO_INDEX;
	if (format > 0 && format < TWINFS_INDEX_FORMAT_USABLE)
		return CATALOG_OLDER;
	if (format == 0)
		r = catalog_write(catalog, initialize_body, NULL);
	else if (format < TWINFS_INDEX_FORMAT && !read_only)
		r = catalog_write(catalog, upgrade_body, NULL);
	if (r == 0)
		r = store_read_begin(&catalog->store, &reader);
	if (r < 0)
		return r;
	r = meta_get_number(reader, META_NAME_SEED, &catalog->name_seed);
	if (r == 0)
		r = filesystems_load(&catalog->filesystems, reader);
	store_read_end(reader);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int set_damaged_aside(struct catalog *catalog)
{
	log_warning("cannot use the index %s: it is damaged; it is renamed to %s, and a new one is "
		    "built",
		    quote_path(catalog->folder), TWINFS_INDEX_DAMAGED);
	return index_set_aside(catalog->folder_fd);
}

/* Sets a damaged or older index aside. Returns 0 if the data file is sound or missing now,
 * CATALOG_NEWER, or -errno. Then *sealed is whether the data file has a valid seal. */
static int make_sound(struct catalog *catalog, const struct catalog_options *options, bool *sealed)
{
	bool distrusted = options->distrusted || catalog->was_killed;
	int state = index_examine(catalog->folder_fd, options->folder, distrusted, sealed);

	/* the format is examined before anything in the folder is changed */
	if (state == CATALOG_OPENED)
		state = (int)index_examine_format(fd_path(catalog->folder_fd).text);
	if (state != CATALOG_OPENED)
		*sealed = false;
	switch (state) {
	case CATALOG_OLDER:
		log_info("the index %s has the format of an older twinfs; it is renamed to %s, and "
			 "a new one is built",
			 quote_path(options->folder), TWINFS_INDEX_DAMAGED);
		return index_set_aside(catalog->folder_fd);
	case CATALOG_DAMAGED:
		return set_damaged_aside(catalog);
	default:
		return state;
	}
}

static int load(struct catalog *catalog, const struct catalog_options *options)
{
	int r = open_store(catalog, fd_path(catalog->folder_fd).text, options);

	return r < 0 ? r : load_meta(catalog, false);
}

/* Loads the index. If the index turns out to be damaged although it was examined, sets it aside and
 * makes a new one. */
static int load_or_make_anew(struct catalog *catalog, const struct catalog_options *options)
{
	int r = load(catalog, options);

	if (r != -EUCLEAN)
		return r;
	store_close(&catalog->store);
	catalog->store_opened = false;
	r = catalog_unseal(catalog);
	if (r == 0)
		r = set_damaged_aside(catalog);
	return r < 0 ? r : load(catalog, options);
}

static int open_writable(struct catalog *catalog, const struct catalog_options *options)
{
	bool sealed = false;
	int r = make_lock(catalog, options);

	if (r)
		return r;
	catalog->next_id = catalog->reserved_id = index_reserved_ids(catalog->folder_fd);
	r = make_sound(catalog, options, &sealed);
	if (r == 0 && !sealed)
		r = catalog_unseal(catalog);
	if (r)
		return r;
	catalog->writable = true;
	r = load_or_make_anew(catalog, options);
	if (r == 0)
		r = catalog_update_places(catalog);
	if (r == 0)
		r = lost_writes_forget(catalog);
	if (r == 0 && options->beside)
		r = filesystems_copy(&catalog->filesystems, &options->beside->filesystems);
	return r;
}

/* Returns true if a process writes the index. That process checked the index when it opened it. */
static bool is_written(int folder_fd)
{
	AUTO_CLOSE int fd = openat(folder_fd, TWINFS_INDEX_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

int catalog_recall_sources(const char *folder, char *text, size_t size)
{
	AUTO_CLOSE int fd = -1;
	struct stat status;
	int r = index_folder_open_private(folder, &fd);

	if (r == 0)
		r = index_file_read(fd, TWINFS_INDEX_SOURCES, text, size);
	if (r < 0 || is_written(fd))
		return r;
	if (fstatat(fd, TWINFS_INDEX_LOCK, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (status.st_size > 0 || !name_exists(fd, TWINFS_INDEX_SEAL))
		return CATALOG_UNSEALED;
	return 0;
}

void catalog_note_sources(struct catalog *catalog, const char *text)
{
	int r = index_file_write(catalog->folder_fd, TWINFS_INDEX_SOURCES, text);

	if (r < 0)
		log_debug("cannot record the paths of the sources: %s", error_text(r));
}

/* Checks an index without its lock. If not distrusted, trusts a valid seal, and a process that
 * writes the index. Returns 0, another enum catalog_open_outcome, or -errno. */
static int check_folder(int folder_fd, bool distrusted)
{
	if (!name_exists(folder_fd, TWINFS_INDEX_DATA))
		return errno == ENOENT ? CATALOG_NO_INDEX : -errno;
	if (!distrusted && is_written(folder_fd))
		return 0;
	return index_check(folder_fd, distrusted);
}

/* Loads an index that was checked. data: the folder, or the path of a copy of the data file */
static int load_read_only(struct catalog *catalog, const char *data,
			  const struct catalog_options *options)
{
	/* another version of twinfs can have sealed the index, or can write it */
	int r = (int)index_examine_format(data);

	if (r)
		return r;
	r = open_store(catalog, data, options);
	if (r == -ENOENT && store_has_no_commit(&catalog->store))
		return CATALOG_NO_INDEX;
	if (r == 0)
		r = load_meta(catalog, true);
	return r == -EUCLEAN || r == -ENOENT ? CATALOG_DAMAGED : r;
}

static int open_read_only(struct catalog *catalog, const struct catalog_options *options)
{
	int r;

	index_files_hold(catalog->folder_fd);
	r = check_folder(catalog->folder_fd, false);
	if (r == 0)
		r = load_read_only(catalog, fd_path(catalog->folder_fd).text, options);
	index_files_release(catalog->folder_fd);
	return r;
}

/* Returns whether the index can be read only in a copy: it belongs to another user, the user may
 * not write to LMDB's lock file, or locks are unreliable. */
static bool needs_copy(int outcome, const struct catalog_options *options)
{
	return options->copied_if_needed &&
	       (outcome == -EPERM || outcome == -EACCES || outcome == CATALOG_REMOTE);
}

static int open_copy(struct catalog *catalog, const struct catalog_options *options)
{
	AUTO_CLOSE int copy = -1;
	int r;

	if (catalog->store_opened)
		store_close(&catalog->store);
	catalog->store_opened = false;
	cleanup_close(&catalog->folder_fd);
	r = index_folder_open_any(options->folder, &catalog->folder_fd);
	if (r == 0)
		r = index_copy_sealed(catalog->folder_fd, &copy);
	if (r == -ENOENT)
		return CATALOG_NO_INDEX;
	return r ? r : load_read_only(catalog, fd_path(copy).text, options);
}

int catalog_open(struct catalog **catalog, const struct catalog_options *options)
{
	struct catalog *opened = calloc(1, sizeof(*opened));
	int r;

	*catalog = NULL;
	if (!opened)
		return -ENOMEM;
	opened->folder_fd = opened->lock_fd = -1;
	opened->folder = strdup(options->folder);
	filesystems_init(&opened->filesystems);
	pthread_mutex_init(&opened->ids_lock, NULL);
	r = opened->folder ? open_folder(opened, options) : -ENOMEM;
	if (r == 0 && is_remote_filesystem(opened->folder_fd))
		r = CATALOG_REMOTE;
	if (r == 0)
		r = options->read_only ? open_read_only(opened, options)
				       : open_writable(opened, options);
	if (needs_copy(r, options))
		r = open_copy(opened, options);
	if (r == 0)
		*catalog = opened;
	else
		catalog_close(opened);
	return r;
}

int catalog_check(const char *folder)
{
	AUTO_CLOSE int fd = -1;
	int r = index_folder_open(folder, &fd);

	if (r < 0)
		return r == -ENOENT ? CATALOG_NO_INDEX : r;
	return is_remote_filesystem(fd) ? CATALOG_REMOTE : check_folder(fd, true);
}

/* Seals the data file, or its copy, if nothing is wrong with it. A data file that this process did
 * not change still has its seal. */
static int seal_store(struct catalog *catalog, bool copied)
{
	const struct store *store = &catalog->store;
	int r = 0;

	if (store->damaged || store->is_untrusted)
		r = catalog_unseal(catalog);
	if (r == 0 && store->damaged)
		return index_set_aside(catalog->folder_fd);
	if (r < 0 || store->is_untrusted || !catalog->unsealed)
		return r;
	if (copied)
		r = index_adopt_copy(catalog->folder_fd);
	return r < 0 ? r : index_seal(catalog->folder_fd);
}

/* Closes the store. If the store turns out to be untrusted when it is closed, the next start
 * overwrites a copy of the data file. */
static int close_store(struct catalog *catalog)
{
	struct store *store = &catalog->store;
	bool copied = false;
	int r = 0;

	if (catalog->store_opened && catalog->unsealed && store->env && !store->damaged &&
	    !store->is_untrusted)
		index_copy_if_wasteful(store, catalog->folder_fd, &copied);
	if (catalog->store_opened)
		store_close(store);
	if (!catalog->writable)
		return 0;
	if (catalog->reserved_id > catalog->next_id)
		r = index_reserve_ids(catalog->folder_fd, catalog->next_id, false);
	return r < 0 ? r : seal_store(catalog, copied);
}

void catalog_close(struct catalog *catalog)
{
	int r;

	if (!catalog)
		return;
	r = close_store(catalog);
	if (r < 0)
		log_warning("cannot seal the index %s: %s; the next start checks the index",
			    quote_path(catalog->folder), error_text(r));
	if (catalog->lock_fd >= 0) {
		if ((catalog->writable || !catalog->was_killed) &&
		    ftruncate(catalog->lock_fd, 0) < 0)
			log_debug("cannot clear the lock file: %s", error_text(errno));
		close(catalog->lock_fd);
	}
	if (catalog->folder_fd >= 0)
		close(catalog->folder_fd);
	filesystems_deinit(&catalog->filesystems);
	pthread_mutex_destroy(&catalog->ids_lock);
	free(catalog->folder);
	free(catalog);
}

/* ---- removing an index --------------------------------------------------------------- */

/* Locks the journal of acts if there is one, and checks that no act was interrupted. 'undo' changes
 * files without the lock of the index. The caller closes *fd. Returns 0, an enum
 * catalog_open_outcome or -errno. */
static int lock_acts(int folder_fd, int *fd)
{
	struct stat status;

	*fd = openat(folder_fd, TWINFS_INDEX_ACTS, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? CATALOG_IN_USE : -errno;
	if (fstat(*fd, &status) < 0)
		return -errno;
	return status.st_size > 0 ? CATALOG_HAS_ACTS : 0;
}

/* Returns 0, an enum catalog_open_outcome or -errno. A folder with a data.mdb of another program
 * lacks the other files. */
static int remove_files(int folder_fd)
{
	AUTO_CLOSE int lock_fd =
		openat(folder_fd, TWINFS_INDEX_LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	AUTO_CLOSE int acts_fd = -1;
	struct stat status = {0};
	int r;

	if (lock_fd < 0 || !name_exists(folder_fd, TWINFS_INDEX_IDS))
		return errno == ENOENT ? CATALOG_NO_INDEX : -errno;
	r = lock_file(lock_fd, &status);
	if (r == LOCK_REMOVED)
		return CATALOG_NO_INDEX;
	if (r == 0)
		r = lock_acts(folder_fd, &acts_fd);
	return r != 0 ? r : index_files_remove(folder_fd);
}

int catalog_forget(const char *folder)
{
	AUTO_CLOSE int folder_fd = -1;
	AUTO_FREE char *other = NULL;
	bool is_index;
	int r = index_folder_examine(folder, &is_index, &other);

	if (r == 0 && !is_index)
		return CATALOG_NO_INDEX;
	if (r == 0)
		r = index_folder_open(folder, &folder_fd);
	if (r == 0)
		r = remove_files(folder_fd);
	return r == 0 && rmdir(folder) < 0 ? -errno : r;
}
