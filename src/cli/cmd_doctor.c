/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/timed_call.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/doctor.h"
#include "index/mount_point.h"

/* Timeout for a file system to answer. A file system that takes longer counts as hung. */
#define ANSWER_TIMEOUT_MS 2000

enum {
	OPT_MOUNT_POINT = OPTION_ID_OWN,
};

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
		.id = OPT_MOUNT_POINT,
	},
	{0},
};

static int doctor_apply(void *context, int id, const char *value)
{
	struct doctor_settings *settings = context;

	if (id != OPT_MOUNT_POINT)
		return common_apply(&settings->common, id, value);
	settings->mount_point = value;
	return 0;
}

static const struct option_table doctor_table = {
	.command = "twinfs doctor",
	.usage = {"[SOURCE...] [MOUNTPOINT]"},
	.summary = "Finds what prevents a view of these sources at this mount point, or makes it "
		   "slower, whether dedupe can share blocks in them, and the remedies. Changes "
		   "nothing. A missing or empty directory, or one with a view mounted on it, "
		   "counts as a mount point.",
	.options = {doctor_options, format_option, index_option, version_option},
	.apply = doctor_apply,
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

enum twinfs_exit cmd_doctor(int argc, char *argv[])
{
	CLEANUP(doctor_deinit) struct doctor doctor = {.index = NULL};
	struct doctor_settings settings = {.mount_point = NULL};
	CLEANUP_OUTPUT struct output output;
	int operands;
	int r;

	output_init(&output, STDOUT_FILENO);
	common_settings_init(&settings.common);
	r = options_parse(&doctor_table, argc, argv, &settings, &operands);
	if (r != 0)
		return options_exit(r);
	doctor.index = settings.common.index.folder;
	r = examine(&doctor, argv + operands, (size_t)(argc - operands));
	if (settings.mount_point)
		doctor_examine_mount_point(&doctor, settings.mount_point);
	if (r == 0)
		r = findings_print(&doctor.findings, &output, settings.common.json);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the findings: %s", error_text(r));
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	return doctor.findings.problems > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}
