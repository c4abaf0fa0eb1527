/* SPDX-License-Identifier: MIT */
#include "mountpoint/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

struct option_rule {
	const char *name;
	enum mount_option_kind kind;
	const char *reason;
};

/* Known items. A name that ends with "=" matches any value. */
static const struct option_rule rules[] = {
	/* libfuse, the kernel, SELinux */
	{"context=", MOUNT_OPTION_FUSE, NULL},
	{"defcontext=", MOUNT_OPTION_FUSE, NULL},
	{"fscontext=", MOUNT_OPTION_FUSE, NULL},
	{"fsname=", MOUNT_OPTION_FUSE, NULL},
	{"max_read=", MOUNT_OPTION_FUSE, NULL},
	{"noexec", MOUNT_OPTION_FUSE, NULL},
	{"rootcontext=", MOUNT_OPTION_FUSE, NULL},

	{"allow_other", MOUNT_OPTION_SHARED, NULL},
	{"auto_unmount", MOUNT_OPTION_AUTO_UNMOUNT, NULL},
	{"io_uring", MOUNT_OPTION_IO_URING, NULL},
	{"nonempty", MOUNT_OPTION_NONEMPTY, NULL},
	{"passthrough", MOUNT_OPTION_PASSTHROUGH, NULL},
	{"trusted_xattrs", MOUNT_OPTION_TRUSTED_XATTRS, NULL},

	{"allow_root", MOUNT_OPTION_REFUSED, "the kernel would give all users access"},
	{"bind", MOUNT_OPTION_REFUSED, "a view cannot be bind-mounted with this option"},
	{"rbind", MOUNT_OPTION_REFUSED, "a view cannot be bind-mounted with this option"},
	{"remount", MOUNT_OPTION_REFUSED, "unmount the view and mount it again"},
	{"subtype=", MOUNT_OPTION_REFUSED, "the type of a view must be fuse.twinfs"},

	/* for mount(8) and systemd only */
	{"_netdev", MOUNT_OPTION_IGNORED, NULL},
	{"auto", MOUNT_OPTION_IGNORED, NULL},
	{"comment=", MOUNT_OPTION_IGNORED, NULL},
	{"defaults", MOUNT_OPTION_IGNORED, NULL},
	{"group", MOUNT_OPTION_IGNORED, NULL},
	{"helper=", MOUNT_OPTION_IGNORED, NULL},
	{"loud", MOUNT_OPTION_IGNORED, NULL},
	{"noauto", MOUNT_OPTION_IGNORED, NULL},
	{"nofail", MOUNT_OPTION_IGNORED, NULL},
	{"nogroup", MOUNT_OPTION_IGNORED, NULL},
	{"noowner", MOUNT_OPTION_IGNORED, NULL},
	{"nouser", MOUNT_OPTION_IGNORED, NULL},
	{"nousers", MOUNT_OPTION_IGNORED, NULL},
	{"owner", MOUNT_OPTION_IGNORED, NULL},
	{"silent", MOUNT_OPTION_IGNORED, NULL},
	{"uhelper=", MOUNT_OPTION_IGNORED, NULL},
	{"user", MOUNT_OPTION_IGNORED, NULL},
	{"user=", MOUNT_OPTION_IGNORED, NULL},
	{"users", MOUNT_OPTION_IGNORED, NULL},

	/* properties that every view has, or that have no effect on a read-only view */
	{"async", MOUNT_OPTION_IGNORED, NULL},
	{"atime", MOUNT_OPTION_IGNORED, NULL},
	{"default_permissions", MOUNT_OPTION_IGNORED, NULL},
	{"dev", MOUNT_OPTION_IGNORED, NULL},
	{"diratime", MOUNT_OPTION_IGNORED, NULL},
	{"dirsync", MOUNT_OPTION_IGNORED, NULL},
	{"exec", MOUNT_OPTION_IGNORED, NULL},
	{"iversion", MOUNT_OPTION_IGNORED, NULL},
	{"lazytime", MOUNT_OPTION_IGNORED, NULL},
	{"mand", MOUNT_OPTION_IGNORED, NULL},
	{"noatime", MOUNT_OPTION_IGNORED, NULL},
	{"nodev", MOUNT_OPTION_IGNORED, NULL},
	{"nodiratime", MOUNT_OPTION_IGNORED, NULL},
	{"noiversion", MOUNT_OPTION_IGNORED, NULL},
	{"nolazytime", MOUNT_OPTION_IGNORED, NULL},
	{"nomand", MOUNT_OPTION_IGNORED, NULL},
	{"norelatime", MOUNT_OPTION_IGNORED, NULL},
	{"nostrictatime", MOUNT_OPTION_IGNORED, NULL},
	{"nosuid", MOUNT_OPTION_IGNORED, NULL},
	{"relatime", MOUNT_OPTION_IGNORED, NULL},
	{"ro", MOUNT_OPTION_IGNORED, NULL},
	{"rw", MOUNT_OPTION_IGNORED, NULL},
	{"strictatime", MOUNT_OPTION_IGNORED, NULL},
	{"suid", MOUNT_OPTION_IGNORED, NULL},
	{"sync", MOUNT_OPTION_IGNORED, NULL},
};

/* Digits of a number of bytes that fits the 32 bits of the kernel. */
#define BYTES_DIGITS_MAX 9

static bool matches(const char *name, const char *item)
{
	size_t length = strlen(name);

	if (name[length - 1] == '=')
		return strncmp(name, item, length) == 0;
	return strcmp(name, item) == 0;
}

/* Returns whether an item is max_read with a value that the kernel refuses. */
static bool is_bad_max_read(const char *item)
{
	const char name[] = "max_read=";
	const char *value = item + strlen(name);

	if (strncmp(item, name, strlen(name)) != 0)
		return false;
	return *value == '\0' || value[strspn(value, "0123456789")] != '\0' ||
	       strlen(value) > BYTES_DIGITS_MAX;
}

enum mount_option_kind mount_option_classify(const char *item, const char **reason)
{
	*reason = NULL;
	if (is_bad_max_read(item)) {
		*reason = "it needs a number of bytes, at most 999999999";
		return MOUNT_OPTION_REFUSED;
	}
	if (strncmp(item, "x-", 2) == 0 || strncmp(item, "X-", 2) == 0)
		return MOUNT_OPTION_IGNORED;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (matches(rules[i].name, item)) {
			*reason = rules[i].reason;
			return rules[i].kind;
		}
	}
	return MOUNT_OPTION_UNKNOWN;
}
