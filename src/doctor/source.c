/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/filesystem_kind.h"
#include "base/human_text.h"
#include "base/path.h"
#include "base/quote.h"
#include "doctor/dedupe.h"
#include "doctor/doctor.h"
#include "doctor/promises.h"
#include "ingest/census.h"
#include "ingest/disk_kind.h"
#include "mountpoint/table.h"
#include "watch/fanotify_group.h"

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
	static const char *const words[] = {
		[DISK_UNKNOWN] = "of unknown kind: files are read in any order",
		[DISK_SOLID] = "does not rotate: files are read in any order",
		[DISK_ROTATING] =
			"reports that it rotates: files are read in the order of the disk "
			"if trials show seeks (--disk=solid disables this)",
	};

	findings_add(&doctor->findings, VERDICT_OK, "disk", "%s", words[disk_kind(fd)]);
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
