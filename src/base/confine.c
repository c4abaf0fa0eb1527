/* SPDX-License-Identifier: MIT */
#include "base/confine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/capability.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/landlock.h>
#include <linux/msdos_fs.h>
#include <linux/seccomp.h>
#include <sched.h>
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
 * the C library then uses older calls: calls newer than CALL_LAST_KNOWN, and clone3(2), whose flags
 * a filter cannot see.
 *
 * Kernels since 5.11 cache which calls a filter allows with any arguments, so only calls with
 * conditions cost time.
 */

/* System call numbers differ between processors, so each filter is for one processor. */
#if defined(__x86_64__)
#define PROCESSOR AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PROCESSOR AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define PROCESSOR AUDIT_ARCH_RISCV64
#endif

#ifdef PROCESSOR

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

/* Bit of the x32 interface of x86-64, which has separate numbers. */
#define CALL_X32 0x40000000U

/* Calls that are allowed with any arguments, frequent calls first. These calls can change only
 * files that a Landlock rule or an open descriptor allows to change, and the process itself. */
static const uint32_t allowed[] = {
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
static const uint32_t allowed_for_rings[] = {
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_set_mempolicy,
	SYS_mbind,          SYS_mmap,           SYS_mprotect,          SYS_pkey_mprotect,
};

/* The calls of confine_to_computing(): those that a library for decoding images needs. Sanitizers
 * need sigaltstack(2) and gettid(2) when the process ends. */
static const uint32_t computing[] = {
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

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWER_HALF 0
#else
#define LOWER_HALF 4
#endif
#define UPPER_HALF (4 - LOWER_HALF)

/* The place of an argument that has 32 bits, or of the upper half of one with 64 bits. */
#define ARGUMENT(number) (offsetof(struct seccomp_data, args[number]) + LOWER_HALF)
#define UPPER_ARGUMENT(number) (offsetof(struct seccomp_data, args[number]) + UPPER_HALF)

struct condition {
	enum demand {
		DEMAND_NOTHING,
		DEMAND_EQUAL,
		DEMAND_SOME_BITS,
		DEMAND_NO_BITS,
		DEMAND_SELF, /* the value is the id of this process */
	} demand;
	uint32_t place; /* in struct seccomp_data */
	uint32_t value;
};

/* A call that is allowed only if it meets both conditions. */
struct call_rule {
	uint32_t call;
	struct condition conditions[2];
};

static const struct call_rule rules[] = {
	/* no executable memory */
	{SYS_mmap, {{DEMAND_NO_BITS, ARGUMENT(2), PROT_EXEC}}},
	{SYS_mprotect, {{DEMAND_NO_BITS, ARGUMENT(2), PROT_EXEC}}},
	{SYS_pkey_mprotect, {{DEMAND_NO_BITS, ARGUMENT(2), PROT_EXEC}}},
	/* Only to the address that the socket is connected to. sendmsg(2) is not allowed, because
	 * the address of a message is in memory, which a filter cannot see. */
	{SYS_sendto, {{DEMAND_EQUAL, ARGUMENT(4), 0}, {DEMAND_EQUAL, UPPER_ARGUMENT(4), 0}}},
	/* new threads, but no new processes and no namespaces */
	{SYS_clone,
	 {{DEMAND_SOME_BITS, ARGUMENT(0), CLONE_THREAD},
	  {DEMAND_NO_BITS, ARGUMENT(0), NEW_NAME_SPACES}}},
	{SYS_tgkill, {{DEMAND_SELF, ARGUMENT(0), 0}}},
	{SYS_kill, {{DEMAND_SELF, ARGUMENT(0), 0}}},
	{SYS_prlimit64, {{DEMAND_EQUAL, ARGUMENT(0), 0}}},
};

/* libfuse binds the thread of each ring to a processor. */
static const struct call_rule rules_for_rings[] = {
	{SYS_sched_setaffinity, {{DEMAND_EQUAL, ARGUMENT(0), 0}}},
};

/* Changing only the effective id, as view/tree/caller.c does. The thread can always revert to its
 * own id. */
static const struct call_rule rules_for_callers[] = {
	{SYS_setresuid,
	 {{DEMAND_EQUAL, ARGUMENT(0), UINT32_MAX}, {DEMAND_EQUAL, ARGUMENT(2), UINT32_MAX}}},
	{SYS_setresgid,
	 {{DEMAND_EQUAL, ARGUMENT(0), UINT32_MAX}, {DEMAND_EQUAL, ARGUMENT(2), UINT32_MAX}}},
};

static const uint32_t allowed_for_callers[] = {SYS_setgroups, SYS_setfsuid, SYS_setfsgid};

/* ---- instructions ------------------------------------------------------------------- */

/* Maximum length of a filter. Each allowed call takes two instructions. */
#define STEPS_MAX 1024

struct call_filter {
	struct sock_filter steps[STEPS_MAX];
	unsigned short count;
};

static void add(struct call_filter *filter, struct sock_filter step)
{
	assert(filter->count < STEPS_MAX);
	filter->steps[filter->count++] = step;
}

static void add_error(struct call_filter *filter, uint32_t error)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
}

static void add_permission(struct call_filter *filter)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void load(struct call_filter *filter, uint32_t place)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, place));
}

