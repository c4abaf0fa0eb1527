/* SPDX-License-Identifier: MIT */
#include "view/tree/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/confine.h"
#include "base/hash.h"
#include "base/log.h"

/* The calls with 32-bit ids, on systems that have two versions of each call. */
#ifdef SYS_setgroups32
#define CALL_SETGROUPS SYS_setgroups32
#define CALL_SETRESGID SYS_setresgid32
#define CALL_SETRESUID SYS_setresuid32
#define CALL_SETFSUID SYS_setfsuid32
#else
#define CALL_SETGROUPS SYS_setgroups
#define CALL_SETRESGID SYS_setresgid
#define CALL_SETRESUID SYS_setresuid
#define CALL_SETFSUID SYS_setfsuid
#endif

/* The argument that leaves an id unchanged. No user has this id. */
#define NO_ID (-1)

/* The effective user of a thread that impersonates a caller. No user of any system has this id. */
#define UNUSED_UID ((uid_t)-2)

/* Index of the file system id among the four ids in a line of /proc/PID/status. */
#define FILE_SYSTEM_ID 3

/* For caller_try_impersonation(): a user other than root, which a user namespace is likely to
 * have. */
#define ORDINARY_UID 1

#define READ_SIZE 4096

void caller_free(struct caller *caller)
{
	free(caller->groups);
	*caller = (struct caller){0};
}

/* ---- identity ----------------------------------------------------------------------- */

/* Returns the text after a word at the beginning of a line, or NULL if no line begins with the
 * word. The first line has the name of a program, in which the kernel escapes newlines. */
static const char *find_line(const char *status, const char *word)
{
	size_t length = strlen(word);

	while (strncmp(status, word, length) != 0) {
		status = strchr(status, '\n');
		if (!status)
			return NULL;
		status++;
	}
	return status + length;
}

/* Reads the next number of a line. Returns false if there is none of 32 bits. */
static bool next_id(const char **at, uint32_t *id)
{
	unsigned long number;
	char *end;

	*at += strspn(*at, "\t ");
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	number = strtoul(*at, &end, 10);
	if (errno || number > UINT32_MAX)
		return false;
	*id = (uint32_t)number;
	*at = end;
	return true;
}

static bool has_file_system_id(const char *status, const char *word, uint32_t wanted)
{
	const char *at = find_line(status, word);
	uint32_t id = 0;

	if (!at)
		return false;
	for (int i = 0; i <= FILE_SYSTEM_ID; i++) {
		if (!next_id(&at, &id))
			return false;
	}
	return id == wanted;
}

static int parse_groups(struct caller *caller, const char *at)
{
	const char *rest = at;
	size_t count = 0;
	uint32_t id;

	while (next_id(&rest, &id))
		count++;
	if (*rest != '\n')
		return -EACCES; /* the text was truncated */
	caller->groups = calloc(count ? count : 1, sizeof(*caller->groups));
	if (!caller->groups)
		return -ENOMEM;
	while (caller->count < count && next_id(&at, &id))
		caller->groups[caller->count++] = id;
	return 0;
}

/* Returns whether the thread has a capability that allows it to read files regardless of their
 * mode.
 */
static bool may_read(const char *status)
{
	const char *at = find_line(status, "CapEff:");

	return at && strtoull(at, NULL, 16) &
			     (CAPABILITY(CAP_DAC_OVERRIDE) | CAPABILITY(CAP_DAC_READ_SEARCH));
}

int caller_parse(struct caller *caller, const char *status, uid_t uid, gid_t gid)
{
	const char *groups = find_line(status, "Groups:");

	*caller =
		(struct caller){.uid = uid, .gid = gid, .reads_all = uid == 0 && may_read(status)};
	if (!groups || !has_file_system_id(status, "Uid:", uid) ||
	    !has_file_system_id(status, "Gid:", gid))
		return -EACCES;
	return parse_groups(caller, groups);
}

/* Reads a file of a thread in /proc. The kernel generates the whole text at the first read. */
static int read_proc(pid_t thread, const char *name, struct bytes *text)
{
	char path[sizeof("/proc//task//uid_map") + 6 * sizeof(thread)];
	AUTO_CLOSE int fd = -1;
	ssize_t length;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)thread, (int)thread, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -EACCES : -errno;
	do {
		int r = bytes_reserve(text, READ_SIZE);

		if (r < 0)
			return r;
		length = read(fd, text->data + text->length, READ_SIZE);
		if (length < 0)
			return errno == ESRCH ? -EACCES : -errno;
		text->length += (size_t)length;
	} while (length == READ_SIZE);
	return 0;
}

/* Finds whether the user namespace of a thread maps every id to itself. The kernel writes the map
 * of the initial namespace as "0 0 4294967295". Returns 1, 0 or -errno. */
static int has_all_ids(pid_t thread, const char *name)
{
	CLEANUP_BYTES struct bytes text = {0};
	int r = read_proc(thread, name, &text);
	uint32_t inside, outside, count;
	const char *at;

	if (r < 0)
		return r;
	at = bytes_text(&text);
	if (!at)
		return -ENOMEM;
	return next_id(&at, &inside) && next_id(&at, &outside) && next_id(&at, &count) &&
	       inside == 0 && outside == 0 && count == UINT32_MAX;
}

