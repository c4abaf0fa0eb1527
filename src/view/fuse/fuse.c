/* SPDX-License-Identifier: MIT */
#include "view/fuse/fuse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "index/mount_point.h"
#include "view/fuse/session.h"
#include "view/fuse/watcher_event.h"

/* Limit of the device name: mount(2) takes one page for all options. */
#define SOURCE_LENGTH_MAX 1000

/* Options of every view. Files of a source are not trusted. */
#define FIXED_OPTIONS "nosuid,nodev,subtype=twinfs"

static void log_from_fuse(enum fuse_log_level level, const char *format, va_list args)
	PRINTF_LIKE(2, 0);
static void log_from_fuse(enum fuse_log_level level, const char *format, va_list args)
{
	char message[1024];

	if (vsnprintf(message, sizeof(message), format, args) < 0)
		return;
	message[strcspn(message, "\n")] = '\0';
	if (level <= FUSE_LOG_ERR)
		log_error("%s", message);
	else if (level <= FUSE_LOG_WARNING)
		log_warning("%s", message);
	else
		log_debug("%s", message);
}

void fuse_options_log(void)
{
	fuse_set_log_func(log_from_fuse);
}

static int add_option(struct fuse_args *args, const char *option)
{
	return fuse_opt_add_arg(args, "-o") == 0 && fuse_opt_add_arg(args, option) == 0 ? 0
											: -ENOMEM;
}

/* Adds name=value. Escapes separators in the value. */
static int add_value(struct fuse_args *args, const char *name, const char *value)
{
	CLEANUP_BYTES struct bytes option = {0};
	AUTO_FREE char *escaped = NULL;
	const char *text;
	int r = bytes_format(&option, "%s=%s", name, value);

	text = r == 0 ? bytes_text(&option) : NULL;
	if (!text || fuse_opt_add_opt_escaped(&escaped, text) != 0)
		return -ENOMEM;
	return add_option(args, escaped);
}

enum session_access fuse_options_access(const struct session_settings *settings)
{
	if (settings->options.shared)
		return SESSION_READ_ONLY;
	if (!mount_is_privileged())
		return SESSION_REFUSING;
	return watcher_event_is_possible() ? SESSION_READ_ONLY_MOUNT : SESSION_READ_ONLY;
}

/* With default_permissions, the kernel checks modes and ACLs. In two cases this program checks
 * instead. In a shared mount, the current permissions at the source count, including those of
 * directories above it. In a writable superblock of a plain user, the kernel would report the
 * user's own files as writable. */
static const char *access_options(const struct session_settings *settings,
				  enum session_access access)
{
	if (settings->options.shared)
		return "ro,allow_other";
	return access == SESSION_REFUSING ? "rw" : "ro,default_permissions";
}

unsigned int fuse_options_max_read(const struct session_settings *settings)
{
	const char name[] = "max_read=";
	unsigned long bytes = 0;

	for (size_t i = 0; i < settings->options.fuse.count; i++) {
		const char *option = settings->options.fuse.items[i];

		if (strncmp(option, name, strlen(name)) == 0)
			bytes = strtoul(option + strlen(name), NULL, 10);
	}
	return (unsigned int)bytes;
}

static int add_options(struct fuse_args *args, const struct session_settings *settings,
		       enum session_access access, bool rings)
{
	const char *source = settings->source;
	int r = fuse_opt_add_arg(args, "twinfs") == 0 ? 0 : -ENOMEM;

	if (strlen(source) > SOURCE_LENGTH_MAX)
		source = "twinfs";
	if (r == 0)
		r = add_option(args, FIXED_OPTIONS);
	if (r == 0)
		r = add_option(args, access_options(settings, access));
	if (r == 0)
		r = add_value(args, "fsname", source);
	if (r == 0 && rings)
		r = add_option(args, "io_uring");
	if (r == 0 && settings->options.debug)
		r = add_option(args, "debug");
	for (size_t i = 0; r == 0 && i < settings->options.fuse.count; i++)
		r = add_option(args, settings->options.fuse.items[i]);
	return r;
}

int fuse_options_session(struct fuse_session **fuse, const struct session_settings *settings,
			 enum session_access access, bool rings, struct session *session)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int r = add_options(&args, settings, access, rings);

	if (r == 0) {
		*fuse = fuse_session_new(&args, &session_callbacks, sizeof(session_callbacks),
					 session);
		r = *fuse ? 0 : -EINVAL;
	}
	fuse_opt_free_args(&args);
	return r;
}

const char *mount_library_version(void)
{
	return fuse_pkgversion();
}
