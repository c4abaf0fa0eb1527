/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <jansson.h>

#include "base/filesystem.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "cli/counted.h"
#include "cli/doctor.h"
#include "cli/known_index.h"
#include "index/mount_point.h"
#include "index/mount_table.h"
#include "index/source.h"
#include "scan/census.h"
#include "scan/disk.h"
#include "scan/index_folder.h"
#include "scan/status_file.h"
#include "view/follow/fanotify_group.h"

/* ---- promises ------------------------------------------------------------------------------- */

/* What the file system of a source promises (base/filesystem.h), and how that is known. */

/* Room for the words of all promises. */
#define PROMISES_TEXT_MAX 256

static const struct promise_word {
	enum filesystem_promise promise;
	const char *word;
} words[] = {
	{PROMISE_CTIME, "ctime"},
	{PROMISE_STORES, "times of mapped stores"},
	{PROMISE_FINE_TIMES, "fine times"},
	{PROMISE_EVENTS, "all events"},
	{PROMISE_LEASES, "leases"},
	{PROMISE_NOREPLACE, "RENAME_NOREPLACE"},
	{PROMISE_EXCHANGE, "RENAME_EXCHANGE"},
	{PROMISE_FOLDER_SYNC, "fsync of folders"},
	{PROMISE_BIRTH_TIMES, "birth times"},
	{PROMISE_INODES, "lasting inode numbers"},
	{PROMISE_EXTENTS, "shared blocks"},
	{PROMISE_HOLES, "holes"},
	{PROMISE_BLOCKS, "counted blocks"},
	{PROMISE_LINKS, "hard links"},
};

/* Writes the words of a set of promises, or "nothing". Returns text. */
static const char *name_promises(char text[static PROMISES_TEXT_MAX], unsigned int promises)
{
	size_t length = 0;

	(void)snprintf(text, PROMISES_TEXT_MAX, "nothing");
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!(promises & (unsigned int)words[i].promise))
			continue;
		length += (size_t)snprintf(text + length, PROMISES_TEXT_MAX - length, "%s%s",
					   length > 0 ? ", " : "", words[i].word);
		if (length >= PROMISES_TEXT_MAX)
			return text;
	}
	return text;
}

/* Adds the row. observed: promises that the census found kept */
static void add_row(struct findings *findings, const struct filesystem_facts *facts,
		    unsigned int observed)
{
	char kept[PROMISES_TEXT_MAX], lacked[PROMISES_TEXT_MAX], seen[PROMISES_TEXT_MAX],
		unknown[PROMISES_TEXT_MAX];

	findings_add(findings, VERDICT_OK, "promises",
		     "%s%s: keeps %s; lacks %s; observed: %s; unknown, so not relied upon: %s",
		     filesystem_facts_are_known(facts) ? "row " : "in no row of the table",
		     filesystem_facts_are_known(facts) ? facts->name : "",
		     name_promises(kept, facts->keeps), name_promises(lacked, facts->lacks),
		     name_promises(seen, observed),
		     name_promises(unknown, ~(facts->keeps | facts->lacks | observed)));
}

/* Adds which acts leave the copies alone here. */
static void add_acts(struct findings *findings, const struct filesystem_facts *facts)
{
	enum filesystem_support links = filesystem_links(facts), moves = filesystem_moves(facts);
	const char *acts = moves == SUPPORT_YES ? "'link'" : "'link', 'move' and 'remove --trash'";

	if (links == SUPPORT_YES || facts->traits & TRAIT_IMAGE)
		return;
	if (links == SUPPORT_UNKNOWN) {
		findings_add(findings, VERDICT_OK, "acts",
			     "%s need hard links here, and skip the copies if there are none",
			     acts);
		return;
	}
	findings_add(findings, VERDICT_NOTE, "acts", "without hard links, %s skip the copies here",
		     acts);
	findings_remedy(findings, "use 'remove' or 'link --symbolic' here");
}

/* Adds the row of the file system, and whether contents have to be read again because it has no
 * ctime.
 *
 * fd		of the source
 * mount	that contains the source; NULL if unknown
 * census	of the source */
