/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/memory_limit.h"
#include "base/quote.h"
#include "cli/command.h"
#include "report/thumbnail.h"

struct command {
	const char *name;
	const char *help;
	enum twinfs_exit (*run)(int argc, char *argv[]);
};

static const struct command commands[] = {
	{"mount", "mount a view of the duplicates; the command where none is named", cmd_mount},
	{"scan", "bring the index up to date", cmd_scan},
	{"list", "print the groups of equal files", cmd_list},
	{"report", "write a page that shows where the space went", cmd_report},
	{"copies", "print the verified copies of files", cmd_copies},
	{"path", "print where files of a view come from", cmd_path},
	{"remove", "remove redundant copies, each compared once more before", cmd_remove},
	{"move", "move redundant copies to a folder", cmd_move},
	{"link", "put links to the kept files in the place of redundant copies", cmd_link},
	{"dedupe", "have redundant copies share the blocks of the kept files", cmd_dedupe},
	{"recover", "undo acts that were cut off", cmd_recover},
	{"status", "print how mounted views are", cmd_status},
	{"doctor", "say what stands in the way of a view, and what to do", cmd_doctor},
	{"check", "compare the index with itself and with the disk", cmd_check},
	{"manifest", "print what a copy of uniques/ leaves out", cmd_manifest},
	{"restore", "make the whole tree from a copy of uniques/ and its manifest", cmd_restore},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	}
	return NULL;
}

static void print_help(void)
{
	(void)fputs("usage: twinfs [mount] [OPTION...] SOURCE... MOUNTPOINT\n"
		    "       twinfs COMMAND [OPTION...] ...\n"
		    "\n"
		    "Finds files with equal content, every byte compared, and shows them as a\n"
		    "read-only file system.\n"
		    "\n"
		    "Commands:\n",
		    stdout);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)printf("  %-8s  %s\n", commands[i].name, commands[i].help);
	(void)fputs(
		"\n"
		"'twinfs COMMAND --help' and twinfs(1) say more. A source that is named like a\n"
		"command is given as ./NAME.\n"
		"\n"
		"  -V, --version  print the version and end\n"
		"  -h, --help     show this help and end\n"
		"\n"
		"Exit status: 0 complete, 1 failed, 2 wrong usage, 3 finished, but something\n"
		"could not be read or done (it is named on stderr).\n",
		stdout);
}

/* Whether the first word is neither an option nor anything that could be a source: then the user
 * meant a command.
 */
static bool is_unknown_command(const char *word)
{
	struct stat status;

	return word[0] != '-' && !strchr(word, '/') && lstat(word, &status) != 0;
}

static bool is_mount_helper(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strncmp(slash ? slash + 1 : program, "mount.", strlen("mount.")) == 0;
}

/* Started by ourselves, to decode a picture. */
static bool is_thumbnail_process(const char *program)
{
	return strcmp(program, THUMBNAIL_PROGRAM) == 0;
}

static enum twinfs_exit run(int argc, char *argv[])
{
	const struct command *command;

	if (is_mount_helper(argv[0]))
		return cmd_mount_helper(argc, argv);
	if (is_thumbnail_process(argv[0]))
		return thumbnail_main();
	if (argc < 2) {
		log_error("no command and no SOURCE given; see twinfs --help");
		return TWINFS_EXIT_USAGE;
	}
	command = find_command(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_help();
		return TWINFS_EXIT_COMPLETE;
	}
	if (is_unknown_command(argv[1])) {
		log_error("%s is neither a command nor a source that is there; see twinfs --help",
			  quote_path(argv[1]));
		return TWINFS_EXIT_USAGE;
	}
	return cmd_mount(argc, argv);
}

/* A descriptor that we open must not come to stand where messages go. */
static int open_stdio(void)
{
	int fd;

	do {
		/* NOLINTNEXTLINE(android-cloexec-open): programs that we start need them */
		fd = open("/dev/null", O_RDWR | O_NOCTTY);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	(void)close(fd);
	return 0;
}

/* Only the index is mapped. The thread that reads it holds no lock that a message needs; and ends all, by
 * the same signal, as soon as it goes on. Other threads that find the same wait for that. */
static void say_that_index_is_unreadable(int number)
{
	static atomic_flag is_being_said = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&is_being_said))
		(void)pause();
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): as said */
	log_error("the index cannot be read: its disk fails, or its file was cut short; the next "
		  "scan or mount checks it, and builds it anew where that is needed");
	(void)signal(number, SIG_DFL);
}

static void watch_for_bus_errors(void)
{
	struct sigaction action = {.sa_handler = say_that_index_is_unreadable};

	(void)sigemptyset(&action.sa_mask);
	(void)sigaction(SIGBUS, &action, NULL);
}

int main(int argc, char *argv[])
{
	enum twinfs_exit status;
	int number;
	int r;

	if (argc < 1)
		return TWINFS_EXIT_USAGE;
	memory_set_up();
	(void)memory_limit(); /* later the process may not be allowed to read it */
	r = open_stdio();
	if (r < 0) {
		log_error("cannot open /dev/null: %s", error_text(r));
		return TWINFS_EXIT_FAILED;
	}
	/* a closed pipe is found when it is written to; a lease that is broken raises SIGIO */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGIO, SIG_IGN);
	watch_for_bus_errors();

	status = run(argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno == EPIPE)
			log_note_said(); /* who reads has enough */
		else
			log_error("cannot write the output: %s", error_text(errno));
		status = TWINFS_EXIT_FAILED;
	}
	number = interrupt_signal();
	if (status == TWINFS_EXIT_FAILED && number == 0 && !log_has_said())
		log_error("failed, and could not say why: there was too little memory");
	if (number != 0)
		interrupt_raise(number);
	return (int)status;
}
