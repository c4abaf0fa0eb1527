/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/kernel.h"
#include "base/numbers.h"
#include "cli/doctor.h"
#include "index/mount_prerequisites.h"
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
	char first[NUMBER_TEXT_MAX], second[NUMBER_TEXT_MAX];

	if (limit.max == UINT64_MAX)
		return;
	findings_add(&doctor->findings, is_left ? VERDICT_OK : VERDICT_NOTE, "instances",
		     "%s of %s inotify instances are in use; a view takes one for each source%s",
		     number_format(first, used), number_format(second, limit.max),
		     is_left ? "" : ", and without an instance walks the source each minute");
	if (!is_left)
		findings_remedy_of_root(&doctor->findings, "sysctl %s=%llu", limit.setting,
					(unsigned long long)(limit.max < 128 ? 512
									     : 4 * limit.max));
}

static void examine_watches(struct doctor *doctor, uint64_t used)
{
	char first[NUMBER_TEXT_MAX], second[NUMBER_TEXT_MAX];
	bool is_enough;

	doctor->watches = inotify_watches_max();
	doctor->watches_left = UINT64_MAX;
	if (doctor->watches.max == UINT64_MAX)
		return;
	doctor->watches_left = used < doctor->watches.max ? doctor->watches.max - used : 0;
	is_enough = doctor->watches_left >= WATCHES_ENOUGH;
	findings_add(&doctor->findings, is_enough ? VERDICT_OK : VERDICT_NOTE, "watches",
		     "%s more directories can be watched, of %s",
		     number_format(first, doctor->watches_left),
		     number_format(second, doctor->watches.max));
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
	char number[NUMBER_TEXT_MAX];

	if (limit.max == UINT64_MAX)
		return;
	findings_add(&doctor->findings, is_enough ? VERDICT_OK : VERDICT_NOTE, "events",
		     "%s changes can wait in the kernel%s", number_format(number, limit.max),
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
