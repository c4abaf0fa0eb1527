/* SPDX-License-Identifier: MIT */
#include "index/integrity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/new_file.h"
#include "index/meta.h"
#include "index/store/index_files.h"
#include "index/store/store.h"
#include "twinfs/format.h"

#define READ_BYTES (1 << 20)
#define SEAL_TEXT_BYTES 96

#define COPY_PATH_BYTES (sizeof(struct fd_path) + sizeof("/" TWINFS_INDEX_COPY))

/* Descriptor of the index folder in the child process. */
#define FOLDER_FD (STDERR_FILENO + 1)

/* ---- the seal ------------------------------------------------------------------------ */

static int make_seal_of(int fd, char text[SEAL_TEXT_BYTES])
{
	struct hash_state *state = hash_state_new();
	AUTO_FREE void *block = memory_pages(READ_BYTES);
	char digits[HASH128_DIGITS + 1];
	ssize_t got = 0;
	off_t at = 0;

	if (!state || !block) {
		hash_state_free(state);
		return -ENOMEM;
	}
	while ((got = read_fully_at(fd, block, READ_BYTES, at)) > 0) {
		hash_state_update(state, block, (size_t)got);
		at += got;
	}
	hash128_format(hash_state_digest(state), digits);
	hash_state_free(state);
	snprintf(text, SEAL_TEXT_BYTES, "%jd %s\n", (intmax_t)at, digits);
	return got < 0 ? (int)got : 0;
}

static int make_seal(int folder_fd, char text[SEAL_TEXT_BYTES])
{
	AUTO_CLOSE int fd = openat(folder_fd, TWINFS_INDEX_DATA, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : make_seal_of(fd, text);
}

int index_seal(int folder_fd)
{
	char text[SEAL_TEXT_BYTES];
	int r = make_seal(folder_fd, text);

	/* if a power cut loses the seal, the next start checks the index */
	return r < 0 ? r : index_file_replace(folder_fd, TWINFS_INDEX_SEAL, text, false);
}

int index_unseal(int folder_fd)
{
	if (unlinkat(folder_fd, TWINFS_INDEX_SEAL, 0) < 0 && errno != ENOENT)
		return -errno;
	return fsync(folder_fd) < 0 ? -errno : 0;
}

enum seal_state {
	SEAL_HOLDS,
	SEAL_ABSENT,
	SEAL_BROKEN
};

static enum seal_state examine_seal(int folder_fd)
{
	char sealed[SEAL_TEXT_BYTES], actual[SEAL_TEXT_BYTES];

	if (index_file_read(folder_fd, TWINFS_INDEX_SEAL, sealed, sizeof(sealed)) < 0)
		return SEAL_ABSENT;
	if (make_seal(folder_fd, actual) == 0 && strcmp(sealed, actual) == 0)
		return SEAL_HOLDS;
	/* a writer that opened the index meanwhile removed the seal before its first change */
	return index_file_read(folder_fd, TWINFS_INDEX_SEAL, actual, sizeof(actual)) == 0
		       ? SEAL_BROKEN
		       : SEAL_ABSENT;
}

/* ---- checking every record ----------------------------------------------------------- */

enum catalog_open_outcome index_examine_format(const char *folder)
{
	struct catalog_reader *reader = NULL;
	struct store store;
	unsigned int format = 0;
	int r = store_open_meta(&store, folder);

	if (r == 0)
		r = store_read_begin(&store, &reader);
	if (r == 0)
		r = meta_get_format(reader, &format);
	store_read_end(reader);
	store_close(&store);
	if (format > TWINFS_INDEX_FORMAT)
		return CATALOG_NEWER;
	return r < 0 || format == 0 || format >= TWINFS_INDEX_FORMAT_USABLE ? CATALOG_OPENED
									    : CATALOG_OLDER;
}

static bool lacks_room(int r)
{
	/* LMDB returns EIO if a write was cut short */
	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO;
}

static void make_copy_path(int folder_fd, char path[static COPY_PATH_BYTES])
{
	(void)snprintf(path, COPY_PATH_BYTES, "%s/" TWINFS_INDEX_COPY, fd_path(folder_fd).text);
}

/* Copies the records. If the copy cannot be written for lack of space, the original data file is
 * used. Returns an enum catalog_open_outcome. */
static int copy_records(struct catalog_reader *reader)
{
	char path[COPY_PATH_BYTES];
	int r;

	make_copy_path(FOLDER_FD, path);
	r = store_copy(reader, path);
	return r == 0 || lacks_room(r) ? CATALOG_OPENED : CATALOG_DAMAGED;
}

/* Reads and checks everything; the work of the child process. If copied is true, writes the records
 * of a sound index to a new file (index/store/store.h). Returns an enum catalog_open_outcome. */
static int check_records(const char *folder, bool copied)
{
	struct catalog_reader *reader = NULL;
	struct store store;
	int r, state = (int)index_examine_format(folder);
	bool empty;

	if (state != CATALOG_OPENED)
		return state;
	r = store_open(&store, folder, 0, NULL);
	/* the process that made the index was killed before it made the tables */
	empty = r == -ENOENT && store_has_no_commit(&store);
	if (r == 0)
		r = store_read_begin(&store, &reader);
	if (r == 0)
		r = check_catalog(reader);
	state = r == 0 || empty ? CATALOG_OPENED : CATALOG_DAMAGED;
	if (r == 0 && copied)
		state = copy_records(reader);
	store_read_end(reader);
	store_close(&store);
	return state;
}

/* Runs in the child process, which ends with an enum catalog_open_outcome as its status. The child
 * discards stderr: LMDB's assertions and sanitizers print there, but the parent reports the result.
 * The child closes all other descriptors except the folder's. If it kept the descriptor of the
 * index lock, it could hold the lock longer than the parent. */
static void check_and_exit(int folder_fd, pid_t parent, bool copied)
{
	int null;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CATALOG_DAMAGED);
	if (dup2(folder_fd, FOLDER_FD) < 0)
		_exit(CATALOG_DAMAGED);
	closefrom(FOLDER_FD + 1);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null >= 0)
		dup2(null, STDERR_FILENO);
	(void)signal(SIGSEGV, SIG_DFL);
	(void)signal(SIGBUS, SIG_DFL);
	(void)signal(SIGABRT, SIG_DFL);
	_exit(check_records(fd_path(FOLDER_FD).text, copied));
}

