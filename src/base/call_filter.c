/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/confine.h"

/* Numbers of calls differ between processors, so a filter is for one. */
#if defined(__x86_64__)
#define PROCESSOR AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PROCESSOR AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define PROCESSOR AUDIT_ARCH_RISCV64
#endif

#ifdef PROCESSOR

/* Of calls that came after the headers, the same for all processors. */
#define CALL_FCHMODAT2 452
#define CALL_SETXATTRAT 463
#define CALL_REMOVEXATTRAT 466
#define CALL_OPEN_TREE_ATTR 467
#define CALL_FILE_SETATTR 469

/* The second interface of x86-64, with numbers of its own. */
#define CALL_X32 0x40000000U

/* Tested is only the lower half of arguments: those here have no more. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOWER_HALF 0
#else
#define LOWER_HALF 4
#endif
#define REQUEST_OFFSET ((uint32_t)(offsetof(struct seccomp_data, args[1]) + LOWER_HALF))

static const uint32_t refused[] = {
	/* attributes of files */
	SYS_fchmod,
	SYS_fchmodat,
	CALL_FCHMODAT2,
	SYS_fchown,
	SYS_fchownat,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	CALL_SETXATTRAT,
	SYS_removexattr,
	SYS_lremovexattr,
	SYS_fremovexattr,
	CALL_REMOVEXATTRAT,
	CALL_FILE_SETATTR,
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	/* other programs and processes */
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	/* the tree of mounts */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_move_mount,
	SYS_open_tree,
	CALL_OPEN_TREE_ATTR,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_mount_setattr,
	SYS_unshare,
	SYS_setns,
	SYS_open_by_handle_at,
	SYS_quotactl,
	SYS_swapon,
	SYS_swapoff,
	/* the kernel */
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_reboot,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_sethostname,
	SYS_setdomainname,
	/* last: not where it is asked for */
	SYS_io_uring_setup,
};

/* What an open file is asked, through ioctl(2), that changes it though it is open for reading. */
static const uint32_t refused_requests[] = {
	(uint32_t)FS_IOC_SETFLAGS,
	(uint32_t)FS_IOC32_SETFLAGS,
	(uint32_t)FS_IOC_FSSETXATTR,
	(uint32_t)FS_IOC_SETVERSION,
};

/* Head, calls, the load of a request, requests, the end. */
#define STEPS_MAX (7 + 2 * ARRAY_SIZE(refused) + 2 + 2 * ARRAY_SIZE(refused_requests) + 1)

struct filter {
	struct sock_filter steps[STEPS_MAX];
	unsigned short count;
};

static void add(struct filter *filter, struct sock_filter step)
{
	filter->steps[filter->count++] = step;
}

static void add_refusal(struct filter *filter)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
}

/* What a decoder needs; what is not here it does without. */
static const uint32_t computing[] = {
	/* memory */
	SYS_brk,
	SYS_mmap,
	SYS_mremap,
	SYS_munmap,
	SYS_mprotect,
	SYS_madvise,
	/* what is open */
	SYS_read,
	SYS_pread64,
	SYS_write,
	SYS_lseek,
	SYS_fstat,
	SYS_close,
	/* itself */
	SYS_futex,
	SYS_sched_yield,
	SYS_getrandom,
	SYS_clock_gettime,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack, /* this and the next one are what sanitizers ask for at the end */
	SYS_gettid,
	SYS_restart_syscall,
	SYS_exit,
	SYS_exit_group,
};

static void add_permission(struct filter *filter)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
}

static void allow_equal(struct filter *filter, uint32_t value)
{
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	add_permission(filter);
}

static void refuse_equal(struct filter *filter, uint32_t value)
{
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
	add_refusal(filter);
}

static void add_head(struct filter *filter)
{
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch)));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 1, 0));
	add_refusal(filter);
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)));
	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALL_X32, 0, 1));
	add_refusal(filter);
}

/* Behind all calls, as it loads something else. */
static void add_requests(struct filter *filter)
{
	unsigned char steps = 1 + 2 * ARRAY_SIZE(refused_requests);

	add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, steps));
	add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, REQUEST_OFFSET));
	for (size_t i = 0; i < ARRAY_SIZE(refused_requests); i++)
		refuse_equal(filter, refused_requests[i]);
}

static int install(struct filter *filter)
{
	const struct sock_fprog program = {filter->count, filter->steps};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int confine_calls(bool with_rings)
{
	struct filter filter = {.count = 0};
	size_t count = ARRAY_SIZE(refused) - (with_rings ? 1 : 0);

	add_head(&filter);
	for (size_t i = 0; i < count; i++)
		refuse_equal(&filter, refused[i]);
	add_requests(&filter);
	add_permission(&filter);
	return install(&filter);
}

int confine_to_computing(void)
{
	struct filter filter = {.count = 0};

	add_head(&filter);
	for (size_t i = 0; i < ARRAY_SIZE(computing); i++)
		allow_equal(&filter, computing[i]);
	add_refusal(&filter);
	return install(&filter);
}
#else /* no PROCESSOR */

int confine_calls(bool with_rings)
{
	(void)with_rings;
	return -ENOSYS;
}

int confine_to_computing(void)
{
	return -ENOSYS;
}
#endif
