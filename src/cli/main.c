/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kernel.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/stop.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "page/thumbnail.h"

static const struct command help_command, version_command;

static const struct {
	const char *name;
	const char *help;
	const struct command *command;
} commands[] = {
	{"mount", "mount a view of the duplicates; the default command", &mount_command},
	{"unmount", "unmount views, and wait until their daemons have ended", &unmount_command},
	{"scan", "bring the index up to date", &scan_command},
	{"list", "print the groups of equal files", &list_command},
	{"report", "write an HTML page that shows which duplicates use the space", &report_command},
	{"copies", "print the verified copies of files", &copies_command},
	{"covered", "print the files whose content is only in these folders", &covered_command},
	{"path", "print the source paths of files in a view", &path_command},
	{"remove", "remove redundant copies; each copy is compared again first", &remove_command},
	{"move", "move redundant copies to a folder", &move_command},
	{"link", "replace redundant copies by links to the kept copies", &link_command},
	{"dedupe", "make redundant copies share the blocks of the kept copies", &dedupe_command},
	{"log", "list the acts that were done", &log_command},
	{"undo", "bring back the files of an act", &undo_command},
	{"recover", "undo acts that were interrupted", &recover_command},
	{"index", "print the indexes of this user, or remove them", &index_command},
	{"status", "print the status of mounted views", &status_command},
	{"doctor", "find what prevents or slows a view, and name the remedies", &doctor_command},
	{"check", "verify the index, and compare it with the disk", &check_command},
	{"manifest", "print the names that uniques/ leaves out, for restore", &manifest_command},
	{"restore", "rebuild the whole tree from a copy of uniques/ and its manifest",
	 &restore_command},
	{"export", "write an inventory of this machine, to compare it with others",
	 &export_command},
	{"digest", "compute the SHA-256 of files that other machines possibly have",
	 &digest_command},
	{"attest", "read the files that this machine keeps for others, and attest them",
	 &attest_command},
	{"help", "print the commands, or the options of a command", &help_command},
	{"version", "print the version", &version_command},
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].command;
	}
	return NULL;
}

static void print_help(void)
{
	(void)fputs("usage: twinfs [mount] [OPTION...] SOURCE... MOUNTPOINT\n"
		    "       twinfs COMMAND [OPTION...] ...\n"
		    "\n"
		    "Finds files with equal content, compared byte by byte, and shows them as a\n"
		    "read-only file system.\n"
		    "\n"
		    "Commands:\n",
		    stdout);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		(void)printf("  %-8s  %s\n", commands[i].name, commands[i].help);
	(void)fputs(
		"\n"
		"See 'twinfs COMMAND --help' and twinfs(1). Give a source that has the name of a\n"
		"command as ./NAME.\n"
		"\n"
		"  -V, --version  print the version and exit\n"
		"  -h, --help     show this help and exit\n"
		"\n"
		"Exit status: 0 complete, 1 failed, 2 wrong usage, 3 finished, but something\n"
		"could not be read or done (stderr names it), 4 not covered.\n",
		stdout);
}

/* Returns what is wrong with the command line, or NULL. */
static const char *find_fault(const struct command *command, const void *settings,
			      char *const *operands, size_t count)
{
	if (count == 0 && command->lacks_operand)
		return command->lacks_operand;
	if (count > command->operands_max && command->excess_operand)
		return command->excess_operand;
	return command->find_fault ? command->find_fault(settings, operands, count) : NULL;
}

static enum twinfs_exit parse_and_run(const struct command *command, void *settings, int argc,
				      char *argv[])
{
	const struct option_table *table = &command->options;
	size_t count = 0;
	int operands;
	int r = options_parse(table, argc, argv, settings, &operands);

	if (r == 0) {
		argv += operands;
		count = (size_t)(argc - operands);
		r = usage_check(table, find_fault(command, settings, argv, count));
	}
	return r == 0 ? command->run(settings, argv, count) : options_exit(r);
}

static enum twinfs_exit run_command(const struct command *command, int argc, char *argv[])
{
	AUTO_FREE struct common_settings *settings = calloc(1, command->settings_bytes);
	enum twinfs_exit status;

	if (!settings)
		return TWINFS_EXIT_FAILED;
	common_settings_init(settings);
	if (command->init)
		command->init(settings);
	status = parse_and_run(command, settings, argc, argv);
	if (command->deinit)
		command->deinit(settings);
	common_settings_deinit(settings);
	return status;
}

static enum twinfs_exit run_help(void *settings, char **operands, size_t count)
{
	const struct command *command;
	char option[] = "--help";

	(void)settings;
	if (count == 0) {
		print_help();
		return TWINFS_EXIT_COMPLETE;
	}
	command = find_command(operands[0]);
	if (!command) {
		options_complain(&help_command.options, "%s is no command",
				 quote_path(operands[0]));
		return TWINFS_EXIT_USAGE;
	}
	return run_command(command, 2, (char *[]){operands[0], option, NULL});
}