static void doctor_examine_promises(struct findings *findings, int fd,
				    const struct mountinfo *mount, const struct census *census)
{
	const struct filesystem_facts *facts =
		filesystem_facts_of(filesystem_type_at(fd), mount ? mount->type : NULL);
	bool is_known = (facts->keeps | facts->lacks) & PROMISE_CTIME;
	bool is_seen = !is_known && census->own_ctimes > 0;

	add_row(findings, facts, is_seen ? PROMISE_CTIME : 0);
	add_acts(findings, facts);
	if (facts->keeps & PROMISE_CTIME || is_seen)
		return;
	findings_add(findings, VERDICT_NOTE, "ctime",
		     "%s: a write leaves no trace if the mtime is set back, so each scan reads "
		     "the contents again, and each open in the view reads the file",
		     is_known ? "the ctime of a file is its mtime"
			      : "no file has a ctime that differs from its mtime");
	findings_remedy(findings, "if that takes too long, run twinfs where the disk is, or keep "
				  "the files on a file system that stores the ctime");
}

/* ---- dedupe --------------------------------------------------------------------------------- */

/* What the kernel refuses (FIDEDUPERANGE, Linux 6.18), and what it does not:
 *
 *	EROFS		the copy is on a read-only mount. A read-only subvolume is permitted.
 *	EINVAL		on btrfs, only one of the two files has checksums. A file has none if it
 *			is nodatacow (chattr +C), or was created while the file system was mounted
 *			with nodatasum or nodatacow. Compression may differ.
 *	EPERM		the copy is immutable, or is not in the upper layer of an overlay
 *	ETXTBSY		one of the files is an active swap file, which is seldom equal to another
 *	EOPNOTSUPP	the file system cannot share blocks
 */

static void add_incapable(struct findings *findings, int fd, const struct mountinfo *mount)
{
	const char *type = mount ? mount->type : "this file system";

	if (filesystem_has(filesystem_type_at(fd), TRAIT_LAYERED))
		findings_add(findings, VERDICT_OK, "dedupe",
			     "files can share blocks only in the upper layer, if it is on btrfs or "
			     "XFS");
	else if (filesystem_lacks_reflinks_at(fd))
		findings_add(findings, VERDICT_OK, "dedupe",
			     "files cannot share blocks: this XFS was made without reflinks");
	else
		findings_add(findings, VERDICT_OK, "dedupe", "files on %s cannot share blocks",
			     type);
}

/* Adds that the files can share blocks. Returns whether dedupe can write to them. */
static bool add_capable(struct findings *findings, int fd, const struct mountinfo *mount,
			bool is_nodatacow)
{
	struct statvfs figures;

	if (fstatvfs(fd, &figures) == 0 && figures.f_flag & ST_RDONLY) {
		findings_add(findings, VERDICT_NOTE, "dedupe",
			     "files can share blocks, but 'twinfs dedupe' cannot change files on a "
			     "read-only mount");
		findings_remedy_of_root(findings, "mount -o remount,rw %s",
					quote_path(mount ? mount->point : findings->path));
		return false;
	}
	findings_add(findings, VERDICT_OK, "dedupe",
		     "'twinfs dedupe' can let equal files share blocks%s",
		     is_nodatacow ? ", but not with files elsewhere: its directories are nodatacow "
				    "(chattr +C)"
				  : "");
	return true;
}

static void add_nodatacow(struct findings *findings, const struct census *census)
{
	AUTO_FREE char *first = findings_path_below(findings, census->nodatacow.first);

	if (!first)
		return;
	findings_add(findings, VERDICT_NOTE, "nodatacow",
		     "%s of its directories %s nodatacow (chattr +C), such as %s: files created "
		     "there cannot share blocks with files created elsewhere",
		     number_text(census->nodatacow.count).text,
		     plural(census->nodatacow.count, "is", "are"), quote_path(first));
	findings_remedy(findings, "if they should, run chattr -C DIRECTORY, and replace each file "
				  "there by a copy of it");
}

static void add_nodatasum(struct findings *findings)
{
	findings_add(findings, VERDICT_NOTE, "nodatasum",
		     "mounted with nodatasum: files created since then cannot share blocks with "
		     "files that have checksums");
	findings_remedy(findings, "if dedupe refuses a copy as 'Invalid argument', replace it and "
				  "the kept file by copies of them");
}

/* Adds whether the files of a source can share blocks, and what prevents it. If they cannot, this
 * is no problem and no note. The subject of the findings is the source.
 *
 * fd		root of the source, open for reading
 * mount	the mount that contains it; NULL: not known
 */
