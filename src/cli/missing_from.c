/* SPDX-License-Identifier: MIT */
#include "cli/missing_from.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/filesystem.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "cli/known_index.h"
#include "index/mount_table.h"
#include "index/paths.h"
#include "index/source.h"
#include "scan/index_folder.h"
#include "scan/source_check.h"

/* ---- files that are shown again ------------------------------------------------------------- */

/* Another program can open the watched file at the same moment, but hardly at each attempt. */
#define ATTEMPTS 3

/* A file and where it is. */
struct shown_place {
	int fd; /* O_PATH */
	dev_t device;
	bool is_served; /* not surely on a file system of this host */
};

static int open_root(void)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : root;
}

/* Opens a file by its absolute path, which can be longer than PATH_MAX. Returns a descriptor or
 * -errno. */
static int open_absolute(const char *path, bool for_reading)
{
	AUTO_CLOSE int root = open_root();

	if (root < 0)
		return root;
	path += strspn(path, "/");
	return for_reading ? open_beneath_for_reading(root, path, 0, true)
			   : open_beneath(root, path, O_PATH, true);
}

static bool is_served(struct shown_again *shown_again, int fd, dev_t device)
{
	size_t at = device % SHOWN_AGAIN_DEVICES;

	if (shown_again->devices[at].device != device) {
		shown_again->devices[at].device = device;
		shown_again->devices[at].is_served = !filesystem_is_of_this_host(fd);
	}
	return shown_again->devices[at].is_served;
}

/* Returns 0 or -errno. The caller must close place->fd if it is not negative. */
static int find_place(struct shown_again *shown_again, const char *path, struct shown_place *place)
{
	struct stat status;

	*place = (struct shown_place){.fd = open_absolute(path, false)};
	if (place->fd < 0)
		return place->fd;
	if (fstat(place->fd, &status) < 0)
		return -errno;
	place->device = status.st_dev;
	place->is_served = is_served(shown_again, place->fd, status.st_dev);
	return 0;
}

/* Returns whether another host, or a program of this one, possibly serves the file system at an
 * absolute path. Also true if the path cannot be opened. */
static bool shown_again_is_possible(const char *path)
{
	AUTO_CLOSE int fd = open_absolute(path, false);

	return fd < 0 || !filesystem_is_of_this_host(fd);
}

static void shown_again_init(struct shown_again *shown_again)
{
	*shown_again = (struct shown_again){.local = OPENING_WATCH_CLOSED};
}

/* Accepts one that is all zero. */
static void shown_again_deinit(struct shown_again *shown_again)
{
	if (shown_again->local.fd != 0)
		opening_watch_close(&shown_again->local);
	text_list_free(&shown_again->served);
}

static int begin(void *context)
{
	struct shown_again *shown_again = context;

	if (!shown_again->is_used)
		return 1;
	opening_watch_clear(&shown_again->local);
	text_list_free(&shown_again->served);
	shown_again->several_devices = false;
	shown_again->is_untrusted = false;
	return 0;
}

static int add_served(struct shown_again *shown_again, const char *path, dev_t device)
{
	if (shown_again->served.count > 0 && device != shown_again->served_device)
		shown_again->several_devices = true;
	shown_again->served_device = device;
	return text_list_add(&shown_again->served, path, strlen(path));
}

static int add(void *context, const char *path)
{
	struct shown_again *shown_again = context;
	struct shown_place place;
	int r = find_place(shown_again, path, &place);
	AUTO_CLOSE int fd = place.fd;

	if (r == 0 && place.is_served)
		return add_served(shown_again, path, place.device);
	if (r == 0)
		r = opening_watch_add(&shown_again->local, fd);
	if (r < 0)
		shown_again->is_untrusted = true;
	return r == -ENOMEM ? r : 0;
}

/* Opens the file and reads a byte of it, by its server and not from the page cache: a server such
 * as rclone opens its file only then, and one of NFS reports only the read. Returns 0 or -errno. */
