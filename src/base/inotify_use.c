/* SPDX-License-Identifier: MIT */
#include "base/inotify_use.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/numbers.h"

/* Lowest value that a raised limit gets. */
#define RAISED_MIN 65536

static struct inotify_limit read_limit(const char *file, const char *setting)
{
	return (struct inotify_limit){number_read_file(file), setting};
}

static struct inotify_limit lower(struct inotify_limit a, struct inotify_limit b)
{
	return b.max < a.max ? b : a;
}

struct inotify_limit inotify_watches_max(void)
{
	return lower(read_limit("/proc/sys/fs/inotify/max_user_watches",
				"fs.inotify.max_user_watches"),
		     read_limit("/proc/sys/user/max_inotify_watches", "user.max_inotify_watches"));
}

struct inotify_limit inotify_instances_max(void)
{
	return lower(read_limit("/proc/sys/fs/inotify/max_user_instances",
				"fs.inotify.max_user_instances"),
		     read_limit("/proc/sys/user/max_inotify_instances",
				"user.max_inotify_instances"));
}

struct inotify_limit inotify_events_max(void)
{
	return read_limit("/proc/sys/fs/inotify/max_queued_events", "fs.inotify.max_queued_events");
}

uint64_t inotify_raised(uint64_t max, uint64_t missing)
{
	uint64_t wanted = (max == UINT64_MAX ? 0 : max) + 2 * missing, number = RAISED_MIN;

	while (number < wanted)
		number *= 2;
	return number;
}

/* ---- use ----------------------------------------------------------------------------- */

/* Bits of the minor number in a device number of the kernel. */
#define MINOR_BITS 20

/* FILEID_INO64_GEN of the kernel (linux/exportfs.h), in hex. */
#define FUSE_HANDLE_TYPE "81"

/* What is gathered of the instances and watches of processes. */
struct inotify_survey {
	struct inotify_use use;
	struct inotify_watched *watched; /* NULL: only the numbers are wanted */
	int error; /* -ENOMEM if a watched inode could not be added */
};

/* Returns the node of a file handle of FUSE, or 0. The handle consists of the upper and the lower
 * half of the node's number and a generation, each in the order of bytes of this machine. */
static uint64_t node_of_handle(const char *line)
{
	const char *handle = strstr(line, " fhandle-type:" FUSE_HANDLE_TYPE " f_handle:");
	uint8_t bytes[2 * sizeof(uint32_t)];
	uint32_t halves[2];

	if (!handle)
		return 0;
	handle = strrchr(handle, ':') + 1;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		if (sscanf(handle + 2 * i, "%2" SCNx8, &bytes[i]) != 1)
			return 0;
	}
	memcpy(halves, bytes, sizeof(halves));
	return (uint64_t)halves[0] << 32 | halves[1];
}

bool inotify_watch_parse(const char *line, dev_t device, struct inotify_watch *watch)
{
	uint64_t its_device;

	if (sscanf(line, "inotify wd:%*x ino:%" SCNx64 " sdev:%" SCNx64, &watch->inode,
		   &its_device) != 2)
		return false;
	watch->node = node_of_handle(line);
	return its_device == ((uint64_t)major(device) << MINOR_BITS | minor(device));
}

static int add_watch(struct inotify_watched *watched, const char *line)
{
	struct inotify_watch watch;
	uint64_t number = 0;

	if (inotify_watch_parse(line, watched->device, &watch))
		number = watched->number_of(&watch);
	return number ? bytes_append(&watched->numbers, &number, sizeof(number)) : 0;
}

/* Reads the lines "inotify wd:..." of one descriptor. */
static void read_watches(int folder, const char *name, struct inotify_survey *survey)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	AUTO_FCLOSE FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!file && fd >= 0)
		(void)close(fd);
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "inotify wd:", strlen("inotify wd:")) != 0)
			continue;
		survey->use.watches++;
		if (survey->watched && survey->error == 0)
			survey->error = add_watch(survey->watched, line);
	}
}

static bool is_queue(int folder, const char *name)
{
	char target[32] = "";

	return readlinkat(folder, name, target, sizeof(target) - 1) > 0 &&
	       strcmp(target, "anon_inode:inotify") == 0;
}

static void read_process(int process, struct inotify_survey *survey)
{
	AUTO_CLOSE int details = openat(process, "fdinfo", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSEDIR DIR *files = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!files && fd >= 0)
		(void)close(fd);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (files && details >= 0 && (entry = readdir(files))) {
		if (!is_queue(fd, entry->d_name))
			continue;
		survey->use.instances++;
		read_watches(details, entry->d_name, survey);
	}
}

/* user: whose processes; NULL: those of all users */
static void read_processes(const uid_t *user, struct inotify_survey *survey)
{
	AUTO_CLOSEDIR DIR *processes = opendir("/proc");
	const struct dirent *entry;

	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local */
	while (processes && (entry = readdir(processes))) {
		AUTO_CLOSE int process = -1;
		struct stat status;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		process =
			openat(dirfd(processes), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0 &&
		    (!user || (fstat(process, &status) == 0 && status.st_uid == *user)))
			read_process(process, survey);
	}
}

void inotify_use_of(uid_t user, struct inotify_use *use)
{
	struct inotify_survey survey = {.watched = NULL};

	read_processes(&user, &survey);
	*use = survey.use;
}

int inotify_watched_by(pid_t process, struct inotify_watched *watched)
{
	struct inotify_survey survey = {.watched = watched};
	char path[sizeof("/proc/") + 10];
	AUTO_CLOSE int fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d", process);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		read_process(fd, &survey);
	return survey.error;
}

int inotify_watched_by_all(struct inotify_watched *watched)
{
	struct inotify_survey survey = {.watched = watched};

	read_processes(NULL, &survey);
	return survey.error;
}
