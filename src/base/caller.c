/* SPDX-License-Identifier: MIT */
#include "base/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/confine.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"

/* Where a system has two of each, these are the ones with ids of 32 bits. */
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

/* To the kernel: leave this one as it is. No user is that. */
#define NO_ID (-1)

/* The effective user of a thread that wears a caller: no user of any system has this id. */
#define STRANGER ((uid_t)-2)

/* Which of the four ids in a line of /proc/PID/status counts on file systems. */
#define FILE_SYSTEM_ID 3

/* For caller_try: somebody who is not root, and whom a user namespace is likely to have. */
#define SOMEBODY 1

#define READ_SIZE 4096

void caller_free(struct caller *caller)
{
	free(caller->groups);
	*caller = (struct caller){0};
}

/* ---- who it is ----------------------------------------------------------------------- */

/* What follows a word at the beginning of a line; NULL: no line begins so. The name of a program,
 * which is in the first line, has its newlines escaped. */
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

/* Takes the next number of a line; false: there is none. */
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
		return -EACCES; /* it was cut off */
	caller->groups = calloc(count ? count : 1, sizeof(*caller->groups));
	if (!caller->groups)
		return -ENOMEM;
	while (caller->count < count && next_id(&at, &id))
		caller->groups[caller->count++] = id;
	return 0;
}

/* Does the thread have a capability with which a file is read whatever its mode? */
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

/* Reads a file of a thread in /proc. The kernel makes the whole text at the first read. */
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

/* Does the user namespace of a thread have every id, as itself? The kernel writes the map of the
 * initial one as "0 0 4294967295". Returns 1, 0 or -errno. */
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

/* ---- being it ------------------------------------------------------------------------ */

/* Sets the effective capabilities of this thread to those of the mask that it is permitted. The kernel
 * sets all or none by itself when the user changes from or to root. */
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

/* Root stays itself. A user namespace may lack the stranger: there the thread becomes the caller. */
static int set_effective_user(uid_t caller)
{
	if (caller == 0 || syscall(CALL_SETRESUID, NO_ID, STRANGER, NO_ID) == 0)
		return 0;
	return syscall(CALL_SETRESUID, NO_ID, caller, NO_ID) == 0 ? 0 : -errno;
}

/* The call has no error but gives the id of before: of an invalid id it only tells the present one. */
static int set_file_system_user(uid_t caller)
{
	(void)syscall(CALL_SETFSUID, caller);
	return (uid_t)syscall(CALL_SETFSUID, NO_ID) == caller ? 0 : -EACCES;
}

/* The group's id is effective and for file systems. */
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

/* Not by the functions of the C library, which change all threads.
 *
 * The caller's id is the one for file systems. It is not the effective one: a user may change the priority,
 * the policy and the processors of each thread that has the user's effective id (sched_setscheduler(2)).
 * Nor does the effective id stay root: FUSE would let the thread into what is mounted for root alone. The
 * real ids stay ours, so that nobody else may send us signals. */
int caller_wear(const struct caller *caller)
{
	int r;

	if (caller->uid == (uid_t)NO_ID || caller->gid == (gid_t)NO_ID)
		return -EACCES;
	if (syscall(CALL_SETGROUPS, caller->count, caller->groups) != 0)
		return -errno;
	r = take_ids(caller);
	if (r < 0)
		caller_doff();
	return r;
}

void caller_doff(void)
{
	/* the user first, as only root may change the groups */
	if (syscall(CALL_SETRESUID, NO_ID, getuid(), NO_ID) == 0 &&
	    set_capabilities(UINT64_MAX) == 0 &&
	    syscall(CALL_SETRESGID, NO_ID, getgid(), NO_ID) == 0 &&
	    syscall(CALL_SETGROUPS, (size_t)0, NULL) == 0)
		return;
	/* whatever this thread did next would be done as another user */
	log_error("cannot be root again: %s", error_text(errno));
	abort();
}

int caller_try(void)
{
	const struct caller somebody = {.uid = SOMEBODY, .gid = SOMEBODY};
	bool mighty;

	if (geteuid() != 0 || getuid() != 0 || caller_wear(&somebody) < 0)
		return -EPERM;
	/* with some securebits, capabilities(7), who becomes another user stays as mighty as root */
	mighty = confine_has_capabilities();
	caller_doff();
	return mighty ? -EPERM : 0;
}