static int read_through(const char *path)
{
	AUTO_CLOSE int fd = open_absolute(path, true);
	char byte;

	if (fd < 0)
		return fd;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return pread(fd, &byte, 1, 0) < 0 ? -errno : 0;
}

/* Returns whether reading the file opens a watched one, or that cannot be found. */
static bool opens_watched(struct opening_watch *watch, const char *path)
{
	for (int i = 0; i < ATTEMPTS; i++) {
		(void)opening_watch_take(watch);
		if (read_through(path) < 0)
			return true;
		if (!opening_watch_take(watch))
			return false;
	}
	return true;
}

/* Returns 1 if no served file is the same as a local one, 0 or -errno. */
static int is_none_served(const struct shown_again *shown_again, int fd)
{
	struct opening_watch watch = OPENING_WATCH_CLOSED;
	int r = opening_watch_add(&watch, fd);
	bool is_same = r < 0;

	for (size_t i = 0; !is_same && i < shown_again->served.count; i++)
		is_same = opens_watched(&watch, shown_again->served.items[i]);
	opening_watch_close(&watch);
	return r == -ENOMEM ? r : !is_same;
}

/* Two files of one mounted file system are two files. If two file systems are both served, the
 * files of both can be on one other host. */
static int is_other(void *context, const char *path)
{
	struct shown_again *shown_again = context;
	bool has_served = shown_again->served.count > 0;
	struct shown_place place;
	int r = find_place(shown_again, path, &place);
	AUTO_CLOSE int fd = place.fd;

	if (r < 0 || shown_again->is_untrusted)
		return r == -ENOMEM ? r : 0;
	if (!place.is_served)
		return has_served ? is_none_served(shown_again, fd) : 1;
	if (has_served &&
	    (shown_again->several_devices || shown_again->served_device != place.device))
		return 0;
	return shown_again->local.count == 0 || !opens_watched(&shown_again->local, path);
}

/* Returns the proof that works with it, which borrows it. */
static struct missing_proof shown_again_proof(struct shown_again *shown_again)
{
	return (struct missing_proof){begin, add, is_other, shown_again};
}

/* ---- the folders ---------------------------------------------------------------------------- */

void missing_from_free(struct missing_from *missing)
{
	text_list_free(&missing->given);
	text_list_free(&missing->operands);
	text_list_free(&missing->of);
	text_list_free(&missing->in);
	shown_again_deinit(&missing->shown_again);
}

int missing_from_add(void *given, const char *folder)
{
	return folder[0] == '\0' ? -EINVAL : text_list_add(given, folder, strlen(folder));
}

void missing_from_set_folders(struct missing_from *missing, enum missing_others others)
{
	shown_again_init(&missing->shown_again);
	missing->folders = (struct missing_folders){
		.of = missing->of.items,
		.in = missing->in.items,
		.others = others,
		.proof = shown_again_proof(&missing->shown_again),
	};
}

/* Adds paths, with their symlinks resolved. */
static int add_resolved(struct text_list *list, char *const *paths, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		AUTO_FREE char *found = realpath(paths[i], NULL);

		r = found ? text_list_add(list, found, strlen(found)) : -errno;
		if (!found)
			log_error("cannot find %s: %s", quote_path(paths[i]), error_text(r));
		if (r == 0)
			r = source_check_content(found);
	}
	return r;
}

static int refuse_itself(const struct missing_from *missing, const char *folder)
{
	log_error("cannot compare %s with itself; give another folder with %s", quote_path(folder),
		  missing->option);
	return -EINVAL;
}

/* Refuses a folder that is the other one, or that shares files with it through another mount: each
 * file of it would seem to be elsewhere, too. One below the other by its path is allowed. */
