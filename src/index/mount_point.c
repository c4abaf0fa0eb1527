/* SPDX-License-Identifier: MIT */
#include "index/mount_point.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <mntent.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/confine.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timed_call.h"
#include "index/mount_table.h"

/* Maximum number of stacked dead mounts that are detached. */
#define DEAD_MOUNTS_MAX 64

/* Timeout for the answer to statvfs(2). A daemon that takes longer is stopped, but not dead. */
#define ANSWER_TIMEOUT_MS 2000

/* Finds the absolute path without symlinks. The kernel knows the path of a mount point without a
 * request to the daemon, so this works for a dead mount. */
static int resolve(const char *given, int flags, char **absolute)
{
	AUTO_CLOSE int fd = open(given, O_PATH | O_CLOEXEC | flags);
	char path[PATH_MAX];
	ssize_t length;

	if (fd < 0)
		return -errno;
	length = readlink(fd_path(fd).text, path, sizeof(path));
	if (length < 0)
		return -errno;
	if ((size_t)length == sizeof(path))
		return -ENAMETOOLONG;
	*absolute = strndup(path, (size_t)length);
	return *absolute ? 0 : -ENOMEM;
}

static int get_statvfs(void *context)
{
	struct statvfs figures;

	return statvfs(context, &figures) == 0 ? 0 : -errno;
}

dev_t mount_point_device(const char *point)
{
	struct statx status;

	if (statx(AT_FDCWD, point, AT_STATX_DONT_SYNC | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0,
		  &status) < 0)
		return 0;
	return makedev(status.stx_dev_major, status.stx_dev_minor);
}

bool mount_point_is_dead(const char *point)
{
	int r = call_with_timeout(get_statvfs, (void *)(uintptr_t)point, -1, ANSWER_TIMEOUT_MS);

	return r == -ENOTCONN || r == -ECONNABORTED;
}

/* ---- mounted views ------------------------------------------------------------------- */

int mount_points_list(struct text_list *points)
{
	CLEANUP_TABLE struct mount_table table = {0};
	int r = mount_table_read(&table);

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct mountinfo *entry = &table.entries[i];

		if (mount_entry_is_view(entry))
			r = text_list_add(points, entry->point, strlen(entry->point));
	}
	return r;
}

/* Finds the view for an absolute path without symlinks. */
static int point_of_absolute(const char *absolute, char **point)
{
	CLEANUP_TABLE struct mount_table table = {0};
	const struct mountinfo *entry;
	int r = mount_table_read(&table);

	*point = NULL;
	if (r < 0)
		return r;
	entry = mount_table_covering(&table, absolute);
	if (!entry || !mount_entry_is_view(entry))
		return 0;
	*point = strdup(entry->point);
	return *point ? 0 : -ENOMEM;
}

int mount_point_of(const char *path, char **point)
{
	AUTO_FREE char *absolute = NULL;
	int r = resolve(path, 0, &absolute);

	*point = NULL;
	return r < 0 ? r : point_of_absolute(absolute, point);
}

/* ---- preparing a mount point --------------------------------------------------------- */

static int detach(const char *point)
{
	int r = mount_point_unmount(point, true);

	if (r < 0) {
		log_error(
			"cannot detach the mount of a killed twinfs from %s: %s; unmount it first",
			quote_path(point), error_text(r));
		return MOUNT_POINT_UNFIT;
	}
	log_info("detached the mount of a killed twinfs from %s", quote_path(point));
	return 0;
}