static void doctor_examine_dedupe(struct findings *findings, int fd, const struct mountinfo *mount,
				  const struct census *census)
{
	uint64_t nodatacow = census->nodatacow.count;
	/* such a mount makes all new files equal in this respect */
	bool is_nodatasum = mount && mount_entry_has_option(mount, "nodatasum");
	bool is_mixed = !is_nodatasum && nodatacow > 0 &&
			nodatacow < census->directories - census->unreadable;

	if (!filesystem_shares_extents_at(fd)) {
		add_incapable(findings, fd, mount);
		return;
	}
	if (!add_capable(findings, fd, mount, !is_nodatasum && !is_mixed && nodatacow > 0))
		return;
	if (is_mixed)
		add_nodatacow(findings, census);
	if (is_nodatasum)
		add_nodatasum(findings);
}

/* ---- source --------------------------------------------------------------------------------- */

/* Limits up to which a source is counted. */
static const struct census_limits limits = {.names = 2000000, .milliseconds = 2000};

/* A note reports owners and flags if more than one sampled file in this number is concerned. */
#define CONCERNED_SHARE 20

static void examine_filesystem(struct doctor *doctor, int fd)
{
	switch (filesystem_kind_at(fd)) {
	case FILESYSTEM_FINE:
		findings_add(&doctor->findings, VERDICT_OK, "file system",
			     "local: the kernel reports each change");
		break;
	case FILESYSTEM_UNKNOWN:
		findings_add(&doctor->findings, VERDICT_OK, "file system",
			     "of a type whose time stamps can be coarse: a changed file is "
			     "compared a few seconds later");
		break;
	case FILESYSTEM_REMOTE:
		findings_add(&doctor->findings, VERDICT_NOTE, "file system",
			     "remote, or served by a program: the kernel does not report all "
			     "changes, so the source is walked each minute");
		findings_remedy(&doctor->findings,
				"run twinfs on the file server, or set the interval of walks: "
				"twinfs mount --interval=10m");
		break;
	}
}

static void examine_disk(struct doctor *doctor, int fd)
{
	static const char *const kinds[] = {
		[DISK_UNKNOWN] = "of unknown kind: files are read in any order",
		[DISK_SOLID] = "does not rotate: files are read in any order",
		[DISK_ROTATING] =
			"reports that it rotates: files are read in the order of the disk "
			"if trials show seeks (--disk=solid disables this)",
	};

	findings_add(&doctor->findings, VERDICT_OK, "disk", "%s", kinds[disk_kind(fd)]);
}

static void examine_mounts(struct doctor *doctor, const char *path, const struct mount_table *table)
{
	const char *first = NULL;
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++) {
		const char *rest = path_below(table->entries[i].point, path);

		if (!rest || *rest == '\0' || mount_entry_is_view(&table->entries[i]))
			continue;
		first = first ? first : table->entries[i].point;
		count++;
	}
	if (count == 0)
		return;
	findings_add(&doctor->findings, VERDICT_NOTE, "mounts",
		     "%zu other file %s mounted in the source, such as %s, will not be entered",
		     count, plural(count, "system", "systems"), quote_path(first));
	findings_remedy(&doctor->findings,
			"to include them, use --cross-file-systems or name them as sources");
}

static void examine_subvolumes(struct doctor *doctor, const struct census_places *subvolumes)
{
	AUTO_FREE char *first = NULL;

	if (subvolumes->count == 0)
		return;
	first = findings_path_below(&doctor->findings, subvolumes->first);
	if (!first)
		return;
	findings_add(&doctor->findings, VERDICT_NOTE, "subvolumes",
		     "%s in the source, such as %s, will not be entered",
		     counted(subvolumes->count, "subvolume", "subvolumes").text, quote_path(first));
	findings_remedy(&doctor->findings, "to include them, use --cross-file-systems");
}

/* Returns whether a mount by this user can watch the file system of fd as a whole. */
static bool can_use_fanotify(int fd)
{
	struct fanotify_group group;
	bool can = fanotify_group_open(&group, fd) == 0;

	fanotify_group_close(&group);
	return can;
}

static void add_size(struct doctor *doctor, const struct census *census, enum verdict verdict,
		     const char *consequence)
{
	findings_add(&doctor->findings, verdict, "size", "%s%s in %s%s%s%s",
		     census->complete ? "" : "more than ",
		     counted(census->files, "file", "files").text,
		     counted(census->directories, "directory", "directories").text,
		     consequence ? ", and no more than " : "",
		     consequence ? number_text(doctor->watches_left).text : "",
		     consequence ? consequence : "");
}