static int check_pair(const struct missing_from *missing, const struct mount_table *table,
		      const char *of, const char *in)
{
	int r;

	if (strcmp(of, in) == 0)
		return refuse_itself(missing, of);
	if (path_below(of, in) || path_below(in, of))
		return 0;
	r = mount_table_overlap(table, of, in);
	if (r > 0)
		log_error("cannot compare %s with %s: both show the same files, through two "
			  "mounts; give another folder with %s",
			  quote_path(of), quote_path(in), missing->option);
	else if (r < 0)
		log_error("cannot find the mounts of %s and %s: %s", quote_path(of), quote_path(in),
			  error_text(r));
	return r == 0 ? 0 : -EINVAL;
}

static int check_distinct(const struct missing_from *missing)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < missing->of.count; i++) {
		for (size_t j = 0; r == 0 && j < missing->in.count; j++)
			r = check_pair(missing, &table, missing->of.items[i], missing->in.items[j]);
	}
	return r;
}

int missing_from_resolve(struct missing_from *missing, char *const *operands, size_t count)
{
	int r = add_resolved(&missing->in, missing->given.items, missing->given.count);

	if (r == 0)
		r = add_resolved(&missing->of, operands, count);
	return r < 0 ? r : check_distinct(missing);
}

int missing_from_begin(struct missing_from *missing, char *const *operands, size_t count)
{
	int r = missing_from_resolve(missing, operands, count);

	if (r == 0)
		r = text_list_add_all(&missing->operands, missing->given.items);
	if (r == 0)
		r = text_list_add_all(&missing->operands, operands);
	missing_from_set_folders(missing, MISSING_SKIP_OTHERS);
	return r;
}

static int explain_folder(const char *folder, int fault)
{
	if (fault == MISSING_NOT_ENTERED)
		log_error("cannot compare %s: it is on another file system than the source that "
			  "contains it; add --cross-file-systems",
			  quote_path(folder));
	else
		log_error("cannot compare %s: it is not in the index; give a folder that is not "
			  "excluded",
			  quote_path(folder));
	return -EXDEV;
}

static bool has_type(const struct mountinfo *mount, const char *const *types, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(mount->type, types[i]) == 0)
			return true;
	}
	return false;
}

/* Returns whether a file system shows files of folders that can be visible elsewhere, too, under
 * other inode numbers. Every FUSE file system without a block device can, as bindfs and mergerfs
 * do: most have only the type "fuse", which does not name the program. Excepted are programs for
 * other machines and for images, and views, which are never entered. rclone names the folder of
 * this host that it shows.
 * Its cache can hide from struct shown_again that it reads a file there. */
static bool is_stacked(const struct mountinfo *mount)
{
	static const char *const layered[] = {"overlay", "aufs", "unionfs", "fuse"};
	static const char *const others[] = {"fuse.ceph",    "fuse.curlftpfs", "fuse.davfs",
					     "fuse.gcsfuse", "fuse.glusterfs", "fuse.gvfsd-fuse",
					     "fuse.juicefs", "fuse.lxcfs",     "fuse.rclone",
					     "fuse.s3fs",    "fuse.snapfuse",  "fuse.sshfs",
					     "fuse.twinfs"};

	return has_type(mount, layered, ARRAY_SIZE(layered)) ||
	       (strcmp(mount->type, "fuse.rclone") == 0 && mount->source[0] == '/') ||
	       (strncmp(mount->type, "fuse.", strlen("fuse.")) == 0 &&
		!has_type(mount, others, ARRAY_SIZE(others)));
}

/* Returns whether the mount contains the folder or, if these are entered, is in it. */
static bool shows(const struct mount_table *table, const struct mountinfo *mount,
		  const char *folder, bool cross_mounts)
{
	return mount == mount_table_covering(table, folder) ||
	       (cross_mounts && path_below(mount->point, folder));
}

static bool is_shown_in(const struct mount_table *table, const struct mountinfo *mount,
			char *const *folders, bool cross_mounts)
{
	for (; *folders; folders++) {
		if (shows(table, mount, *folders, cross_mounts))
			return true;
	}
	return false;
}