/* Compares the loaded value: skips some instructions if it passes, and others if it fails. test:
 * BPF_JEQ, BPF_JGE or BPF_JSET. */
static void compare(struct call_filter *filter, unsigned short test, uint32_t value,
		    uint8_t if_passed, uint8_t if_failed)
{
	add(filter, (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | BPF_K | test), value,
						 if_passed, if_failed));
}

static void allow_each(struct call_filter *filter, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		compare(filter, BPF_JEQ, values[i], 0, 1);
		add_permission(filter);
	}
}

/* test: as for compare() */
static void fail_if(struct call_filter *filter, unsigned short test, uint32_t value, uint32_t error)
{
	compare(filter, test, value, 0, 1);
	add_error(filter, error);
}

static void add_head(struct call_filter *filter)
{
	load(filter, offsetof(struct seccomp_data, arch));
	compare(filter, BPF_JEQ, PROCESSOR, 1, 0);
	add_error(filter, EPERM);
	load(filter, offsetof(struct seccomp_data, nr));
	fail_if(filter, BPF_JGE, CALL_X32, EPERM);
}

/* Begins a rule for one call. The first instruction skips the rule for other calls. A rule always
 * returns, so the call number is still loaded when the next rule starts. Returns the value for
 * end_rule(). */
static unsigned short begin_rule(struct call_filter *filter, uint32_t call)
{
	compare(filter, BPF_JEQ, call, 0, 0);
	return filter->count;
}

static void end_rule(struct call_filter *filter, unsigned short begin)
{
	unsigned int length = (unsigned int)filter->count - begin;

	assert(length <= UINT8_MAX);
	filter->steps[begin - 1].jf = (uint8_t)length;
}

/* Refuses the call unless it meets the condition. */
static void require(struct call_filter *filter, const struct condition *condition)
{
	if (condition->demand == DEMAND_NOTHING)
		return;
	load(filter, condition->place);
	if (condition->demand == DEMAND_SELF)
		compare(filter, BPF_JEQ, (uint32_t)getpid(), 1, 0);
	else if (condition->demand == DEMAND_EQUAL)
		compare(filter, BPF_JEQ, condition->value, 1, 0);
	else if (condition->demand == DEMAND_SOME_BITS)
		compare(filter, BPF_JSET, condition->value, 1, 0);
	else
		compare(filter, BPF_JSET, condition->value, 0, 1);
	add_error(filter, EPERM);
}

static void add_rules(struct call_filter *filter, const struct call_rule *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned short begin = begin_rule(filter, list[i].call);

		require(filter, &list[i].conditions[0]);
		require(filter, &list[i].conditions[1]);
		add_permission(filter);
		end_rule(filter, begin);
	}
}

/* Allows a call if this argument is one of the values. */
static void allow_if_among(struct call_filter *filter, uint32_t call, uint32_t place,
			   const uint32_t *values, size_t count)
{
	unsigned short begin = begin_rule(filter, call);

	load(filter, place);
	allow_each(filter, values, count);
	add_error(filter, EPERM);
	end_rule(filter, begin);
}

static int install(struct call_filter *filter)
{
	const struct sock_fprog program = {filter->count, filter->steps};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

/* ---- filters ------------------------------------------------------------------------- */

int confine_calls(unsigned int needs)
{
	struct call_filter filter = {.count = 0};

	add_head(&filter);
	allow_each(&filter, allowed, ARRAY_SIZE(allowed));
	if (needs & CONFINE_WITH_RINGS)
		allow_each(&filter, allowed_for_rings, ARRAY_SIZE(allowed_for_rings));
	allow_if_among(&filter, SYS_ioctl, ARGUMENT(1), requests, ARRAY_SIZE(requests));
	allow_if_among(&filter, SYS_fcntl, ARGUMENT(1), commands, ARRAY_SIZE(commands));
	allow_if_among(&filter, SYS_prctl, ARGUMENT(0), operations, ARRAY_SIZE(operations));
	add_rules(&filter, rules, ARRAY_SIZE(rules));
	fail_if(&filter, BPF_JEQ, SYS_clone3, ENOSYS);
	if (needs & CONFINE_WITH_RINGS)
		add_rules(&filter, rules_for_rings, ARRAY_SIZE(rules_for_rings));
	if (needs & CONFINE_WITH_CALLERS) {
		add_rules(&filter, rules_for_callers, ARRAY_SIZE(rules_for_callers));
		allow_each(&filter, allowed_for_callers, ARRAY_SIZE(allowed_for_callers));
	}
	fail_if(&filter, BPF_JGE, CALL_LAST_KNOWN + 1, ENOSYS);
	add_error(&filter, EPERM);
	return install(&filter);
}

int confine_to_computing(void)
{
	struct call_filter filter = {.count = 0};

	add_head(&filter);
	allow_each(&filter, computing, ARRAY_SIZE(computing));
	add_error(&filter, EPERM);
	return install(&filter);
}
#else /* no PROCESSOR */

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
