/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/timed_call.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/doctor.h"
#include "index/mount_point.h"
#include "view/fuse/features.h"
#include "view/fuse/mount.h"
#include "view/tree/caller.h"

/* Open files that a daemon needs for itself. Measured: it starts with 24. */
#define FILES_NEEDED 64

/* If the limit is lower, programs that open many files of the view can reach it. */
#define FILES_ENOUGH 1024

/* A single home folder can need more watches than this. */
#define WATCHES_ENOUGH 8192

/* Default of the kernel for queued events. */
#define EVENTS_ENOUGH 16384

/* ---- FUSE ---------------------------------------------------------------------------- */

static void add_obstacle(struct doctor *doctor, const char *check, enum mount_obstacle obstacle)
{
	findings_add(&doctor->findings, VERDICT_PROBLEM, check, "%s",
		     mount_obstacle_cause(obstacle));
	findings_remedy(&doctor->findings, "%s", mount_obstacle_remedy(obstacle));
}

static void examine_fuse(struct doctor *doctor)
{
	enum mount_obstacle device = mount_obstacle_of_device();
	enum mount_obstacle rights = mount_obstacle_of_rights();
	AUTO_FREE char *program = mount_program_find();

	if (device != MOUNT_NO_OBSTACLE)
		add_obstacle(doctor, "fuse device", device);
	else
		findings_add(&doctor->findings, VERDICT_OK, "fuse device",
			     "/dev/fuse can be opened");
	if (rights != MOUNT_NO_OBSTACLE)
		add_obstacle(doctor, "mounting", rights);
	else if (mount_is_privileged())
		findings_add(&doctor->findings, VERDICT_OK, "mounting",
			     "permitted; fusermount3 is not needed");
	else
		findings_add(&doctor->findings, VERDICT_OK, "mounting", "by %s, set-uid root",
			     program ? program : "fusermount3");
	findings_add(&doctor->findings, VERDICT_OK, "libfuse", "%s", mount_library_version());
}

/* Returns whether a line of /etc/fuse.conf begins with this word. */
static bool fuse_conf_has(const char *word)
{
	AUTO_FCLOSE FILE *file = fopen("/etc/fuse.conf", "re");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, " \t\n")] = '\0';
		if (strcmp(line, word) == 0)
			return true;
	}
	return false;
}

/* Examines whether a view can be shared. Without permission the verdict is still ok, as few views
 * are shared. */
static void examine_sharing(struct doctor *doctor)
{
	if (caller_try_impersonation() == 0)
		findings_add(&doctor->findings, VERDICT_OK, "sharing",
			     "a view can be shared with other users by -o allow_other");
	else
		findings_add(&doctor->findings, VERDICT_OK, "sharing",
			     "only root can share a view with other users (-o allow_other)%s",
			     fuse_conf_has("user_allow_other")
				     ? "; user_allow_other in /etc/fuse.conf is not enough"
				     : "");
}

/* ---- limits -------------------------------------------------------------------------- */

static void examine_open_files(struct doctor *doctor)
{
	struct rlimit limit;
	enum verdict verdict = VERDICT_OK;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	if (limit.rlim_max < FILES_NEEDED)
		verdict = VERDICT_PROBLEM;
	else if (limit.rlim_max < FILES_ENOUGH)
		verdict = VERDICT_NOTE;
	if (limit.rlim_max == RLIM_INFINITY)
		findings_add(&doctor->findings, verdict, "open files", "no limit");
	else
		findings_add(&doctor->findings, verdict, "open files",
			     "at most %llu in all programs that read a view together",
			     (unsigned long long)limit.rlim_max);
	if (verdict != VERDICT_OK)
		findings_remedy_of_root(&doctor->findings,
					"prlimit --pid $$ --nofile=%d, or LimitNOFILE=%d in a "
					"unit, or a line in /etc/security/limits.conf",
					FILES_ENOUGH, FILES_ENOUGH);
}

static void examine_instances(struct doctor *doctor, uint64_t used)
{
	struct inotify_limit limit = inotify_instances_max();
	bool is_left = used < limit.max;

	if (limit.max == UINT64_MAX)
		return;
	findings_add(&doctor->findings, is_left ? VERDICT_OK : VERDICT_NOTE, "instances",
		     "%s of %s inotify instances are in use; a view takes one for each source%s",
		     number_text(used).text, number_text(limit.max).text,
		     is_left ? "" : ", and without an instance walks the source each minute");
	if (!is_left)
		findings_remedy_of_root(&doctor->findings, "sysctl %s=%llu", limit.setting,
					(unsigned long long)(limit.max < 128 ? 512
									     : 4 * limit.max));
}

