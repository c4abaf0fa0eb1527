/* SPDX-License-Identifier: MIT */
#include "index/mount_options.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"
#include "base/text.h"

struct option_rule {
	const char *name;
	enum mount_option_kind kind;
	const char *reason;
};

/* Items with an effect, and refused ones. A name that ends with "=" matches any value. */
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
};

/* Ignored items: those that only mount(8) and systemd use, and those that every view has or that
 * have no effect on a read-only view. */
static const char ignored[] =
	/* for mount(8) and systemd */
	"_netdev,auto,comment=,defaults,group,helper=,loud,noauto,nofail,nogroup,noowner,"
	"nouser,nousers,owner,silent,uhelper=,user,user=,users,"
	/* without effect */
	"async,atime,default_permissions,dev,diratime,dirsync,exec,iversion,lazytime,"
	"mand,noatime,nodev,nodiratime,noiversion,nolazytime,nomand,norelatime,"
	"nostrictatime,nosuid,relatime,ro,rw,strictatime,suid,sync";

/* Digits of a number of bytes that fits the 32 bits of the kernel. */
#define BYTES_DIGITS_MAX 9

static bool matches(const char *name, size_t length, const char *item)
{
	return strncmp(name, item, length) == 0 &&
	       (name[length - 1] == '=' || item[length] == '\0');
}

static bool is_ignored(const char *item)
{
	if (strncmp(item, "x-", 2) == 0 || strncmp(item, "X-", 2) == 0)
		return true;
	for (const char *at = ignored; *at; at += *at == ',') {
		size_t length = list_item_length(at);

		if (matches(at, length, item))
			return true;
		at += length;
	}
	return false;
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
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (matches(rules[i].name, strlen(rules[i].name), item)) {
			*reason = rules[i].reason;
			return rules[i].kind;
		}
	}
	return is_ignored(item) ? MOUNT_OPTION_IGNORED : MOUNT_OPTION_UNKNOWN;
}
