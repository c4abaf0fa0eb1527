/* SPDX-License-Identifier: MIT */

/* Measures the work that no duplicate finder can avoid, as fast as this machine can do it.
 * scripts/bench compares twinfs with this floor.
 *
 *   floor walk THREADS FOLDER...   lists every directory and gets the attributes of every name,
 *                                  on the file system of each folder; prints how many names and
 *                                  how many bytes these have
 *   floor scan THREADS FOLDER...   walks, and does what verify does with each file that is not empty;
 *                                  prints what walk prints
 *   floor scan-some THREADS FOLDER... <INODES
 *                                  scans, but reads only some inodes, each once
 *   floor read THREADS <LIST       reads the first bytes of files; prints how many bytes
 *   floor verify THREADS <LIST     reads as well, and checks that no program wrote to the files: a
 *                                  lease detects a present writer, the attributes a former one
 *
 * LIST has records that end with NUL: "D/folder" begins a folder, "F4096 name" is a file in it and
 * the number of bytes to read. INODES has lines "MAJOR MINOR INODE BYTES". Folders are distributed
 * to the threads.
 *
 *   main ──┬── thread: takes a folder, lists it, puts back the folders in it
 *          └── ... each thread ends when no folder is left and no thread lists one
 */

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/descriptor.h"

enum {
	THREADS_MAX = 64,
	LISTING_BYTES = 128 * 1024,
	READ_BYTES = 128 * 1024, /* fits in the second level cache */
};

/* A folder. References are held while it is listed and while folders in it are still to be
 * opened. */
struct folder {
	struct folder *parent;
	struct folder *next;
	atomic_int uses;
	int fd;
	unsigned int major, minor;
	char name[];
};

/* An inode to read. */
struct wanted {
	uint64_t device, inode, bytes;
	atomic_bool taken; /* by the thread that reads it */
};

/* lock protects waiting and busy. */
struct work {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct folder *waiting;
	int busy;
	bool reads;
	struct wanted *wanted; /* in the order of compare_wanted(); NULL: all files */
	size_t wanted_count;
	atomic_ullong names, name_bytes;
};

/* A list of files, and the position of the next folder in the list. */
struct list {
	char *text;
	size_t length;
	const char **folders;
	size_t folder_count;
	atomic_size_t taken;
	atomic_ullong bytes;
	bool verify;
};

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static struct folder *folder_new(struct folder *parent, const char *name)
{
	size_t length = strlen(name) + 1;
	struct folder *folder = calloc(1, sizeof(*folder) + length);

	if (folder == NULL)
		fail("floor");
	folder->parent = parent;
	folder->fd = -1;
	atomic_store(&folder->uses, 1);
	memcpy(folder->name, name, length);
	if (parent != NULL) {
		atomic_fetch_add(&parent->uses, 1);
		folder->major = parent->major;
		folder->minor = parent->minor;
	}
	return folder;
}

static void folder_drop(struct folder *folder)
{
	if (folder == NULL || atomic_fetch_sub(&folder->uses, 1) > 1)
		return;
	if (folder->fd >= 0)
		(void)close(folder->fd);
	free(folder);
}

/* The check of a file that twinfs makes after a read (scan/reading.c). */
static bool is_unchanged(int fd, bool leased)
{
	struct statx info;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &info) == 0 &&
	       (!leased || fcntl(fd, F_GETLEASE) == F_RDLCK);
}

/* Returns the number of bytes read, at most `left`; 0 for a file that is missing or written to. */
static unsigned long long read_file(int folder, const char *name, unsigned long long left,
				    char *buffer, bool verify)
{
	unsigned long long bytes = 0;
	AUTO_CLOSE int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool leased = verify && fd >= 0 && fcntl(fd, F_SETLEASE, F_RDLCK) == 0;

	while (fd >= 0 && left > 0) {
		ssize_t got = read(fd, buffer, left < READ_BYTES ? (size_t)left : READ_BYTES);

		if (got <= 0)
			break;
		left -= (unsigned long long)got;
		bytes += (unsigned long long)got;
	}
	return verify && fd >= 0 && !is_unchanged(fd, leased) ? 0 : bytes;
}

static uint64_t device_of(uint64_t major, uint64_t minor)
{
	return major << 32 | minor;
}

static int compare_wanted(const void *a, const void *b)
{
	const struct wanted *left = a, *right = b;

	if (left->device != right->device)
		return left->device < right->device ? -1 : 1;
	return (left->inode > right->inode) - (left->inode < right->inode);
}