/* Returns 0 for an empty directory, -ENOTEMPTY, or another -errno. */
static int check_empty(const char *absolute)
{
	AUTO_CLOSE int fd = open(absolute, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : directory_check_empty(fd, NULL);
}

/* Returns whether fusermount3 would let this user mount here. fusermount3 requires write permission
 * for the directory, and ownership if the directory is sticky. */
static bool may_mount_on(const char *absolute)
{
	struct stat status;

	if (mount_is_privileged())
		return true;
	if (access_effective(AT_FDCWD, absolute, W_OK) < 0 || stat(absolute, &status) < 0)
		return false;
	return !(status.st_mode & S_ISVTX) || status.st_uid == geteuid();
}

/* Judges a directory that is not in a view. */
static void judge_folder(const char *absolute, struct mount_point_judgement *judgement)
{
	int r = check_empty(absolute);

	if (r == -ENOTEMPTY)
		judgement->state = MOUNT_POINT_NOT_EMPTY;
	else if (r < 0)
		judgement->state = MOUNT_POINT_UNREACHABLE;
	judgement->error = r;
	/* the remedy "-o nonempty" would not help such a user */
	if ((r == 0 || r == -ENOTEMPTY) && !may_mount_on(absolute))
		judgement->state = MOUNT_POINT_NOT_YOURS;
}

static void judge_unresolved(int error, struct mount_point_judgement *judgement)
{
	judgement->error = error;
	if (error == -ENOENT)
		judgement->state = MOUNT_POINT_MISSING;
	else if (error == -ENOTDIR)
		judgement->state = MOUNT_POINT_NO_FOLDER;
	else
		judgement->state = MOUNT_POINT_UNREACHABLE;
}

int mount_point_judge(const char *given, struct mount_point_judgement *judgement)
{
	int r;

	*judgement = (struct mount_point_judgement){.state = MOUNT_POINT_FREE};
	r = resolve(given, O_DIRECTORY, &judgement->absolute);
	if (r == -ENOMEM)
		return r;
	if (!judgement->absolute) {
		judge_unresolved(r, judgement);
		return 0;
	}
	r = point_of_absolute(judgement->absolute, &judgement->view);
	if (r < 0)
		return r;
	if (!judgement->view)
		judge_folder(judgement->absolute, judgement);
	else if (strcmp(judgement->view, judgement->absolute) != 0)
		judgement->state = MOUNT_POINT_IN_VIEW;
	else
		judgement->state =
			mount_point_is_dead(judgement->view) ? MOUNT_POINT_DEAD : MOUNT_POINT_LIVE;
	return 0;
}

void mount_point_judgement_free(struct mount_point_judgement *judgement)
{
	free(judgement->absolute);
	free(judgement->view);
	*judgement = (struct mount_point_judgement){.state = MOUNT_POINT_FREE};
}

static const struct {
	const char *cause, *remedy;
} words[] = {
	[MOUNT_POINT_FREE] = {"is free", "mount"},
	[MOUNT_POINT_LIVE] = {"already has a view mounted on it",
			      "unmount it first with 'twinfs unmount'"},
	[MOUNT_POINT_DEAD] = {"has the mount of a killed twinfs on it",
			      "mount again, which replaces it, or run 'twinfs unmount'"},
	[MOUNT_POINT_IN_VIEW] = {"is inside a mounted view", "choose another mount point"},
	[MOUNT_POINT_MISSING] = {"does not exist", "create the folder first"},
	[MOUNT_POINT_NO_FOLDER] = {"is not a folder", "choose an empty folder"},
	[MOUNT_POINT_NOT_EMPTY] =
		{"is not empty",
		 "choose an empty folder, or give -o nonempty to hide its contents"},
	[MOUNT_POINT_NOT_YOURS] = {"is not a folder that you own and may write to",
				   "choose a folder of your own"},
	[MOUNT_POINT_UNREACHABLE] = {"cannot be examined", "choose another mount point"},
};

const char *mount_point_cause(enum mount_point_state state)
{
	return words[state].cause;
}

const char *mount_point_remedy(enum mount_point_state state)
{
	return words[state].remedy;
}

/* Logs in one line why a mount point cannot be used, and the remedy. */
static void explain(const char *given, const struct mount_point_judgement *judgement)
{
	if (judgement->state == MOUNT_POINT_IN_VIEW)
		log_error("cannot mount on %s: it is inside the view mounted on %s; %s",
			  quote_path(given), quote_path(judgement->view),
			  mount_point_remedy(judgement->state));
	else if (judgement->state == MOUNT_POINT_UNREACHABLE)
		log_error("cannot mount on %s: %s", quote_path(given),
			  error_text(judgement->error));
	else
		log_error("cannot mount on %s: it %s; %s", quote_path(given),
			  mount_point_cause(judgement->state),
			  mount_point_remedy(judgement->state));
}

static int judge_or_explain(const char *given, struct mount_point_judgement *judgement)
{
	int r = mount_point_judge(given, judgement);

	if (r < 0)
		log_error("cannot examine the mount point %s: %s", quote_path(given),
			  error_text(r));
	return r;
}

static bool is_fit(enum mount_point_state state, bool nonempty)
{
	return state == MOUNT_POINT_FREE || (state == MOUNT_POINT_NOT_EMPTY && nonempty);
}

int mount_point_prepare(const char *given, bool nonempty, char **absolute)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = judge_or_explain(given, &judgement);

	*absolute = NULL;
	if (r < 0)
		return r;
	if (judgement.state != MOUNT_POINT_LIVE && judgement.state != MOUNT_POINT_DEAD &&
	    !is_fit(judgement.state, nonempty)) {
		explain(given, &judgement);
		return MOUNT_POINT_UNFIT;
	}
	*absolute = TAKE(judgement.absolute);
	return judgement.state == MOUNT_POINT_LIVE ? MOUNT_POINT_SERVED : MOUNT_POINT_READY;
}