static void examine_watches(struct doctor *doctor, uint64_t used)
{
	bool is_enough;

	doctor->watches = inotify_watches_max();
	doctor->watches_left = UINT64_MAX;
	if (doctor->watches.max == UINT64_MAX)
		return;
	doctor->watches_left = used < doctor->watches.max ? doctor->watches.max - used : 0;
	is_enough = doctor->watches_left >= WATCHES_ENOUGH;
	findings_add(&doctor->findings, is_enough ? VERDICT_OK : VERDICT_NOTE, "watches",
		     "%s more directories can be watched, of %s",
		     number_text(doctor->watches_left).text, number_text(doctor->watches.max).text);
	if (!is_enough)
		findings_remedy_of_root(&doctor->findings, "sysctl %s=%llu",
					doctor->watches.setting,
					(unsigned long long)inotify_raised(doctor->watches.max,
									   WATCHES_ENOUGH));
}

static void examine_events(struct doctor *doctor)
{
	struct inotify_limit limit = inotify_events_max();
	bool is_enough = limit.max >= EVENTS_ENOUGH;

	if (limit.max == UINT64_MAX)
		return;
	findings_add(&doctor->findings, is_enough ? VERDICT_OK : VERDICT_NOTE, "events",
		     "%s changes can wait in the kernel%s", number_text(limit.max).text,
		     is_enough ? "" : "; if more occur, the source is walked again");
	if (!is_enough)
		findings_remedy_of_root(&doctor->findings, "sysctl %s=%d", limit.setting,
					EVENTS_ENOUGH);
}

static void examine_inotify(struct doctor *doctor)
{
	struct inotify_use use;

	inotify_use_of(geteuid(), &use);
	examine_instances(doctor, use.instances);
	examine_watches(doctor, use.watches);
	examine_events(doctor);
}

static void examine_leases(struct doctor *doctor)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/sys/fs/leases-enable", "re");
	bool is_off = file && fgetc(file) == '0';

	findings_add(&doctor->findings, is_off ? VERDICT_NOTE : VERDICT_OK, "leases",
		     is_off ? "disabled: remove, move, link and dedupe refuse to act, and open "
			      "writers of a file are not detected"
			    : "enabled: writers of a file are detected");
	if (is_off)
		findings_remedy_of_root(&doctor->findings, "sysctl fs.leases-enable=1");
}

/* ---- container ------------------------------------------------------------------------ */

static void examine_system_calls(struct doctor *doctor)
{
	size_t next = 0;
	const char *call;

	while ((call = system_call_next_filtered(&next))) {
		findings_add(&doctor->findings, VERDICT_NOTE, "system calls",
			     "a filter forbids %s(2); twinfs uses a slower substitute", call);
		findings_remedy(&doctor->findings, "%s", system_call_remedy());
	}
}

/* ---- security and speed -------------------------------------------------------------- */

static void examine_confinement(struct doctor *doctor)
{
	int landlock = confine_landlock_version();
	bool has_filter = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0;

	if (landlock > 0 && has_filter) {
		findings_add(&doctor->findings, VERDICT_OK, "confinement",
			     "Landlock %d and seccomp confine a view: it can write only to "
			     "its index",
			     landlock);
		return;
	}
	findings_add(&doctor->findings, VERDICT_NOTE, "confinement",
		     "this kernel has no %s: a view is less confined than the manual describes",
		     landlock > 0 ? "seccomp" : "Landlock");
	findings_remedy_of_root(
		&doctor->findings,
		"run Linux 5.13 or later with lsm=landlock,... on its command line");
}

/* Units of a user need the user's instance of systemd. Units of root need the instance of the
 * system. */
static void examine_systemd(struct doctor *doctor)
{
	char path[64] = "/run/systemd/system";

	if (access(path, F_OK) != 0) {
		findings_add(&doctor->findings, VERDICT_OK, "systemd",
			     "does not run this system: mount views by fstab or scripts");
		return;
	}
	if (geteuid() != 0)
		(void)snprintf(path, sizeof(path), "/run/user/%u/systemd", (unsigned int)geteuid());
	if (access(path, F_OK) == 0) {
		findings_add(&doctor->findings, VERDICT_OK, "systemd",
			     "twinfs@.service can mount views%s",
			     geteuid() != 0 ? " at each login" : "");
		return;
	}
	findings_add(&doctor->findings, VERDICT_NOTE, "systemd",
		     "no instance runs for this user: twinfs@.service cannot mount views");
	findings_remedy(&doctor->findings,
			"log in, or ask the administrator: loginctl enable-linger %u",
			(unsigned int)geteuid());
}

static void examine_speed(struct doctor *doctor)
{
	const char *advice[FEATURE_ADVICE_MAX];
	struct features facts;

	features_gather(&facts);
	features_advise(&facts, advice);
	for (size_t i = 0; advice[i]; i++) {
		findings_add(&doctor->findings, VERDICT_NOTE, "speed",
			     "reading a view could be faster");
		findings_remedy(&doctor->findings, "%s", advice[i]);
	}
}