/* Returns whether one of two mounts on different devices, one in each list, has a property. */
static bool is_possibly_twice(const struct mount_table *table,
			      const struct missing_folders *folders, bool cross_mounts,
			      bool (*has_property)(const struct mountinfo *))
{
	for (size_t i = 0; i < table->count; i++) {
		const struct mountinfo *of = &table->entries[i];
		bool is_shown = is_shown_in(table, of, folders->of, cross_mounts);

		for (size_t j = 0; is_shown && j < table->count; j++) {
			const struct mountinfo *in = &table->entries[j];

			if (strcmp(of->device, in->device) != 0 &&
			    is_shown_in(table, in, folders->in, cross_mounts) &&
			    (has_property(of) || has_property(in)))
				return true;
		}
	}
	return false;
}

/* Returns whether the file system possibly has files that this host serves. Views are never
 * entered. */
static bool is_served_mount(const struct mountinfo *mount)
{
	return !mount_entry_is_view(mount) && shown_again_is_possible(mount->point);
}

/* Warns if a file can seem to be elsewhere because a stacked file system shows it once more. Other
 * file systems are examined with each file. */
static int check_stacked(const struct missing_folders *folders, bool cross_mounts,
			 enum twinfs_exit *status)
{
	CLEANUP_TABLE struct mount_table table = {0};
	struct shown_again *shown_again = folders->proof.context;
	int r = mount_table_read(&table);

	if (r < 0)
		return r;
	shown_again->is_used = is_possibly_twice(&table, folders, cross_mounts, is_served_mount);
	if (!is_possibly_twice(&table, folders, cross_mounts, is_stacked))
		return 0;
	*status = TWINFS_EXIT_INCOMPLETE;
	log_warning("the result is incomplete: an overlay or a FUSE file system possibly shows "
		    "files of another folder; compare folders of other file systems");
	return 0;
}

/* Returns why something else empties a place. */
static const char *cause_of(enum emptied_place place)
{
	static const char *const causes[EMPTIED_PLACES] = {
		[PLACE_SNAPSHOT] = "a schedule can delete it",
		[PLACE_CACHE] = "its program can empty it",
		[PLACE_TRASH] = "the user or a program can empty it",
		[PLACE_MEMORY] = "it is lost when the machine stops",
	};

	return causes[place];
}

void missing_from_distrust(const struct missing_tally *tally, enum twinfs_exit *status)
{
	if (tally->distrusted > 0)
		*status = TWINFS_EXIT_INCOMPLETE;
}

static int explain_distrusted(const struct missing_tally *tally, const struct sources *sources,
			      struct catalog_reader *reader)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r;

	if (tally->distrusted == 0)
		return 0;
	r = missing_example_path(&tally->untrusted, sources, reader, &path);
	if (r == 0)
		log_warning("%s of these %s elsewhere only as files of a network or FUSE file "
			    "system that are possibly the same files, such as %s; compare them on "
			    "the host that has them",
			    number_text(tally->distrusted).text,
			    plural(tally->distrusted, "is", "are"),
			    quote_bytes((const char *)path.data, path.length));
	return r;
}

int missing_from_explain(const struct missing_tally *tally, const struct sources *sources,
			 struct catalog_reader *reader)
{
	int r = explain_distrusted(tally, sources, reader);

	for (enum emptied_place place = PLACE_SNAPSHOT; r == 0 && place < EMPTIED_PLACES; place++) {
		CLEANUP_BYTES struct bytes path = {0};

		if (tally->emptied[place] == 0)
			continue;
		r = missing_example_path(&tally->examples[place], sources, reader, &path);
		if (r == 0)
			log_info("%s of these %s elsewhere only %s, such as %s; that does not "
				 "count, as %s",
				 number_text(tally->emptied[place]).text,
				 plural(tally->emptied[place], "is", "are"),
				 emptied_place_text(place),
				 quote_bytes((const char *)path.data, path.length),
				 cause_of(place));
	}
	return r;
}

