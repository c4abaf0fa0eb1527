/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/filesystem.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "cli/doctor.h"
#include "index/mount_table.h"
#include "scan/census.h"
#include "scan/disk_seeks.h"
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
				    const struct mount_entry *mount, const struct census *census)
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

static void add_incapable(struct findings *findings, int fd, const struct mount_entry *mount)
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
static bool add_capable(struct findings *findings, int fd, const struct mount_entry *mount,
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
	char number[NUMBER_TEXT_MAX];

	if (!first)
		return;
	findings_add(findings, VERDICT_NOTE, "nodatacow",
		     "%s of its directories %s nodatacow (chattr +C), such as %s: files created "
		     "there cannot share blocks with files created elsewhere",
		     number_format(number, census->nodatacow.count),
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
static void doctor_examine_dedupe(struct findings *findings, int fd,
				  const struct mount_entry *mount, const struct census *census)
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
	char number[NUMBER_TEXT_MAX];
	AUTO_FREE char *first = NULL;

	if (subvolumes->count == 0)
		return;
	first = findings_path_below(&doctor->findings, subvolumes->first);
	if (!first)
		return;
	findings_add(&doctor->findings, VERDICT_NOTE, "subvolumes",
		     "%s %s in the source, such as %s, will not be entered",
		     number_format(number, subvolumes->count),
		     plural(subvolumes->count, "subvolume", "subvolumes"), quote_path(first));
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
	char files[NUMBER_TEXT_MAX], directories[NUMBER_TEXT_MAX], left[NUMBER_TEXT_MAX];

	findings_add(&doctor->findings, verdict, "size", "%s%s %s in %s %s%s%s%s",
		     census->complete ? "" : "more than ", number_format(files, census->files),
		     plural(census->files, "file", "files"),
		     number_format(directories, census->directories),
		     plural(census->directories, "directory", "directories"),
		     consequence ? ", and no more than " : "",
		     consequence ? number_format(left, doctor->watches_left) : "",
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
	char number[NUMBER_TEXT_MAX];

	if (census->unreadable > 0) {
		findings_add(&doctor->findings, VERDICT_NOTE, "readable",
			     "%s of its directories cannot be listed by this user",
			     number_format(number, census->unreadable));
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