/* Returns the number of bytes of an inode that this thread must read, or 0. */
static uint64_t take_wanted(struct work *work, const struct statx *info)
{
	const struct wanted key = {.device = device_of(info->stx_dev_major, info->stx_dev_minor),
				   .inode = info->stx_ino};
	struct wanted *found =
		bsearch(&key, work->wanted, work->wanted_count, sizeof(key), compare_wanted);

	return found != NULL && !atomic_exchange(&found->taken, true) ? found->bytes : 0;
}

/* Reads a regular file after its attributes. The listing buffer is in use: it has its own. */
static void read_walked(struct work *work, const struct folder *folder, const char *name,
			const struct statx *info)
{
	static _Thread_local char buffer[READ_BYTES];
	uint64_t bytes;

	if (!S_ISREG(info->stx_mode))
		return;
	bytes = work->wanted ? take_wanted(work, info) : info->stx_size;
	if (bytes > 0)
		(void)read_file(folder->fd, name, bytes, buffer, true);
}

/* Examines one name. If the name is a folder of the same device, it is put before the folders found
 * so far. Returns the first folder found. */
static struct folder *examine_name(struct work *work, struct folder *folder, const char *name,
				   struct folder *found)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;
	struct statx info;
	struct folder *child;

	if (statx(folder->fd, name, flags, STATX_BASIC_STATS, &info) != 0)
		return found;
	if (work->reads)
		read_walked(work, folder, name, &info);
	if (!S_ISDIR(info.stx_mode) || info.stx_dev_major != folder->major ||
	    info.stx_dev_minor != folder->minor)
		return found;
	child = folder_new(folder, name);
	child->next = found;
	return child;
}

/* Lists a folder; returns the folders in it. */
static struct folder *list_folder(struct work *work, struct folder *folder, char *buffer)
{
	struct folder *found = NULL;
	unsigned long long names = 0, bytes = 0;
	int at = folder->parent ? folder->parent->fd : AT_FDCWD;

	folder->fd = openat(at, folder->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	folder_drop(folder->parent);
	folder->parent = NULL;
	if (folder->fd < 0)
		return NULL;
	for (;;) {
		ssize_t got = getdents64(folder->fd, buffer, LISTING_BYTES);

		if (got <= 0)
			break;
		for (ssize_t at_byte = 0; at_byte < got;) {
			const struct dirent64 *entry = (const void *)(buffer + at_byte);

			at_byte += entry->d_reclen;
			if (is_dots(entry->d_name))
				continue;
			names++;
			bytes += strlen(entry->d_name);
			found = examine_name(work, folder, entry->d_name, found);
		}
	}
	atomic_fetch_add(&work->names, names);
	atomic_fetch_add(&work->name_bytes, bytes);
	return found;
}

/* Returns the next folder, or NULL if all are listed. */
static struct folder *take(struct work *work)
{
	struct folder *folder;

	while (work->waiting == NULL && work->busy > 0)
		(void)pthread_cond_wait(&work->changed, &work->lock);
	folder = work->waiting;
	if (folder != NULL) {
		work->waiting = folder->next;
		work->busy++;
	}
	return folder;
}

static void put_back(struct work *work, struct folder *found)
{
	while (found != NULL) {
		struct folder *next = found->next;

		found->next = work->waiting;
		work->waiting = found;
		found = next;
	}
	work->busy--;
	(void)pthread_cond_broadcast(&work->changed);
}

static void *walk_thread(void *argument)
{
	struct work *work = argument;
	AUTO_FREE char *buffer = malloc(LISTING_BYTES);
	struct folder *folder;

	if (buffer == NULL)
		fail("floor");
	(void)pthread_mutex_lock(&work->lock);
	while ((folder = take(work)) != NULL) {
		struct folder *found;

		(void)pthread_mutex_unlock(&work->lock);
		found = list_folder(work, folder, buffer);
		folder_drop(folder);
		(void)pthread_mutex_lock(&work->lock);
		put_back(work, found);
	}
	(void)pthread_mutex_unlock(&work->lock);
	return NULL;
}

static void run_threads(void *(*run)(void *), void *argument, int count)
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, run, argument) != 0)
			fail("floor: pthread_create");
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
}

/* Reads standard input to its end and appends a NUL. */
static void list_load(struct list *list)
{
	size_t room = 1 << 20;

	list->text = malloc(room + 1);
	for (;;) {
		ssize_t got;

		if (list->text == NULL)
			fail("floor");
		got = read(STDIN_FILENO, list->text + list->length, room - list->length);
		if (got < 0)
			fail("floor: the list");
		if (got == 0)
			break;
		list->length += (size_t)got;
		if (list->length == room) {
			room *= 2;
			list->text = realloc(list->text, room + 1);
		}
	}
	list->text[list->length] = '\0';
}

