/* SPDX-License-Identifier: MIT */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- capabilities -------------------------------------------------------------------- */

/* System calls are used directly: two lines are not worth a dependency on libcap. */

static int get_capabilities(struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3])
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &header, sets) < 0 ? -errno : 0;
}

bool confine_has_capabilities(void)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return get_capabilities(sets) < 0 || sets[0].effective || sets[1].effective;
}

bool confine_has_capability(unsigned int number)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return get_capabilities(sets) == 0 && sets[number / 32].effective & CAP_TO_MASK(number);
}

/* Removes capabilities from the bounding set, if this process has CAP_SETPCAP. */
static int lower_bounds(uint64_t keep)
{
	for (unsigned long number = 0; number < 64; number++) {
		if (prctl(PR_CAPBSET_READ, number, 0, 0, 0) <= 0 || keep & CAPABILITY(number))
			continue;
		if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
			return errno == EPERM ? 0 : -errno;
	}
	return 0;
}

int confine_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	int r = lower_bounds(keep);

	if (r == 0)
		r = get_capabilities(sets);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		uint32_t kept = (uint32_t)(keep >> (32 * i));

		sets[i].permitted &= kept;
		sets[i].effective &= kept;
		sets[i].inheritable = 0;
	}
	/* without inheritable capabilities there are no ambient ones */
	return syscall(SYS_capset, &header, sets) < 0 ? -errno : 0;
}

/* Names for messages. Other capabilities are shown by number. */
static const char *const capability_names[] = {
	[CAP_CHOWN] = "chown",
	[CAP_DAC_OVERRIDE] = "dac_override",
	[CAP_DAC_READ_SEARCH] = "dac_read_search",
	[CAP_FOWNER] = "fowner",
	[CAP_SETGID] = "setgid",
	[CAP_SETUID] = "setuid",
	[CAP_SYS_ADMIN] = "sys_admin",
	[CAP_LEASE] = "lease",
};

static int append_capability(struct bytes *text, unsigned int number)
{
	const char *name = number < ARRAY_SIZE(capability_names) ? capability_names[number] : NULL;

	return name ? bytes_append_text(text, name) : bytes_format(text, "%u", number);
}

int confine_name_capabilities(struct bytes *text)
{
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
	int r = get_capabilities(sets);
	bool some = false;

	for (unsigned int number = 0; r == 0 && number < 64; number++) {
		if (!(sets[number / 32].effective & CAP_TO_MASK(number)))
			continue;
		r = some ? bytes_append_text(text, ",") : 0;
		if (r == 0)
			r = append_capability(text, number);
		some = true;
	}
	return r == 0 && !some ? bytes_append_text(text, "none") : r;
}

int confine_no_new_privileges(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

/* ---- writing ------------------------------------------------------------------------- */

/* Rights newer than the first version of Landlock, for older headers, with the version that added
 * them.
 */
#define ACCESS_REFER (UINT64_C(1) << 13) /* version 2; older versions always refuse it */
#define ACCESS_TRUNCATE (UINT64_C(1) << 14) /* 3 */
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15) /* 5 */
#define ACCESS_NET_TCP UINT64_C(3) /* 4: bind and connect */
#define SCOPE_OUTSIDE UINT64_C(3) /* 6: abstract UNIX sockets and signals */

#define WRITES                                                           \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |     \
	 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
	 LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* The rights that the index folder keeps: an index has only regular files and directories. */
#define FOLDER_WRITES                                                    \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |  \
	 LANDLOCK_ACCESS_FS_MAKE_REG | ACCESS_REFER | ACCESS_TRUNCATE)

/* Accesses that the kernel refuses unless a rule allows them. Version 4 added the second field and
 * version 6 the third. */
struct ruleset {
	uint64_t files;
	uint64_t network;
	uint64_t scopes;
};

static long query_version(void)
{
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return version < 0 ? -errno : version;
}

int confine_landlock_version(void)
{
	long version = query_version();

	return version > 0 ? (int)version : 0;
}

static size_t ruleset_size(long version)
{
	if (version >= 6)
		return sizeof(struct ruleset);
	return version >= 4 ? offsetof(struct ruleset, scopes) : offsetof(struct ruleset, network);
}

/* Makes the ruleset. Sets *writes to the write accesses that this kernel can refuse. Returns a
 * descriptor or -errno. */
static int make_ruleset(uint64_t *writes)
{
	struct ruleset ruleset = {.files = WRITES};
	long version = query_version();
	long fd;

	if (version < 0)
		return (int)version;
	if (version >= 2)
		ruleset.files |= ACCESS_REFER;
	if (version >= 3)
		ruleset.files |= ACCESS_TRUNCATE;
	*writes = ruleset.files;
	ruleset.files |= LANDLOCK_ACCESS_FS_EXECUTE;
	if (version >= 4)
		ruleset.network = ACCESS_NET_TCP;
	if (version >= 5)
		ruleset.files |= ACCESS_IOCTL_DEV;
	if (version >= 6)
		ruleset.scopes = SCOPE_OUTSIDE;
	fd = syscall(SYS_landlock_create_ruleset, &ruleset, ruleset_size(version), 0);
	return fd < 0 ? -errno : (int)fd;
}

static int allow(int ruleset, const char *path, uint64_t accesses)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = accesses};
	AUTO_CLOSE int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rule.parent_fd = fd;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
		       ? -errno
		       : 0;
}

int confine_writing(const char *folder)
{
	uint64_t writes = 0;
	AUTO_CLOSE int ruleset = make_ruleset(&writes);
	int r;

	if (ruleset < 0)
		return ruleset;
	r = folder ? allow(ruleset, folder, writes & FOLDER_WRITES) : 0;
	if (r == 0)
		r = allow(ruleset, "/dev/null", LANDLOCK_ACCESS_FS_WRITE_FILE);
	if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		r = -errno;
	return r;
}
