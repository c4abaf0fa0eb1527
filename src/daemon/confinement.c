/* SPDX-License-Identifier: MIT */
#include "daemon/confinement.h"

#include <errno.h>
#include <linux/capability.h>

#include "base/confine.h"
#include "base/error.h"
#include "base/log.h"

/* What root's daemon needs to show all that root would see:
 *
 *	DAC_READ_SEARCH	every folder and file
 *	FOWNER		others' files without moving their atime (O_NOATIME)
 *	LEASE		on others' files: who writes to them (ingest/reading.h)
 *	SYS_ADMIN	only with -o trusted_xattrs, to read those attributes, and -o passthrough
 *	SETUID, SETGID	only where other users get in: to ask the kernel as each of them (view/access.h)
 *
 * Not DAC_OVERRIDE: what root may write is what it owns and the mode allows. Not CHOWN, KILL,
 * SYS_PTRACE and all the others.
 */
#define KEPT (CAPABILITY(CAP_DAC_READ_SEARCH) | CAPABILITY(CAP_FOWNER) | CAPABILITY(CAP_LEASE))
#define KEPT_SHARED (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID))

static uint64_t wanted_capabilities(const struct daemon_settings *settings)
{
	uint64_t wanted = KEPT | (settings->shared ? KEPT_SHARED : 0);

	if (settings->passthrough || settings->trusted_xattrs)
		wanted |= CAPABILITY(CAP_SYS_ADMIN);
	return wanted;
}

#ifdef TWINFS_INSTRUMENTED
/* What looks over our shoulder writes its reports elsewhere. */
static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *said)
{
	(void)settings;
	(void)folder;
	(void)said;
	return 0;
}
#else
/* Notes what holds. What the kernel has not, it cannot; that the view is there counts for more. */
static int note(struct bytes *said, const char *what, int result)
{
	if (result == 0)
		return bytes_format(said, "%s%s", said->length > 0 ? ", " : "", what);
	if (result == -ENOSYS || result == -EOPNOTSUPP)
		log_debug("the kernel has no %s: going on without", what);
	else
		log_warning("going on without %s: %s", what, error_text(result));
	return 0;
}

static unsigned int needed_calls(const struct daemon_settings *settings)
{
	return (settings->io_uring ? CONFINE_WITH_RINGS : 0) |
	       (settings->shared ? CONFINE_WITH_CALLERS : 0);
}

static int restrict_writing(const struct daemon_settings *settings, const char *folder,
			    struct bytes *said)
{
	int r = note(said, "landlock", confine_writing(folder));

	return r < 0 ? r : note(said, "seccomp", confine_calls(needed_calls(settings)));
}
#endif

static int confine(const struct daemon_settings *settings, const char *folder, struct bytes *said)
{
	int r = confine_no_new_privileges();

	if (r == 0)
		r = restrict_writing(settings, folder, said);
	if (r == 0)
		r = confine_capabilities(wanted_capabilities(settings));
	if (r == 0)
		r = bytes_format(said,
				 "%sno_new_privs; capabilities: ", said->length > 0 ? ", " : "");
	return r < 0 ? r : confine_name_capabilities(said);
}

int confinement_begin(const struct daemon_settings *settings, const char *folder,
		      struct bytes *said)
{
	int r;

	if (!settings->foreground)
		log_connect_to_syslog();
	r = confine(settings, folder, said);
	if (r < 0)
		log_error("cannot give up rights that are not needed: %s", error_text(r));
	return r;
}