/* Reads the inodes to read from standard input. */
static void wanted_load(struct work *work)
{
	struct list list = {0};
	size_t lines = 0;
	char *at;

	list_load(&list);
	for (size_t i = 0; i < list.length; i++)
		lines += list.text[i] == '\n';
	work->wanted = calloc(lines + 1, sizeof(*work->wanted));
	if (work->wanted == NULL)
		fail("floor");
	at = list.text;
	while (work->wanted_count < lines) {
		struct wanted *wanted = &work->wanted[work->wanted_count++];
		uint64_t major = strtoull(at, &at, 10);

		wanted->device = device_of(major, strtoull(at, &at, 10));
		wanted->inode = strtoull(at, &at, 10);
		wanted->bytes = strtoull(at, &at, 10);
	}
	free(list.text);
	qsort(work->wanted, lines, sizeof(*work->wanted), compare_wanted);
}

static void walk(int threads, bool reads, bool some, char **paths)
{
	struct work work = {.lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER,
			    .reads = reads};

	if (some)
		wanted_load(&work);
	for (; *paths != NULL; paths++) {
		struct folder *root = folder_new(NULL, *paths);
		struct statx info;

		if (statx(AT_FDCWD, *paths, 0, STATX_BASIC_STATS, &info) != 0)
			fail(*paths);
		root->major = info.stx_dev_major;
		root->minor = info.stx_dev_minor;
		root->next = work.waiting;
		work.waiting = root;
	}
	run_threads(walk_thread, &work, threads);
	(void)printf("%llu %llu\n", atomic_load(&work.names), atomic_load(&work.name_bytes));
	free(work.wanted);
}

static unsigned long long read_record(int folder, const char *record, char *buffer, bool verify)
{
	char *name;
	unsigned long long size = strtoull(record + 1, &name, 10);

	return read_file(folder, name + 1, size, buffer, verify);
}

static void *read_thread(void *argument)
{
	struct list *list = argument;
	const char *end = list->text + list->length;
	AUTO_FREE char *buffer = malloc(READ_BYTES);
	unsigned long long bytes = 0;
	size_t i;

	if (buffer == NULL)
		fail("floor");
	while ((i = atomic_fetch_add(&list->taken, 1)) < list->folder_count) {
		const char *record = list->folders[i];
		AUTO_CLOSE int folder = open(record + 1, O_PATH | O_DIRECTORY | O_CLOEXEC);

		for (;;) {
			record += strlen(record) + 1;
			if (record >= end || *record != 'F')
				break;
			bytes += read_record(folder, record, buffer, list->verify);
		}
	}
	atomic_fetch_add(&list->bytes, bytes);
	return NULL;
}

static void list_find_folders(struct list *list)
{
	size_t room = 0;

	for (const char *at = list->text; at < list->text + list->length; at += strlen(at) + 1) {
		if (*at != 'D')
			continue;
		if (list->folder_count == room) {
			room = room ? 2 * room : 1024;
			list->folders = realloc(list->folders, room * sizeof(*list->folders));
			if (list->folders == NULL)
				fail("floor");
		}
		list->folders[list->folder_count++] = at;
	}
}

static void read_listed(int threads, bool verify)
{
	struct list list = {.verify = verify};

	list_load(&list);
	list_find_folders(&list);
	run_threads(read_thread, &list, threads);
	(void)printf("%llu\n", atomic_load(&list.bytes));
	free(list.folders);
	free(list.text);
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	bool verify = argc == 3 && strcmp(argv[1], "verify") == 0;
	bool some = argc > 3 && strcmp(argv[1], "scan-some") == 0;
	bool reads = some || (argc > 3 && strcmp(argv[1], "scan") == 0);
	bool fits = threads >= 1 && threads <= THREADS_MAX;

	if (fits && argc > 3 && (reads || strcmp(argv[1], "walk") == 0)) {
		walk((int)threads, reads, some, argv + 3);
		return 0;
	}
	if (fits && argc == 3 && (verify || strcmp(argv[1], "read") == 0)) {
		read_listed((int)threads, verify);
		return 0;
	}
	(void)fprintf(
		stderr,
		"usage: floor walk|scan THREADS FOLDER... | scan-some THREADS FOLDER... <INODES "
		"| read|verify THREADS <LIST\n");
	return 2;
}
