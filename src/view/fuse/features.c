/* SPDX-License-Identifier: MIT */
#include "view/fuse/features.h"

#include <linux/capability.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/confine.h"
#include "view/fuse/fuse.h"

#define SWITCH_FILE "/sys/module/fuse/parameters/enable_uring"

const char *features_no_passthrough(const struct features *facts)
{
	if (!facts->library_passthrough)
		return "it needs libfuse 3.17, or twinfs built with -Dfuse=newer";
	if (!facts->kernel_passthrough)
		return "it needs Linux 6.9";
	return facts->privileged ? NULL : "only root can mount with it";
}

const char *features_no_io_uring(const struct features *facts)
{
	if (!facts->library_io_uring)
		return "it needs libfuse 3.18 with liburing, or twinfs built with "
		       "-Dfuse=newer and liburing";
	switch (facts->kernel_io_uring) {
	case FEATURE_MISSING:
		return "it needs Linux 6.14";
	case FEATURE_OFF:
		return facts->privileged ? "it is disabled in the kernel; run: echo Y >" SWITCH_FILE
					 : "it is disabled in the kernel";
	case FEATURE_ON:
		break;
	}
	return NULL;
}

enum backing_choice features_backing(const struct features *facts)
{
	if (features_no_passthrough(facts) || !facts->can_open_backing)
		return BACKING_NONE;
	return facts->wants_passthrough ? BACKING_ALL : BACKING_SEALED;
}

const char *features_read_mode(enum backing_choice choice)
{
	static const char *const names[] = {
		[BACKING_NONE] = "copy",
		[BACKING_SEALED] = "copy, passthrough of sealed files",
		[BACKING_ALL] = "passthrough",
	};

	return names[choice];
}

/* Only root can use passthrough. */
static const char *advise_reading(const struct features *facts)
{
	if (!facts->privileged)
		return NULL;
	if (facts->wants_passthrough && !features_no_passthrough(facts))
		return NULL;
	if (!facts->library_passthrough)
		return "build with -Dfuse=newer, for passthrough and io_uring";
	if (!facts->kernel_passthrough)
		return "run Linux 6.9 or later, for passthrough";
	return "mount with -o passthrough, if no program writes to files while the view reads them";
}

static const char *advise_transport(const struct features *facts)
{
	if (!facts->privileged && facts->kernel_io_uring != FEATURE_ON)
		return NULL; /* only root can change this */
	if (!facts->library_io_uring)
		return facts->library_passthrough || !facts->privileged
			       ? "build with -Dfuse=newer and liburing, for io_uring"
			       : NULL;
	if (facts->kernel_io_uring == FEATURE_MISSING)
		return "run Linux 6.14 or later, for io_uring";
	if (facts->kernel_io_uring == FEATURE_OFF)
		return "echo Y >" SWITCH_FILE " and mount with -o io_uring";
	return facts->wants_io_uring ? NULL : "mount with -o io_uring";
}

void features_advise(const struct features *facts, const char *advice[FEATURE_ADVICE_MAX])
{
	const char *all[] = {advise_reading(facts), advise_transport(facts)};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i])
			advice[count++] = all[i];
	}
	advice[count] = NULL;
}

/* Reads the kernel's parameter for io_uring. */
static enum feature_switch kernel_switch(void)
{
	AUTO_FCLOSE FILE *file = fopen(SWITCH_FILE, "re");
	int word = file ? fgetc(file) : EOF;

	if (word == EOF)
		return FEATURE_MISSING;
	return word == 'Y' || word == '1' ? FEATURE_ON : FEATURE_OFF;
}

bool features_kernel_is(const char *release, unsigned int major, unsigned int minor)
{
	char *rest;
	unsigned long first = strtoul(release, &rest, 10);
	unsigned long second = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;

	return first > major || (first == major && second >= minor);
}

void features_gather(struct features *facts)
{
	struct utsname system = {.release = ""};

	(void)uname(&system);
	*facts = (struct features){
		.library_passthrough = PASSTHROUGH_KNOWN,
		.library_io_uring = RINGS_KNOWN,
		.kernel_passthrough = features_kernel_is(system.release, 6, 9),
		/* older stable releases have this mend only from some point on (CVE-2024-44947) */
		.kernel_zeroes_stores = features_kernel_is(system.release, 6, 11),
		.kernel_io_uring = kernel_switch(),
		.privileged = geteuid() == 0,
		.can_open_backing = confine_has_capability(CAP_SYS_ADMIN),
	};
}

bool features_may_use_passthrough(void)
{
	struct features facts;

	features_gather(&facts);
	return !features_no_passthrough(&facts);
}