static const struct command help_command = {
	.options = {.command = "twinfs help",
		    .usage = {"[COMMAND]"},
		    .summary = "Prints the commands, or the options of a command, as with --help.",
		    .options = {version_option}},
	.settings_bytes = sizeof(struct common_settings),
	.operands_max = 1,
	.excess_operand = "more than one COMMAND given",
	.run = run_help,
};

static enum twinfs_exit run_version(void *settings, char **operands, size_t count)
{
	(void)settings;
	(void)operands;
	(void)count;
	(void)printf("twinfs %s\n", TWINFS_VERSION);
	return TWINFS_EXIT_COMPLETE;
}

static const struct command version_command = {
	.options = {.command = "twinfs version",
		    .summary = "Prints the version, as with --version.",
		    .options = {version_option}},
	.settings_bytes = sizeof(struct common_settings),
	.excess_operand = "no operands expected",
	.run = run_version,
};

/* Returns whether the first word must be meant as a command: it is no option, has no slash, and no
 * file has this name. */
static bool is_unknown_command(const char *word)
{
	struct stat status;

	return word[0] != '-' && !strchr(word, '/') && lstat(word, &status) != 0;
}

/* Returns whether the name of the program, without its path, has this prefix. */
static bool is_helper(const char *program, const char *prefix)
{
	const char *slash = strrchr(program, '/');

	return strncmp(slash ? slash + 1 : program, prefix, strlen(prefix)) == 0;
}

/* Returns whether twinfs started this process to decode a picture. */
static bool is_thumbnail_process(const char *program)
{
	return strcmp(program, THUMBNAIL_PROGRAM) == 0;
}

/* Returns whether a filter forbids a system call without which no command works; logged. */
static bool is_forbidden(void)
{
	const char *call = system_call_needed_and_filtered();

	if (call)
		log_error("cannot run: a filter for system calls forbids %s(2), which twinfs "
			  "needs; %s",
			  call, system_call_remedy());
	return call;
}

static enum twinfs_exit run(int argc, char *argv[])
{
	const struct command *command;

	if (is_helper(argv[0], "mount."))
		return run_command(&mount_helper_command, argc, argv);
	if (is_helper(argv[0], "umount."))
		return run_command(&unmount_helper_command, argc, argv);
	if (is_thumbnail_process(argv[0]))
		return thumbnail_main();
	if (argc < 2) {
		log_error("no command and no SOURCE given; see twinfs --help");
		return TWINFS_EXIT_USAGE;
	}
	if (is_forbidden())
		return TWINFS_EXIT_FAILED;
	command = find_command(argv[1]);
	if (command)
		return run_command(command, argc - 1, argv + 1);
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
		print_help();
		return TWINFS_EXIT_COMPLETE;
	}
	if (is_unknown_command(argv[1])) {
		log_error("%s is neither a command nor an existing source; see twinfs --help",
			  quote_path(argv[1]));
		return TWINFS_EXIT_USAGE;
	}
	return run_command(&mount_command, argc, argv);
}

/* Opens the standard descriptors that are closed, so that no file opened later receives the
 * messages of the program. Writes to a closed standard output fail (EBADF).
 */
static int open_stdio(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int access = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;

		/* NOLINTNEXTLINE(android-cloexec-open): child processes need them */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", access | O_NOCTTY) < 0)
			return -errno;
	}
	return 0;
}

/* Logs that the index is unreadable. twinfs maps no other file into memory, so the index is the
 * cause of SIGBUS.
 *
 * The thread that reads the index holds no lock that logging needs. When the handler returns, the
 * access raises SIGBUS again, which then ends the process. Other threads that receive SIGBUS wait
 * until the process ends. */
static void handle_bus_error(int number)
{
	static atomic_flag is_reported = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&is_reported))
		(void)pause();
	/* NOLINTNEXTLINE(bugprone-signal-handler,cert-sig30-c): see above */
	log_error("cannot read the index: its disk fails, or its file was truncated; the next scan "
		  "or mount checks the index and rebuilds it if necessary");
	(void)signal(number, SIG_DFL);
}

static void catch_bus_errors(void)
{
	struct sigaction action = {.sa_handler = handle_bus_error};

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
	(void)memory_limit(); /* a confined process may not read it later */
	r = open_stdio();
	if (r < 0) {
		log_error("cannot open /dev/null: %s", error_text(r));
		return TWINFS_EXIT_FAILED;
	}
	/* writes to a closed pipe fail with EPIPE instead, and above a limit of sizes with EFBIG; a
	 * broken lease raises SIGIO */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	(void)signal(SIGIO, SIG_IGN);
	catch_bus_errors();

	status = run(argc, argv);

	if (fflush(stdout) != 0 || ferror(stdout)) {
		if (errno == EPIPE)
			log_mark_reported(); /* the reader closed the pipe on purpose */
		else
			log_error("cannot write the output: %s", error_text(errno));
		status = TWINFS_EXIT_FAILED;
	}
	number = interrupt_signal();
	if (status == TWINFS_EXIT_FAILED && number == 0 && !log_has_reported())
		log_error("failed: not enough memory to report the cause");
	if (number != 0)
		interrupt_raise(number);
	return (int)status;
}
