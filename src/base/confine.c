/* SPDX-License-Identifier: MIT */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/capability.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/landlock.h>
#include <linux/msdos_fs.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
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

/* ---- filters of system calls ------------------------------------------------------- */

/* System call filters (seccomp(2)) as lists of allowed calls.
 *
 * A list of refused calls would miss each call that a later kernel adds. Calls that are not listed
 * fail with EPERM. In the filter of confine_calls(), two kinds of calls fail with ENOSYS, because
 * the C library then uses older calls: the calls after CALL_LAST_KNOWN, and clone3(2), whose flags
 * a filter cannot see.
 *
 * Kernels since 5.11 cache which calls a filter allows with any arguments, so only calls with
 * conditions cost time.
 */

/* Calls, and the order of their arguments, differ between processors: the lists hold for these. */
#if defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64)

/* Calls that are missing in the headers of Debian 12 or older. Numbers from 424 on are the same on
 * all processors. */
#define CALL_FUTEX_WAITV 449
#define CALL_CACHESTAT 451
#define CALL_MAP_SHADOW_STACK 453
#define CALL_FUTEX_WAKE 454
#define CALL_FUTEX_WAIT 455
#define CALL_FUTEX_REQUEUE 456
#define CALL_STATMOUNT 457
#define CALL_LISTMOUNT 458
#define CALL_MSEAL 462
#define CALL_GETXATTRAT 464
#define CALL_LISTXATTRAT 465
#define CALL_FILE_GETATTR 468
/* The newest call when the lists below were made: file_setattr(2). */
#define CALL_LAST_KNOWN 469
/* Linux gets some six calls a year. */
#define CALL_LAST_EXPECTED 599

/* Calls that are allowed with any arguments, frequent calls first. These calls can change only
 * files that a Landlock rule or an open descriptor allows to change, and the process itself. */
static const int allowed[] = {
	/* descriptors */
	SYS_read, SYS_write, SYS_pread64, SYS_writev, SYS_splice, SYS_openat2, SYS_openat,
	SYS_close, SYS_newfstatat, SYS_statx, SYS_futex, SYS_fstat, SYS_lseek, SYS_readv,
	SYS_preadv, SYS_preadv2, SYS_pwrite64, SYS_pwritev, SYS_pwritev2, SYS_vmsplice, SYS_tee,
	SYS_sendfile, SYS_copy_file_range, SYS_close_range, SYS_dup, SYS_dup3, SYS_pipe2,
	SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime, SYS_timerfd_gettime,
	SYS_memfd_create, SYS_flock, SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl,
	SYS_epoll_pwait, SYS_epoll_pwait2, SYS_recvfrom, SYS_recvmsg, SYS_shutdown,
	/* files and directories; Landlock refuses changes outside of the index */
	SYS_getdents64, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getxattr, SYS_lgetxattr,
	SYS_fgetxattr, CALL_GETXATTRAT, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
	CALL_LISTXATTRAT, CALL_FILE_GETATTR, SYS_statfs, SYS_fstatfs, CALL_STATMOUNT,
	CALL_LISTMOUNT, SYS_name_to_handle_at, SYS_inotify_init1, SYS_inotify_add_watch,
	SYS_inotify_rm_watch, SYS_fadvise64, SYS_readahead, CALL_CACHESTAT, SYS_fsync,
	SYS_fdatasync, SYS_sync, SYS_syncfs, SYS_sync_file_range, SYS_ftruncate, SYS_fallocate,
	SYS_mkdirat, SYS_unlinkat, SYS_renameat2, SYS_umask, SYS_getcwd, SYS_chdir, SYS_fchdir,
	/* memory */
	SYS_brk, SYS_mremap, SYS_munmap, SYS_madvise, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2,
	SYS_munlock, SYS_membarrier, SYS_get_mempolicy, SYS_pkey_alloc, SYS_pkey_free, CALL_MSEAL,
	CALL_MAP_SHADOW_STACK,
	/* time */
	SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_gettimeofday, SYS_nanosleep,
	SYS_times,
	/* this process and its threads */
	SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigpending, SYS_rt_sigreturn, SYS_rt_sigsuspend, SYS_rt_sigtimedwait,
	SYS_sigaltstack, SYS_restart_syscall, SYS_sched_yield, SYS_sched_getaffinity,
	SYS_sched_getparam, SYS_sched_getscheduler, SYS_set_robust_list, SYS_set_tid_address,
	SYS_rseq, CALL_FUTEX_WAITV, CALL_FUTEX_WAKE, CALL_FUTEX_WAIT, CALL_FUTEX_REQUEUE,
	SYS_getrandom, SYS_getpid, SYS_getppid, SYS_gettid, SYS_getpgid, SYS_getsid, SYS_getuid,
	SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid, SYS_getgroups,
	SYS_getrlimit, SYS_setrlimit, SYS_getrusage, SYS_getcpu, SYS_capget,
	SYS_capset, /* cannot gain capabilities */
	SYS_uname, SYS_sysinfo,
#ifdef __x86_64__
	SYS_arch_prctl,
	/* older forms, which exist only on this processor */
	SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_mkdir,
	SYS_rmdir, SYS_unlink, SYS_rename, SYS_dup2, SYS_pipe, SYS_poll, SYS_select,
	SYS_epoll_create, SYS_epoll_wait, SYS_eventfd, SYS_signalfd, SYS_inotify_init, SYS_getpgrp,
	SYS_pause, SYS_time,
#endif
#ifdef SYS_renameat
	SYS_renameat,
#endif
#ifdef SYS_riscv_flush_icache
	SYS_riscv_flush_icache,
#endif
#ifdef __riscv
	258, /* riscv_hwprobe: the C library uses it to choose string functions */
#endif
};