int missing_from_check(const struct missing_folders *folders, const struct current_index *index,
		       struct catalog_reader *reader, enum twinfs_exit *status)
{
	const char *folder = NULL;
	uint64_t count = 0;
	int r = missing_check(folders, reader, index->sources, &folder);

	if (r > 0)
		return explain_folder(folder, r);
	if (r == 0)
		r = missing_count_not_entered(folders, reader, index->sources, &count);
	if (r == 0)
		r = check_stacked(folders, index->sources->cross_mounts, status);
	if (r < 0 || count == 0)
		return r;
	*status = TWINFS_EXIT_INCOMPLETE;
	log_warning("the result is incomplete: %s on other file systems; --cross-file-systems "
		    "includes %s",
		    counted(count, "folder is", "folders are").text, plural(count, "it", "them"));
	return 0;
}

/* ---- the index that covers the folders ------------------------------------------------------ */

/* The best index so far. */
struct choice {
	const struct missing_from *missing;
	struct text_list operands; /* its sources; empty: no index was found */
	struct timespec last_scan;
};

static bool is_below_any(const char *path, const struct text_list *folders)
{
	for (size_t i = 0; i < folders->count; i++) {
		if (path_below(path, folders->items[i]))
			return true;
	}
	return false;
}

static bool all_below_any(const struct text_list *paths, const struct text_list *folders)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (!is_below_any(paths->items[i], folders))
			return false;
	}
	return true;
}

/* Returns whether the index has all folders, and something to compare them with. */
static bool covers(const struct missing_from *missing, const struct known_index *index)
{
	if (index->of_operands || !all_below_any(&missing->of, &index->sources) ||
	    !all_below_any(&missing->in, &index->sources))
		return false;
	return missing->in.count > 0 || !all_below_any(&index->sources, &missing->of);
}

static int take(struct choice *choice, const struct known_index *index)
{
	text_list_free(&choice->operands);
	choice->last_scan = index->last_scan;
	return text_list_add_all(&choice->operands, index->sources.items);
}

/* is_only: the user wants no other index. */
static int consider(struct choice *choice, const char *folder, bool is_only)
{
	CLEANUP_KNOWN_INDEX struct known_index index = {0};
	int r = known_index_read(&index, folder);
	bool of_view = index.mount_point && index.mount_point[0] != '\0';

	if (r < 0 || index.outcome != 0 || !covers(choice->missing, &index))
		return r;
	if (!is_only && (of_view || index.absent ||
			 (choice->operands.count > 0 &&
			  clock_ns(index.last_scan) <= clock_ns(choice->last_scan))))
		return 0;
	return take(choice, &index);
}

static int consider_all(struct choice *choice)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	int r = index_folders_list(&folders);

	for (size_t i = 0; r == 0 && i < folders.count; i++)
		r = consider(choice, folders.items[i], false);
	return r;
}

static int consider_given(struct choice *choice, const char *folder)
{
	AUTO_FREE char *given = NULL;
	int r = index_folder_given(folder, &given);

	return r < 0 ? r : consider(choice, given, true);
}

int covering_index_choose(struct missing_from *missing, const char *folder)
{
	struct choice choice = {.missing = missing};
	int r = 0;

	if (folder)
		r = consider_given(&choice, folder);
	else if (missing->in.count == 0)
		r = consider_all(&choice);
	missing->operands = choice.operands;
	if (r < 0 || missing->operands.count > 0)
		return r;
	if (missing->in.count == 0) {
		log_error("no index has %s and other folders, unless a view uses it; give these "
			  "with --by, or scan a folder that contains all of them",
			  quote_path(missing->of.items[0]));
		return -ENOENT;
	}
	r = text_list_add_all(&missing->operands, missing->in.items);
	return r < 0 ? r : text_list_add_all(&missing->operands, missing->of.items);
}