static void examine_watches(struct doctor *doctor, const struct census *census, int fd)
{
	bool is_watched = !is_remote_filesystem(fd);
	bool fits = !is_watched || census->directories <= doctor->watches_left;

	if (fits) {
		add_size(doctor, census, VERDICT_OK, NULL);
		if (is_watched && doctor->watches_left != UINT64_MAX)
			doctor->watches_left -= census->directories;
	} else if (can_use_fanotify(fd)) {
		add_size(doctor, census, VERDICT_OK,
			 " can be watched by inotify, so fanotify watches the whole file system");
	} else {
		add_size(doctor, census, VERDICT_NOTE,
			 " can be watched, so the source is also walked each minute");
		findings_remedy_of_root(&doctor->findings, "sysctl %s=%llu",
					doctor->watches.setting,
					(unsigned long long)
						inotify_raised(doctor->watches.max,
							       census->directories -
								       doctor->watches_left));
		doctor->watches_left = 0;
	}
}

static void examine_owners(struct doctor *doctor, const struct census *census)
{
	if (census->unreadable > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "readable",
			     "%s of its directories cannot be listed by this user",
			     number_text(census->unreadable).text);
		findings_remedy(&doctor->findings, "run twinfs as a user with permission, or "
						   "--exclude them");
	}
	if (geteuid() == 0 || census->foreign * CONCERNED_SHARE <= census->sampled)
		return;
	findings_add(
		&doctor->findings, VERDICT_NOTE, "owners",
		"%llu of %llu files in the sample belong to other users: this user cannot "
		"take leases on such files, so remove, move, link and dedupe refuse to act on them",
		(unsigned long long)census->foreign, (unsigned long long)census->sampled);
	findings_remedy(&doctor->findings, "run twinfs as the owner of the files");
}

static void examine_immutable(struct doctor *doctor, const struct census *census)
{
	if (census->immutable * CONCERNED_SHARE <= census->sampled)
		return;
	findings_add(&doctor->findings, VERDICT_NOTE, "immutable",
		     "%llu of %llu files in the sample are immutable: remove, move, link and "
		     "dedupe refuse to act on them",
		     (unsigned long long)census->immutable, (unsigned long long)census->sampled);
	findings_remedy_of_root(&doctor->findings, "chattr -i FILE...");
}

static void examine_contents(struct doctor *doctor, const char *path, int fd,
			     const struct mount_table *table)
{
	CLEANUP(census_deinit) struct census census;

	if (census_take(fd, &limits, &census) < 0) {
		doctor->findings.error = -ENOMEM;
		return;
	}
	doctor->files += census.files;
	examine_subvolumes(doctor, &census.subvolumes);
	examine_watches(doctor, &census, fd);
	examine_owners(doctor, &census);
	examine_immutable(doctor, &census);
	doctor_examine_promises(&doctor->findings, fd, mount_table_covering(table, path), &census);
	doctor_examine_dedupe(&doctor->findings, fd, mount_table_covering(table, path), &census);
}

static void examine_open(struct doctor *doctor, const char *path, int fd)
{
	CLEANUP_TABLE struct mount_table table = {0};

	/* without /proc, nothing is known of mounts */
	if (mount_table_read(&table) == -ENOMEM)
		doctor->findings.error = -ENOMEM;
	examine_filesystem(doctor, fd);
	examine_disk(doctor, fd);
	examine_mounts(doctor, path, &table);
	examine_contents(doctor, path, fd, &table);
	if (text_list_add(&doctor->sources, path, strlen(path)) < 0)
		doctor->findings.error = -ENOMEM;
}

void doctor_examine_source(struct doctor *doctor, const char *given)
{
	AUTO_FREE char *path = realpath(given, NULL);
	AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC) : -1;
	int error = errno;

	findings_about(&doctor->findings, "source", path ? path : given);
	if (fd >= 0) {
		examine_open(doctor, path, fd);
	} else {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "readable",
			     "cannot read the source: %s", error_text(error));
		findings_remedy(&doctor->findings,
				error == EACCES
					? "run twinfs as a user with permission to read the source"
					: "name an existing folder");
	}
	findings_about(&doctor->findings, "machine", NULL);
}

/* ---- the folder of the index ----------------------------------------------------------------- */

/* Bytes that a file with its name takes in the index. Measured: 365 with five million files. */
#define BYTES_PER_FILE 400

/* Bytes of an empty index and its first growth. */
#define BYTES_MIN ((uint64_t)1 << 20)