/* Calls that requests over io_uring need in addition. The last three map executable memory for a
 * library that is loaded later. */
static const int allowed_for_rings[] = {
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_set_mempolicy,
	SYS_mbind,          SYS_mmap,           SYS_mprotect,          SYS_pkey_mprotect,
};

/* The calls of confine_to_computing(): those that a library for decoding images needs. Sanitizers
 * need sigaltstack(2) and gettid(2) when the process ends. */
static const int computing[] = {
	/* memory */
	SYS_brk,
	SYS_mmap,
	SYS_mremap,
	SYS_munmap,
	SYS_mprotect,
	SYS_madvise,
	/* open descriptors */
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_lseek,
	SYS_fstat,
	SYS_close,
	/* this process */
	SYS_futex,
	SYS_sched_yield,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_gettid,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

/* FS_IOC_GETFSUUID of Linux 6.9, which older headers lack. */
#define IOCTL_GET_FS_UUID _IOC(_IOC_READ, 0x15, 0, 17)

/* Allowed requests of ioctl(2): those that read, and those of /dev/fuse. Other requests can change
 * file systems even through a descriptor that is open for reading. */
static const uint32_t requests[] = {
	(uint32_t)_IOC(_IOC_READ, 229, 0, 4), /* FUSE_DEV_IOC_CLONE */
	(uint32_t)_IOC(_IOC_WRITE, 229, 1, 16), /* FUSE_DEV_IOC_BACKING_OPEN */
	(uint32_t)_IOC(_IOC_WRITE, 229, 2, 4), /* FUSE_DEV_IOC_BACKING_CLOSE */
	(uint32_t)_IO(229, 3), /* FUSE_DEV_IOC_SYNC_INIT */
	(uint32_t)FIONREAD,
	(uint32_t)FS_IOC_FIEMAP,
	(uint32_t)IOCTL_GET_FS_UUID,
	(uint32_t)FAT_IOCTL_GET_VOLUME_ID,
	(uint32_t)FS_IOC_GETFLAGS,
	(uint32_t)FS_IOC_GETVERSION,
	(uint32_t)FS_IOC_GET_ENCRYPTION_POLICY_EX,
	(uint32_t)FS_IOC_GET_ENCRYPTION_KEY_STATUS,
	(uint32_t)FS_IOC_FSGETXATTR,
	(uint32_t)BTRFS_IOC_FS_INFO,
	(uint32_t)_IOC(_IOC_READ, 'X', 100, 112), /* XFS_IOC_FSGEOMETRY_V1 */
	(uint32_t)TIOCGWINSZ,
	(uint32_t)TCGETS,
};

/* Allowed commands of fcntl(2). F_SETOWN and F_SETSIG are missing: with them, the kernel would
 * signal another process. */
static const uint32_t commands[] = {
	F_DUPFD,    F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,      F_GETFL,     F_SETFL,
	F_GETLK,    F_SETLK,         F_SETLKW,     F_OFD_GETLK,  F_OFD_SETLK, F_OFD_SETLKW,
	F_SETLEASE, F_GETLEASE,      F_GETPIPE_SZ, F_SETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS,
};

/* Allowed operations of prctl(2): those that affect only the calling process. PR_SET_VMA: malloc of
 * glibc 2.41 names its memory. */
static const uint32_t operations[] = {
	PR_SET_NAME,         PR_GET_NAME,     PR_SET_VMA,      PR_SET_PDEATHSIG,
	PR_GET_DUMPABLE,     PR_SET_DUMPABLE, PR_GET_KEEPCAPS, PR_SET_KEEPCAPS,
	PR_GET_SECUREBITS,   PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_NO_NEW_PRIVS,
	PR_SET_NO_NEW_PRIVS, PR_GET_SECCOMP,
};

/* Flags of clone(2) that make namespaces. CLONE_NEWTIME is missing, because clone(2) uses its bit
 * for the signal number. */
#define NEW_NAME_SPACES                                                                           \
	((uint32_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		    CLONE_NEWPID | CLONE_NEWNET))

/* ---- calls with conditions ----------------------------------------------------------- */

/* Arguments of 32 bits: the kernel ignores the other half of the register. */
#define EQUAL(number, value)                                  \
	{                                                     \
		number, SCMP_CMP_MASKED_EQ, UINT32_MAX, value \
	}
#define BITS(number, mask, value)                       \
	{                                               \
		number, SCMP_CMP_MASKED_EQ, mask, value \
	}
/* An argument of 64 bits. */
#define ZERO(number)                      \
	{                                 \
		number, SCMP_CMP_EQ, 0, 0 \
	}

/* A call that is allowed only if its arguments meet these conditions. */
struct call_rule {
	int call;
	unsigned int count;
	struct scmp_arg_cmp conditions[2];
};

static const struct call_rule rules[] = {
	/* no executable memory */
	{SYS_mmap, 1, {BITS(2, PROT_EXEC, 0)}},
	{SYS_mprotect, 1, {BITS(2, PROT_EXEC, 0)}},
	{SYS_pkey_mprotect, 1, {BITS(2, PROT_EXEC, 0)}},
	/* Only to the address that the socket is connected to. sendmsg(2) is not allowed, because
	 * the address of a message is in memory, which a filter cannot see. */
	{SYS_sendto, 1, {ZERO(4)}},
	/* new threads, but no new processes and no namespaces */
	{SYS_clone, 1, {BITS(0, CLONE_THREAD | NEW_NAME_SPACES, CLONE_THREAD)}},
	{SYS_prlimit64, 1, {EQUAL(0, 0)}},
};

/* libfuse binds the thread of each ring to a processor. */
static const struct call_rule rules_for_rings[] = {
	{SYS_sched_setaffinity, 1, {EQUAL(0, 0)}},
};

/* Changing only the effective id, as view/tree/caller.c does. The thread can always revert to its
 * own id. */
static const struct call_rule rules_for_callers[] = {
	{SYS_setresuid, 2, {EQUAL(0, UINT32_MAX), EQUAL(2, UINT32_MAX)}},
	{SYS_setresgid, 2, {EQUAL(0, UINT32_MAX), EQUAL(2, UINT32_MAX)}},
};

static const int allowed_for_callers[] = {SYS_setgroups, SYS_setfsuid, SYS_setfsgid};

/* ---- filters ------------------------------------------------------------------------- */

struct call_filter {
	scmp_filter_ctx context;
	int error; /* the first one */
};

static void call_filter_free(struct call_filter *filter)
{
	seccomp_release(filter->context);
}

static void set(struct call_filter *filter, enum scmp_filter_attr attribute, uint32_t value)
{
	if (filter->error == 0)
		filter->error = seccomp_attr_set(filter->context, attribute, value);
}

/* Begins a filter that refuses all calls. The x32 interface of x86-64 counts as another
 * processor. */
static struct call_filter begin_filter(void)
{
	struct call_filter filter = {.context = seccomp_init(SCMP_ACT_ERRNO(EPERM))};

	filter.error = filter.context ? 0 : -ENOMEM;
	/* without seccomp(2), as under valgrind, the library would take prctl(2) instead */
	if (seccomp_api_get() < 2)
		filter.error = -ENOSYS;
	set(&filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	set(&filter, SCMP_FLTATR_API_SYSRAWRC, 1);
	return filter;
}

/* Adds a rule for calls whose arguments meet all conditions. */
static void add(struct call_filter *filter, uint32_t action, int call,
		const struct scmp_arg_cmp *conditions, unsigned int count)
{
	if (filter->error == 0)
		filter->error =
			seccomp_rule_add_array(filter->context, action, call, count, conditions);
}

static void allow_each(struct call_filter *filter, const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(filter, SCMP_ACT_ALLOW, calls[i], NULL, 0);
}

static void add_rules(struct call_filter *filter, const struct call_rule *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(filter, SCMP_ACT_ALLOW, list[i].call, list[i].conditions, list[i].count);
}

/* Allows a call if this argument is one of the values. */
static void allow_if_among(struct call_filter *filter, int call, unsigned int argument,
			   const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add(filter, SCMP_ACT_ALLOW, call, &(struct scmp_arg_cmp)EQUAL(argument, values[i]),
		    1);
}

/* Lets calls fail as if the kernel did not have them. */
static void hide_newer_calls(struct call_filter *filter)
{
	add(filter, SCMP_ACT_ERRNO(ENOSYS), SYS_clone3, NULL, 0);
	for (int call = CALL_LAST_KNOWN + 1; call <= CALL_LAST_EXPECTED; call++)
		add(filter, SCMP_ACT_ERRNO(ENOSYS), call, NULL, 0);
}

static int install(const struct call_filter *filter)
{
	return filter->error < 0 ? filter->error : seccomp_load(filter->context);
}

int confine_calls(unsigned int needs)
{
	CLEANUP(call_filter_free) struct call_filter filter = begin_filter();
	const uint32_t self = (uint32_t)getpid();

	allow_each(&filter, allowed, ARRAY_SIZE(allowed));
	allow_if_among(&filter, SYS_ioctl, 1, requests, ARRAY_SIZE(requests));
	allow_if_among(&filter, SYS_fcntl, 1, commands, ARRAY_SIZE(commands));
	allow_if_among(&filter, SYS_prctl, 0, operations, ARRAY_SIZE(operations));
	allow_if_among(&filter, SYS_tgkill, 0, &self, 1);
	allow_if_among(&filter, SYS_kill, 0, &self, 1);
	add_rules(&filter, rules, ARRAY_SIZE(rules));
	if (needs & CONFINE_WITH_RINGS) {
		allow_each(&filter, allowed_for_rings, ARRAY_SIZE(allowed_for_rings));
		add_rules(&filter, rules_for_rings, ARRAY_SIZE(rules_for_rings));
	}
	if (needs & CONFINE_WITH_CALLERS) {
		allow_each(&filter, allowed_for_callers, ARRAY_SIZE(allowed_for_callers));
		add_rules(&filter, rules_for_callers, ARRAY_SIZE(rules_for_callers));
	}
	hide_newer_calls(&filter);
	return install(&filter);
}

int confine_to_computing(void)
{
	CLEANUP(call_filter_free) struct call_filter filter = begin_filter();

	allow_each(&filter, computing, ARRAY_SIZE(computing));
	return install(&filter);
}
#else /* another processor */

int confine_calls(unsigned int needs)
{
	(void)needs;
	return -ENOSYS;
}

int confine_to_computing(void)
{
	return -ENOSYS;
}
#endif