int mount_point_clear(const char *absolute, bool nonempty)
{
	CLEANUP(mount_point_judgement_free) struct mount_point_judgement judgement = {0};
	int r = judge_or_explain(absolute, &judgement);

	if (r < 0 || judgement.state != MOUNT_POINT_DEAD)
		return r;
	for (int i = 0; i < DEAD_MOUNTS_MAX && judgement.state == MOUNT_POINT_DEAD; i++) {
		r = detach(judgement.view);
		mount_point_judgement_free(&judgement);
		if (r == 0)
			r = judge_or_explain(absolute, &judgement);
		if (r != 0)
			return r;
	}
	if (is_fit(judgement.state, nonempty))
		return 0;
	explain(absolute, &judgement);
	return MOUNT_POINT_UNFIT;
}

/* ---- options of a mount ------------------------------------------------------------ */

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

/* ---- obstacles to a mount ---------------------------------------------------------- */

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
} obstacle_words[] = {
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
	return obstacle_words[obstacle].cause;
}

const char *mount_obstacle_remedy(enum mount_obstacle obstacle)
{
	const char *of_user = obstacle_words[obstacle].remedy_of_user;

	return of_user && geteuid() != 0 ? of_user : obstacle_words[obstacle].remedy;
}

/* ---- unmount ----------------------------------------------------------------------- */

/* Maximum number of processes that are named: a message must stay readable. */
#define NAMED_MAX 4

/* ---- unmounting ---------------------------------------------------------------------- */

/* Returns whether the messages of fusermount3 have the text of EBUSY. It prints them in English
 * (fusermount3 sets no locale), and its exit status is the same for each failure. */
static bool reports_busy(int messages)
{
	char text[PATH_MAX + 256] = "";

	return read_fully_at(messages, text, sizeof(text) - 1, 0) > 0 &&
	       strstr(text, error_text(EBUSY));
}

static int run_fusermount(char *const arguments[], int messages)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, messages, STDERR_FILENO);
	if (r == 0)
		r = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (r != 0)
		return -r;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

/* Unmounts by the setuid program fusermount3: only root can do this directly. */
static int unmount_by_fusermount(const char *point, bool detach)
{
	AUTO_CLOSE int messages = memfd_create("fusermount3", MFD_CLOEXEC);
	AUTO_FREE char *operand = strdup(point);
	char program[] = "fusermount3", unmount[] = "-u", lazily[] = "-uz", end[] = "--";
	char *arguments[] = {program, detach ? lazily : unmount, end, operand, NULL};
	int r;

	if (messages < 0 || !operand)
		return -errno;
	r = run_fusermount(arguments, messages);
	return r == -EPERM && reports_busy(messages) ? -EBUSY : r;
}

int mount_point_unmount(const char *point, bool detach)
{
	int flags = UMOUNT_NOFOLLOW | (detach ? MNT_DETACH : 0);
	int r = umount2(point, flags) < 0 ? -errno : 0;

	return r == -EPERM ? unmount_by_fusermount(point, detach) : r;
}