static int check_namespace(struct caller *caller, pid_t thread)
{
	int r = has_all_ids(thread, "uid_map");

	if (r > 0)
		r = has_all_ids(thread, "gid_map");
	caller->reads_all = r > 0;
	return r < 0 ? r : 0;
}

int caller_read(struct caller *caller, pid_t thread, uid_t uid, gid_t gid)
{
	CLEANUP_BYTES struct bytes text = {0};
	const char *status;
	int r;

	*caller = (struct caller){0};
	r = thread ? read_proc(thread, "status", &text) : -EACCES;
	if (r < 0)
		return r;
	status = bytes_text(&text);
	r = status ? caller_parse(caller, status, uid, gid) : -ENOMEM;
	return r == 0 && caller->reads_all ? check_namespace(caller, thread) : r;
}

uint64_t caller_digest(const struct caller *caller)
{
	const uint32_t ids[] = {caller->uid, caller->gid};
	uint64_t digest = hash64(ids, sizeof(ids), 0);

	return hash64(caller->groups, caller->count * sizeof(*caller->groups), digest);
}

/* ---- impersonation ------------------------------------------------------------------- */

/* Sets the effective capabilities of this thread to the permitted ones in mask. The kernel sets all
 * or none of them when the user id changes from or to root. */
static int set_capabilities(uint64_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, sets) != 0)
		return -errno;
	for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		sets[i].effective = sets[i].permitted & (uint32_t)(mask >> 32 * i);
	return syscall(SYS_capset, &header, sets) != 0 ? -errno : 0;
}

/* Sets the effective user, unless the caller is root. If the user namespace lacks UNUSED_UID, the
 * thread gets the id of the caller.
 */
static int set_effective_user(uid_t caller)
{
	if (caller == 0 || syscall(CALL_SETRESUID, NO_ID, UNUSED_UID, NO_ID) == 0)
		return 0;
	return syscall(CALL_SETRESUID, NO_ID, caller, NO_ID) == 0 ? 0 : -errno;
}

/* setfsuid(2) reports no error but returns the previous id. With an invalid id, setfsuid(2) only
 * returns the current id.
 */
static int set_file_system_user(uid_t caller)
{
	(void)syscall(CALL_SETFSUID, caller);
	return (uid_t)syscall(CALL_SETFSUID, NO_ID) == caller ? 0 : -EACCES;
}

/* Sets the ids of the caller. The group id is both effective and the one for file systems. */
static int take_ids(const struct caller *caller)
{
	int r;

	if (syscall(CALL_SETRESGID, NO_ID, caller->gid, NO_ID) != 0)
		return -errno;
	r = getegid() == caller->gid ? set_effective_user(caller->uid) : -EACCES;
	if (r == 0)
		r = set_capabilities(CAPABILITY(CAP_SETUID));
	if (r == 0)
		r = set_file_system_user(caller->uid);
	return r == 0 ? set_capabilities(0) : r;
}

/* Uses system calls directly, because the functions of the C library change all threads.
 *
 * The user id of the caller becomes the file system id, but not the effective id. A caller could
 * change the priority, the policy and the processors of a thread with the same effective id
 * (sched_setscheduler(2)). The effective id does not stay root either: FUSE would let a thread with
 * that effective id into mounts that only root may access. The real ids stay unchanged, so that no
 * other user can send signals to the process. */
int caller_impersonate(const struct caller *caller)
{
	int r;

	if (caller->uid == (uid_t)NO_ID || caller->gid == (gid_t)NO_ID)
		return -EACCES;
	if (syscall(CALL_SETGROUPS, caller->count, caller->groups) != 0)
		return -errno;
	r = take_ids(caller);
	if (r < 0)
		caller_revert();
	return r;
}

void caller_revert(void)
{
	/* the user id is restored first: only root may change the groups */
	if (syscall(CALL_SETRESUID, NO_ID, getuid(), NO_ID) == 0 &&
	    set_capabilities(UINT64_MAX) == 0 &&
	    syscall(CALL_SETRESGID, NO_ID, getgid(), NO_ID) == 0 &&
	    syscall(CALL_SETGROUPS, (size_t)0, NULL) == 0)
		return;
	/* continuing would act as another user */
	log_error("cannot return to root: %s", error_text(errno));
	abort();
}

int caller_try_impersonation(void)
{
	const struct caller ordinary = {.uid = ORDINARY_UID, .gid = ORDINARY_UID};
	bool privileged;

	if (geteuid() != 0 || getuid() != 0 || caller_impersonate(&ordinary) < 0)
		return -EPERM;
	/* with some securebits (capabilities(7)), a thread keeps its capabilities when its user
	 * changes
	 */
	privileged = confine_has_capabilities();
	caller_revert();
	return privileged ? -EPERM : 0;
}
