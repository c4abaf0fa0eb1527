/* SPDX-License-Identifier: MIT */
#include "daemon/confinement.h"

#include <errno.h>
#include <linux/capability.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/log.h"
#include "mount/backing.h"
#include "mount/features.h"

/* Capabilities that root's daemon needs to show all files that root can read:
 *
 *	DAC_READ_SEARCH	reads every folder and file
 *	FOWNER		reads other users' files without changing their atime (O_NOATIME)
 *	LEASE		takes leases on other users' files, to detect writers (ingest/reading.h)
 *	SYS_ADMIN	only with -o trusted_xattrs, to read attributes trusted.*, with
 *			-o passthrough, and for passthrough of a source that can never be written.
 *			Without an option it is kept only if the call filter is active.
 *	SETUID, SETGID	only if other users may access the view: permission checks of the kernel
 *			run as the caller (view/access.h)
 *
 * DAC_OVERRIDE, CHOWN, KILL, SYS_PTRACE and all other capabilities are dropped. Without
 * DAC_OVERRIDE root cannot write to files against their mode.
 */
#define KEPT (CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_LEASE))
#define KEPT_SHARED (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

static bool has_sealed_source(const struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		if (sources->list[i].fd >= 0 && backing_is_sealed(sources->list[i].fd))
			return true;
	}
	return false;
}

static uint64_t wanted_capabilities(const struct daemon_settings *settings,
				    const struct sources *sources, bool filtered)
{
	uint64_t wanted = KEPT | (settings->shared ? KEPT_SHARED : 0);

	if (settings->passthrough || settings->trusted_xattrs ||
	    (filtered && features_may_use_passthrough() && has_sealed_source(sources)))
		wanted |= CAPABILITY(CAP_SYS_ADMIN);
	return wanted;
}

#ifdef TWINFS_INSTRUMENTED
/* A build with sanitizers or coverage writes its reports to other folders. */
static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *summary, bool *filtered)
{
	(void)settings;
	(void)folder;
	(void)summary;
	*filtered = true; /* tests expect the capabilities of other builds */
	return 0;
}
#else
/* Adds an active part to the summary. If the kernel refuses the part, the daemon runs without
 * it. */
static int add_to_summary(struct bytes *summary, const char *what, int result)
{
	if (result == 0)
		return bytes_format(summary, "%s%s", summary->length > 0 ? ", " : "", what);
	if (result == -ENOSYS || result == -EOPNOTSUPP)
		log_debug("cannot use %s: not supported by the kernel; continuing without", what);
	else
		log_warning("cannot use %s: %s; continuing without", what, error_text(result));
	return 0;
}

static unsigned int needed_calls(const struct daemon_settings *settings)
{
	return (settings->io_uring ? CONFINE_WITH_RINGS : 0) |
	       (settings->shared ? CONFINE_WITH_CALLERS : 0);
}

/* Sets *filtered to whether the kernel filters system calls. */
static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *summary, bool *filtered)
{
	int r = add_to_summary(summary, "landlock", confine_writing(folder));
	int result;

	if (r < 0)
		return r;
	result = confine_calls(needed_calls(settings));
	*filtered = result == 0;
	return add_to_summary(summary, "seccomp", result);
}
#endif

static int confine(const struct daemon_settings *settings, const char *folder,
		   const struct sources *sources, struct bytes *summary)
{
	bool filtered = false;
	int r = confine_no_new_privileges();

	if (r == 0)
		r = restrict_writing(settings, folder, summary, &filtered);
	if (r == 0)
		r = confine_capabilities(wanted_capabilities(settings, sources, filtered));
	if (r == 0)
		r = bytes_format(summary,
				 "%sno_new_privs; capabilities: ", summary->length > 0 ? ", " : "");
	return r < 0 ? r : confine_name_capabilities(summary);
}

int confinement_begin(const struct daemon_settings *settings, const char *folder,
		      const struct sources *sources, struct bytes *summary)
{
	int r;

	if (!settings->foreground)
		log_connect_to_syslog();
	r = confine(settings, folder, sources, summary);
	if (r < 0)
		log_error("cannot drop privileges: %s", error_text(r));
	return r;
}