/* Finds the folder of the index. Returns 0 or -errno. */
static int locate(const struct doctor *doctor, char **folder)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	int r;

	if (doctor->index)
		return index_folder_given(doctor->index, folder);
	if (doctor->sources.count == 0)
		return index_folders_parent(folder);
	r = source_paths_resolve(doctor->sources.items, doctor->sources.count, &resolved);
	if (r == 0)
		r = index_folder_for_sources(resolved.items, folder);
	return r;
}

/* Opens the folder, or its nearest existing parent, and shortens path to it. */
static int open_nearest(char *path)
{
	for (;;) {
		int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		char *slash = strrchr(path, '/');

		if (fd >= 0 || !slash || strcmp(path, "/") == 0)
			return fd;
		slash[slash == path] = '\0';
	}
}

static void examine_rights(struct doctor *doctor, int fd, const char *nearest)
{
	struct stat status;

	if (access_effective(AT_FDCWD, nearest, W_OK | X_OK) != 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "rights",
			     "no permission to write to %s", quote_path(nearest));
		findings_remedy(&doctor->findings, "name a folder of your own: --index=DIR");
		return;
	}
	if (fstat(fd, &status) == 0 && strcmp(nearest, doctor->findings.path) == 0 &&
	    status.st_mode & (S_IRWXG | S_IRWXO)) {
		findings_add(&doctor->findings, VERDICT_NOTE, "rights",
			     "other users can enter the folder and see the names of all files");
		findings_remedy(&doctor->findings, "chmod 700 %s", quote_path(nearest));
		return;
	}
	findings_add(&doctor->findings, VERDICT_OK, "rights", "the folder is writable");
}

static void examine_index_filesystem(struct doctor *doctor, int fd)
{
	if (filesystem_kind_at(fd) != FILESYSTEM_REMOTE) {
		findings_add(&doctor->findings, VERDICT_OK, "file system", "local");
		return;
	}
	findings_add(&doctor->findings, VERDICT_PROBLEM, "file system",
		     "remote, or served by a program: its locks are not reliable");
	findings_remedy(&doctor->findings, "name a folder on a local disk: --index=DIR");
}

static void examine_room(struct doctor *doctor, int fd)
{
	uint64_t needed = BYTES_MIN + doctor->files * BYTES_PER_FILE, left;
	struct statvfs figures;

	if (fstatvfs(fd, &figures) < 0)
		return;
	left = (uint64_t)figures.f_bavail * figures.f_frsize;
	findings_add(&doctor->findings, left < needed ? VERDICT_PROBLEM : VERDICT_OK, "room",
		     "%s free, about %s needed", size_text(left).text, size_text(needed).text);
	if (left < needed)
		findings_remedy(&doctor->findings,
				"free space, or name a folder on a larger disk: --index=DIR");
}

void doctor_examine_index(struct doctor *doctor)
{
	AUTO_FREE char *folder = NULL, *nearest = NULL;
	AUTO_CLOSE int fd = -1;

	if (locate(doctor, &folder) < 0 || !folder) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "index",
			     "cannot find a folder for the index");
		findings_remedy(&doctor->findings, "set HOME, or name a folder: --index=DIR");
		return;
	}
	nearest = strdup(folder);
	fd = nearest ? open_nearest(nearest) : -1;
	findings_about(&doctor->findings, "index", folder);
	if (fd < 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "rights",
			     "cannot open the folder");
		findings_remedy(&doctor->findings, "name a folder of your own: --index=DIR");
	} else {
		examine_index_filesystem(doctor, fd);
		examine_rights(doctor, fd, nearest);
		examine_room(doctor, fd);
	}
	findings_about(&doctor->findings, "machine", NULL);
}

/* ---- the mount point ------------------------------------------------------------------------- */

static void add_showing_view(struct doctor *doctor, const char *absolute)
{
	CLEANUP(showing_view_free) struct showing_view showing = {0};

	if (showing_view_find(absolute, &showing) < 0 || !showing.view)
		return;
	findings_add(&doctor->findings, VERDICT_PROBLEM, "mount point",
		     "it is in %s, a source of the view at %s",
		     quote_path(bytes_text(&showing.source)), quote_path(showing.view));
	findings_remedy(&doctor->findings, "choose a mount point outside of that source");
}

/* ---- a mounted view ------------------------------------------------------------------ */

static const char *text_of(const json_t *status, const char *key)
{
	const char *text = json_string_value(json_object_get(status, key));

	return text ? text : "?";
}

static void add_advice(struct doctor *doctor, const json_t *advice)
{
	for (size_t i = 0; i < json_array_size(advice); i++) {
		findings_add(&doctor->findings, VERDICT_NOTE, "speed",
			     "reading the view could be faster");
		findings_remedy(&doctor->findings, "%s",
				json_string_value(json_array_get(advice, i)));
	}
}