/* ---- the processes that use a view ---------------------------------------------------- */

enum use {
	USE_NONE,
	USE_UNKNOWN, /* this user may not examine the process */
	USE_EVENTS, /* only .twinfs/events is open */
	USE_FILES,
};

static enum use use_of_path(const char *path, const char *point)
{
	const char *below = path_below(path, point);

	if (!below)
		return USE_NONE;
	return strcmp(below, ".twinfs/events") == 0 ? USE_EVENTS : USE_FILES;
}

static enum use use_of_link(int directory, const char *link, const char *point)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(directory, link, target, sizeof(target) - 1);

	if (length <= 0)
		return USE_NONE;
	target[length] = '\0';
	return use_of_path(target, point);
}

static enum use use_of_open_files(int process, const char *point)
{
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	enum use most = USE_NONE, use;

	if (fd < 0)
		return errno == EACCES || errno == EPERM ? USE_UNKNOWN : USE_NONE;
	if (!files)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (most < USE_FILES && files && (entry = readdir(files))) {
		use = use_of_link(fd, entry->d_name, point);
		most = use > most ? use : most;
	}
	return most;
}

/* Returns whether a path in /proc/PID/maps, which has "\\012" for each newline, is in the view. */
static bool is_mapped_path_in(const char *path, const char *point)
{
	static const char newline[] = "\\012";

	for (; *point; point++) {
		if (*point == '\n' && strncmp(path, newline, strlen(newline)) == 0)
			path += strlen(newline);
		else if (*path++ != *point)
			return false;
	}
	return *path == '/';
}

/* Returns whether a file of the view is mapped into the memory of the process. */
static bool has_mapped_file(int process, const char *point)
{
	int fd = openat(process, "maps", O_RDONLY | O_CLOEXEC);
	AUTO_FCLOSE FILE *maps = fd < 0 ? NULL : fdopen(fd, "re");
	AUTO_FREE char *line = NULL;
	size_t size = 0;

	if (!maps && fd >= 0)
		(void)close(fd);
	while (maps && getline(&line, &size, maps) > 0) {
		const char *path = strchr(line, '/');

		if (path && is_mapped_path_in(path, point))
			return true;
	}
	return false;
}

static enum use use_by(int process, const char *point)
{
	if (use_of_link(process, "root", point) || has_mapped_file(process, point))
		return USE_FILES;
	return use_of_open_files(process, point);
}

/* Appends a process. */
static int append_process(int process, const char *pid, struct bytes *text)
{
	AUTO_CLOSE int fd = openat(process, "comm", O_RDONLY | O_CLOEXEC);
	char name[64] = "";

	if (fd < 0 || read_fully_at(fd, name, sizeof(name) - 1, 0) < 0)
		return 0; /* it has ended */
	name[strcspn(name, "\n")] = '\0';
	return bytes_format(text, "%s%s (process %s)", text->length > 0 ? ", " : "",
			    quote_path(name), pid);
}

/* Adds the process if it uses the view, with its name if few are named. Returns 0 or -errno. */
static int add_user(int processes, const char *pid, const char *point, struct mount_users *users)
{
	AUTO_CLOSE int process = openat(processes, pid, O_PATH | O_DIRECTORY | O_CLOEXEC);
	enum use use;
	bool inside;

	if (process < 0)
		return 0;
	inside = use_of_link(process, "cwd", point) != USE_NONE;
	use = inside ? USE_FILES : use_by(process, point);
	users->unexamined |= use == USE_UNKNOWN;
	if (use <= USE_UNKNOWN)
		return 0;
	users->only_events = use == USE_EVENTS && (users->count == 0 || users->only_events);
	users->inside |= inside;
	users->count++;
	return users->count > NAMED_MAX ? 0 : append_process(process, pid, &users->names);
}

int mount_point_find_users(const char *point, struct mount_users *users)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!processes)
		return -errno;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is used by one thread */
	while (r == 0 && (entry = readdir(processes))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			r = add_user(dirfd(processes), entry->d_name, point, users);
	}
	return r;
}