/* Returns whether the child that ended with this status came to its end: a sanitizer, for example,
 * ends a process with a status of its own. */
static bool is_status(int status)
{
	return status == CATALOG_OPENED || status == CATALOG_NEWER || status == CATALOG_OLDER;
}

/* Checks in a child process, as reading damaged pages can crash. This process must have one thread
 * only: its child can wait forever for a lock that another thread held. Returns an enum
 * catalog_open_outcome or -errno. */
static int check_in_child(int folder_fd, bool copied)
{
	pid_t parent = getpid(), child = fork();
	int status;

	if (child < 0)
		return -errno;
	if (child == 0)
		check_and_exit(folder_fd, parent, copied);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return WIFEXITED(status) && is_status(WEXITSTATUS(status)) ? WEXITSTATUS(status)
								   : CATALOG_DAMAGED;
}

/* ---- replacing files of the index ----------------------------------------------------- */

void index_files_hold(int folder_fd)
{
	while (flock(folder_fd, LOCK_SH) < 0 && errno == EINTR)
		continue;
}

void index_files_release(int folder_fd)
{
	(void)flock(folder_fd, LOCK_UN);
}

/* Returns whether another process holds the files (index_files_hold()). If not, it has to wait
 * until index_files_release(). */
static bool files_are_held(int folder_fd)
{
	return flock(folder_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Deletes LMDB's lock file before another data file gets its name. The lock file has the number of
 * the last transaction, so it belongs to one data file. A process that still reads the old data
 * file has both files open, and is not disturbed. */
static int drop_lock_file(int folder_fd)
{
	return unlinkat(folder_fd, TWINFS_INDEX_READERS, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int replace_data(int folder_fd)
{
	int r = drop_lock_file(folder_fd);

	if (r < 0)
		return r;
	if (renameat(folder_fd, TWINFS_INDEX_COPY, folder_fd, TWINFS_INDEX_DATA) < 0)
		return -errno;
	return fsync(folder_fd) < 0 ? -errno : 0;
}

/* If there is no copy, changes nothing: processes that read the data file are registered in the
 * lock file. */
int index_adopt_copy(int folder_fd)
{
	int r;

	if (!name_exists(folder_fd, TWINFS_INDEX_COPY))
		return errno == ENOENT ? CATALOG_OPENED : -errno;
	if (files_are_held(folder_fd))
		r = unlinkat(folder_fd, TWINFS_INDEX_COPY, 0) < 0 ? -errno : 0;
	else
		r = replace_data(folder_fd);
	index_files_release(folder_fd);
	return r < 0 ? r : CATALOG_OPENED;
}

void index_copy_if_wasteful(struct store *store, int folder_fd, bool *copied)
{
	struct catalog_reader *reader = NULL;
	char path[COPY_PATH_BYTES];
	bool wasteful = false;
	int r = store_read_begin(store, &reader);

	*copied = false;
	if (r == 0)
		r = store_is_wasteful(reader, &wasteful);
	make_copy_path(folder_fd, path);
	if (r == 0 && wasteful)
		*copied = store_copy(reader, path) == 0;
	store_read_end(reader);
	log_debug("copied the records of the index: %s", *copied ? "yes" : "no");
}

/* Returns true if the records must be checked, and sets *seal to the state of the seal. */
static bool needs_check(int folder_fd, bool distrusted, enum seal_state *seal)
{
	if (index_is_empty(folder_fd))
		return false;
	*seal = examine_seal(folder_fd);
	return *seal != SEAL_HOLDS || distrusted;
}

int index_examine(int folder_fd, const char *folder, bool distrusted, bool *sealed)
{
	enum seal_state seal = SEAL_ABSENT;
	int state, r;

	*sealed = false;
	if (!needs_check(folder_fd, distrusted, &seal)) {
		*sealed = seal == SEAL_HOLDS;
		return CATALOG_OPENED;
	}
	log_debug("checking index %s", quote_path(folder));
	/* a killed check can have left an incomplete copy */
	if (unlinkat(folder_fd, TWINFS_INDEX_COPY, 0) < 0 && errno != ENOENT)
		return -errno;
	state = check_in_child(folder_fd, true);
	if (state == CATALOG_OPENED && seal == SEAL_BROKEN)
		state = CATALOG_DAMAGED; /* no version of twinfs changes a sealed file */
	if (state == CATALOG_OPENED) {
		r = index_unseal(folder_fd); /* the copy has other bytes */
		return r < 0 ? r : index_adopt_copy(folder_fd);
	}
	(void)unlinkat(folder_fd, TWINFS_INDEX_COPY, 0);
	return state;
}

/* Returns true if the last process that wrote the index was killed: its pid is left. The process
 * possibly crashed because of the content of a sealed file. */
static bool was_killed(int folder_fd)
{
	struct stat status;

	return fstatat(folder_fd, TWINFS_INDEX_LOCK, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       status.st_size > 0;
}

int index_check(int folder_fd, bool distrusted)
{
	enum seal_state seal;
	int state;

	distrusted = distrusted || was_killed(folder_fd);
	if (!needs_check(folder_fd, distrusted, &seal))
		return CATALOG_OPENED;
	state = check_in_child(folder_fd, false);
	return state == CATALOG_OPENED && seal == SEAL_BROKEN ? CATALOG_DAMAGED : state;
}

/* Opens the data file of an index of any user. Returns a descriptor or -errno. */
static int open_foreign_data(int folder_fd)
{
	int fd = open_beneath_for_reading(folder_fd, TWINFS_INDEX_DATA, 0, true);
	struct stat status;

	if (fd < 0)
		return fd == -ELOOP ? -EPERM : fd;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	(void)close(fd);
	return -EPERM;
}

/* Copies the data file and compares the copy with the seal. Returns an enum catalog_open_outcome or
 * -errno. */
static int copy_sealed(int folder_fd, int copy)
{
	AUTO_CLOSE int data = open_foreign_data(folder_fd);
	char sealed[SEAL_TEXT_BYTES], actual[SEAL_TEXT_BYTES];
	int r;

	if (data < 0)
		return data;
	r = index_file_read(folder_fd, TWINFS_INDEX_SEAL, sealed, sizeof(sealed));
	if (r < 0)
		return r == -ENOENT ? CATALOG_UNSEALED : r;
	r = spool_copy(data, copy);
	if (r == 0)
		r = make_seal_of(copy, actual);
	if (r < 0)
		return r;
	return strcmp(sealed, actual) == 0 ? CATALOG_OPENED : CATALOG_UNSEALED;
}

int index_copy_sealed(int folder_fd, int *copy)
{
	int made = spool_open();
	int r = made < 0 ? made : copy_sealed(folder_fd, made);

	*copy = -1;
	if (r == CATALOG_OPENED)
		r = check_in_child(made, false);
	if (r == CATALOG_OPENED)
		*copy = made;
	else if (made >= 0)
		(void)close(made);
	return r;
}

int index_set_aside(int folder_fd)
{
	int r;

	(void)files_are_held(folder_fd); /* a damaged file does not wait */
	r = drop_lock_file(folder_fd);
	if (r == 0 && renameat(folder_fd, TWINFS_INDEX_DATA, folder_fd, TWINFS_INDEX_DAMAGED) < 0 &&
	    errno != ENOENT)
		r = -errno;
	index_files_release(folder_fd);
	return r;
}