static void add_watch_remedy(struct doctor *doctor, const json_t *status)
{
	CLEANUP_BYTES struct bytes text = {0};

	if (status_words_watch_remedy(status, true, &text) < 0 || !bytes_text(&text))
		doctor->findings.error = -ENOMEM;
	else
		findings_remedy(&doctor->findings, "%s", bytes_text(&text));
}

static void add_counts(struct doctor *doctor, const json_t *status)
{
	json_int_t unwatched = json_integer_value(json_object_get(status, "unwatched"));
	json_int_t errors = json_integer_value(json_object_get(status, "errors"));

	if (unwatched > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "watches",
			     "%" JSON_INTEGER_FORMAT " directories could not be watched: their "
			     "source is walked each minute",
			     unwatched);
		add_watch_remedy(doctor, status);
	}
	if (errors > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "errors",
			     "%" JSON_INTEGER_FORMAT " files or directories could not be read",
			     errors);
		findings_remedy(&doctor->findings, "read .twinfs/errors of the view");
	}
}

static void add_unserved(struct doctor *doctor, const json_t *status)
{
	json_int_t folders = json_integer_value(json_object_get(status, "unrefreshed"));
	const json_t *first = json_array_get(json_object_get(status, "unrefreshed_folders"), 0);
	const char *path = json_string_value(json_object_get(first, "path"));

	if (json_object_get(status, "refresh_problem"))
		findings_add(&doctor->findings, VERDICT_NOTE, "events",
			     "programs that watch the view get no events of changes: %s",
			     text_of(status, "refresh_problem"));
	else if (folders > 0)
		findings_add(&doctor->findings, VERDICT_NOTE, "events",
			     "%" JSON_INTEGER_FORMAT " folders of the view are watched by programs "
			     "that do not get all events, such as %s",
			     folders, quote_path(path ? path : ""));
	else
		return;
	findings_remedy(&doctor->findings, "%s", text_of(status, "refresh_remedy"));
}

static void examine_view(struct doctor *doctor, const char *view)
{
	json_auto_t *status = NULL;
	int r = status_file_read(view, &status);

	if (r < 0) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "view",
			     "cannot read the status of the view: %s", error_text(r));
		findings_remedy(
			&doctor->findings, "%s",
			r == -EACCES
				? "run twinfs doctor as the user who mounted the view"
				: "unmount the view with 'fusermount3 -uz' and mount it again");
		return;
	}
	if (json_object_get(status, "problem")) {
		findings_add(&doctor->findings, VERDICT_PROBLEM, "view",
			     "the view cannot update its index: %s", text_of(status, "problem"));
		findings_remedy(&doctor->findings, "%s %s", status_words_stuck_remedy(status),
				text_of(status, "index"));
	} else {
		findings_add(&doctor->findings, VERDICT_OK, "view",
			     "the view is mounted, and %s; watch: %s", text_of(status, "state"),
			     text_of(status, "watch"));
	}
	add_counts(doctor, status);
	add_unserved(doctor, status);
	add_advice(doctor, json_object_get(status, "advice"));
}

/* ---- all ----------------------------------------------------------------------------- */

static void examine_judged(struct doctor *doctor, const struct mount_point_judgement *judgement)
{
	bool is_free = judgement->state == MOUNT_POINT_FREE;
	bool is_unreachable = judgement->state == MOUNT_POINT_UNREACHABLE;

	if (judgement->state == MOUNT_POINT_LIVE) {
		examine_view(doctor, judgement->view);
		return;
	}
	findings_add(&doctor->findings, is_free ? VERDICT_OK : VERDICT_PROBLEM, "mount point",
		     "it %s%s%s", mount_point_cause(judgement->state), is_unreachable ? ": " : "",
		     is_unreachable ? error_text(judgement->error) : "");
	if (is_free)
		add_showing_view(doctor, judgement->absolute);
	else
		findings_remedy(&doctor->findings, "%s", mount_point_remedy(judgement->state));
}

void doctor_examine_mount_point(struct doctor *doctor, const char *given)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = mount_point_judge(given, &judgement);

	if (r < 0) {
		doctor->findings.error = r;
		return;
	}
	findings_about(&doctor->findings, "mount point",
		       judgement.absolute ? judgement.absolute : given);
	examine_judged(doctor, &judgement);
	findings_about(&doctor->findings, "machine", NULL);
}