void doctor_examine_machine(struct doctor *doctor)
{
	struct utsname system;

	findings_about(&doctor->findings, "machine", NULL);
	if (uname(&system) == 0)
		findings_add(&doctor->findings, VERDICT_OK, "kernel", "%s %s", system.sysname,
			     system.release);
	examine_system_calls(doctor);
	examine_fuse(doctor);
	examine_sharing(doctor);
	examine_open_files(doctor);
	examine_inotify(doctor);
	examine_leases(doctor);
	examine_confinement(doctor);
	examine_systemd(doctor);
	examine_speed(doctor);
}

/* Timeout for a file system to answer. A file system that takes longer counts as hung. */
#define ANSWER_TIMEOUT_MS 2000

struct doctor_settings {
	struct common_settings common;
	const char *mount_point; /* NULL: not given */
};

static const struct option_spec doctor_options[] = {
	{.heading = "Checking"},
	{
		.name = "mount-point",
		.letter = 'm',
		.argument = "DIR",
		.help = "directory to mount on, even if it is not empty",
		.at = offsetof(struct doctor_settings, mount_point),
		.set = option_set_text,
	},
	{0},
};

static void doctor_deinit(struct doctor *doctor)
{
	findings_deinit(&doctor->findings);
	text_list_free(&doctor->sources);
}

/* Returns whether an operand is a mount point, not a source. */
static bool is_for_mounting(const char *given)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};

	if (mount_point_judge(given, &judgement) < 0)
		return false;
	switch (judgement.state) {
	case MOUNT_POINT_NOT_EMPTY:
	case MOUNT_POINT_NO_FOLDER:
	case MOUNT_POINT_UNREACHABLE:
		return false;
	case MOUNT_POINT_NOT_YOURS:
		return judgement.error == 0;
	case MOUNT_POINT_FREE:
	case MOUNT_POINT_LIVE:
	case MOUNT_POINT_DEAD:
	case MOUNT_POINT_IN_VIEW:
	case MOUNT_POINT_MISSING:
		break;
	}
	return true;
}

/* Runs in a child process (base/timed_call.h). */
static int stat_filesystem(void *context)
{
	AUTO_CLOSE int fd = open(context, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct statfs figures;

	return fd < 0 || fstatfs(fd, &figures) < 0 ? -errno : 0;
}

enum operand_kind {
	OPERAND_UNRESPONSIVE, /* system calls on it can block forever */
	OPERAND_SOURCE,
	OPERAND_MOUNT_POINT,
};

static enum operand_kind classify(char *given)
{
	if (call_with_timeout(stat_filesystem, given, -1, ANSWER_TIMEOUT_MS) == -ETIMEDOUT)
		return OPERAND_UNRESPONSIVE;
	return is_for_mounting(given) ? OPERAND_MOUNT_POINT : OPERAND_SOURCE;
}

static void add_unresponsive(struct doctor *doctor, const char *given)
{
	findings_about(&doctor->findings, "source", given);
	findings_add(&doctor->findings, VERDICT_PROBLEM, "readable",
		     "the file system does not answer");
	findings_remedy(&doctor->findings,
			"check whether the process or server behind the file system is "
			"stopped or unreachable, or run 'umount -l' on it");
}

/* Examines the machine, the sources, the index and the mount points, in this order: the size of the
 * index depends on the sources.
 */
static int examine(struct doctor *doctor, char **given, size_t count)
{
	AUTO_FREE enum operand_kind *kinds = calloc(count + 1, sizeof(*kinds));

	if (!kinds)
		return -ENOMEM;
	doctor_examine_machine(doctor);
	for (size_t i = 0; i < count; i++) {
		kinds[i] = classify(given[i]);
		if (kinds[i] == OPERAND_UNRESPONSIVE)
			add_unresponsive(doctor, given[i]);
		else if (kinds[i] == OPERAND_SOURCE)
			doctor_examine_source(doctor, given[i]);
	}
	doctor_examine_index(doctor);
	for (size_t i = 0; i < count; i++) {
		if (kinds[i] == OPERAND_MOUNT_POINT)
			doctor_examine_mount_point(doctor, given[i]);
	}
	return 0;
}

static enum twinfs_exit run(void *context, char **operands, size_t count)
{
	const struct doctor_settings *settings = context;
	CLEANUP(doctor_deinit) struct doctor doctor = {.index = settings->common.index.folder};
	CLEANUP_OUTPUT struct output output;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = examine(&doctor, operands, count);
	if (settings->mount_point)
		doctor_examine_mount_point(&doctor, settings->mount_point);
	if (r == 0)
		r = findings_print(&doctor.findings, &output, settings->common.json);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the findings: %s", error_text(r));
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	return doctor.findings.problems > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

const struct command doctor_command = {
	.options = {.command = "twinfs doctor",
		    .usage = {"[SOURCE...] [MOUNTPOINT]"},
		    .summary = "Finds what prevents a view of these sources at this mount point, "
			       "or makes it slower, whether dedupe can share blocks in them, and "
			       "the remedies. Changes nothing. A missing or empty directory, or "
			       "one with a view mounted on it, counts as a mount point.",
		    .options = {doctor_options, format_option, index_option, version_option}},
	.settings_bytes = sizeof(struct doctor_settings),
	.run = run,
};
