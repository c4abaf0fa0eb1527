/* SPDX-License-Identifier: MIT */
#include "index/mount_prerequisites.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/confine.h"
#include "base/kernel.h"

#define DEVICE "/dev/fuse"
#define PROGRAM "fusermount3"

/* Paths that libfuse tries before PATH: those of the Debian package and of an installation from
 * source.
 */
static const char *const known_paths[] = {"/usr/bin/" PROGRAM, "/usr/local/bin/" PROGRAM};

bool mount_is_privileged(void)
{
	return confine_has_capability(CAP_SYS_ADMIN);
}

enum mount_obstacle mount_obstacle_of_device(void)
{
	AUTO_CLOSE int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return MOUNT_NO_OBSTACLE;
	switch (errno) {
	case ENOENT:
		return MOUNT_NO_DEVICE;
	case ENODEV:
	case ENXIO:
		return MOUNT_NO_DRIVER;
	case EACCES:
		return geteuid() == 0 ? MOUNT_DEVICE_FORBIDDEN : MOUNT_DEVICE_REFUSED;
	case EPERM:
		return MOUNT_DEVICE_FORBIDDEN;
	default:
		return MOUNT_NO_OBSTACLE; /* libfuse will report the error */
	}
}

/* ---- fusermount3 --------------------------------------------------------------------- */

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       access_effective(AT_FDCWD, path, X_OK) == 0;
}

/* Finds fusermount3 in a list of folders like PATH, in which an empty item is the current
 * folder. */
static char *search(const char *folders)
{
	while (folders) {
		size_t length = strcspn(folders, ":");
		char *path;

		if (asprintf(&path, "%.*s%s" PROGRAM, (int)length, folders, length ? "/" : "") < 0)
			return NULL;
		if (is_program(path))
			return path;
		free(path);
		folders = folders[length] ? folders + length + 1 : NULL;
	}
	return NULL;
}

char *mount_program_find(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_paths); i++) {
		if (is_program(known_paths[i]))
			return strdup(known_paths[i]);
	}
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
	return search(getenv("PATH"));
}

/* Returns whether a program is set-user-ID root or has file capabilities, and its file system does
 * not ignore them (nosuid). */
static bool has_rights(const char *program)
{
	struct stat status;
	struct statvfs figures;

	if (statvfs(program, &figures) == 0 && figures.f_flag & ST_NOSUID)
		return false;
	if (getxattr(program, "security.capability", NULL, 0) > 0)
		return true;
	return stat(program, &status) == 0 && status.st_uid == 0 && status.st_mode & S_ISUID;
}

enum mount_obstacle mount_obstacle_of_rights(void)
{
	AUTO_FREE char *program = mount_program_find();

	if (mount_is_privileged())
		return MOUNT_NO_OBSTACLE;
	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN, 0, 0, 0) == 0)
		return MOUNT_NOT_PERMITTED;
	if (!program)
		return MOUNT_NO_PROGRAM;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return MOUNT_NO_NEW_RIGHTS;
	if (!has_rights(program))
		return MOUNT_PROGRAM_WITHOUT_RIGHTS;
	return access(MOUNTED, R_OK) == 0 ? MOUNT_NO_OBSTACLE : MOUNT_NO_TABLE;
}

/* ---- all ----------------------------------------------------------------------------- */

enum mount_obstacle mount_obstacle_find(void)
{
	enum mount_obstacle obstacle = mount_obstacle_of_device();

	return obstacle != MOUNT_NO_OBSTACLE ? obstacle : mount_obstacle_of_rights();
}

#define CONTAINER                                            \
	"docker run --device /dev/fuse --cap-add SYS_ADMIN " \
	"--security-opt apparmor=unconfined"

#define BY_ROOT(commands) "as root: " commands, "ask the administrator: " commands

static const struct {
	const char *cause, *remedy;
	const char *remedy_of_user; /* of another user than root; NULL: the same */
} words[] = {
	[MOUNT_NO_OBSTACLE] = {"there is no obstacle", "mount", NULL},
	[MOUNT_NO_DEVICE] = {DEVICE " does not exist",
			     BY_ROOT("modprobe fuse; start a container with: " CONTAINER)},
	[MOUNT_NO_DRIVER] = {"the kernel has no FUSE behind " DEVICE,
			     BY_ROOT("modprobe fuse; for a container, run this on the host")},
	[MOUNT_DEVICE_REFUSED] = {"this user may not open " DEVICE, BY_ROOT("chmod 666 " DEVICE)},
	[MOUNT_DEVICE_FORBIDDEN] = {"no user may open " DEVICE " here",
				    "start the container with: " CONTAINER, NULL},
	[MOUNT_NOT_PERMITTED] = {"mounting is not permitted here: CAP_SYS_ADMIN was removed",
				 "start the container with: " CONTAINER, NULL},
	[MOUNT_NO_NEW_RIGHTS] = {"programs cannot gain privileges here (no_new_privs), but " PROGRAM
				 " needs them",
				 "start the container without --security-opt no-new-privileges, or "
				 "set NoNewPrivileges=no in the unit",
				 NULL},
	[MOUNT_NO_PROGRAM] = {PROGRAM " is missing; users other than root need it to mount",
			      BY_ROOT("apt install fuse3")},
	[MOUNT_PROGRAM_WITHOUT_RIGHTS] =
		{PROGRAM " is not set-user-ID root, or its file system ignores that",
		 BY_ROOT("apt install --reinstall fuse3")},
	[MOUNT_NO_TABLE] = {MOUNTED " is missing; without it " PROGRAM " cannot unmount",
			    BY_ROOT("ln -s ../proc/self/mounts " MOUNTED)},
};

const char *mount_obstacle_cause(enum mount_obstacle obstacle)
{
	return words[obstacle].cause;
}

const char *mount_obstacle_remedy(enum mount_obstacle obstacle)
{
	const char *of_user = words[obstacle].remedy_of_user;

	return of_user && geteuid() != 0 ? of_user : words[obstacle].remedy;
}
