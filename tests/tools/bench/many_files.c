/* SPDX-License-Identifier: MIT */

/* Makes a tree of many small files, the same on every machine, as fast as this machine can do it:
 *
 *   many_files THREADS FOLDER FIRST COUNT small|mixed
 *
 * Makes the files FIRST to FIRST + COUNT - 1, of 64 to 1,023 bytes, in folders of 1,000. One in
 * COPIED is a copy of another file of this run, far away. In a mixed tree, three of four groups of
 * COPIED files are empty, and a folder has 20 files or 1,000 folders. FOLDER must exist. COUNT is a
 * multiple of COPIED * EMPTY_CYCLE. */

#include <errno.h>
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

enum {
	THREADS_MAX = 64,
	FOLDER_FILES = 1000,
	MIXED_FOLDER_FILES = 20,
	FOLDERS = 1000, /* in a folder of a mixed tree */
	COPIED = 4,
	EMPTY_CYCLE = 4,
	LEAST_BYTES = 64,
	SIZES = 960,
};

struct tree {
	int fd;
	uint64_t first, count, folder_files;
	bool mixed;
	atomic_uint_least64_t folders; /* taken by the threads */
};

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

/* The content of a file: its own number, or that of the file that it is a copy of. */
static uint64_t content_of(const struct tree *tree, uint64_t number)
{
	const uint64_t cycle = COPIED * EMPTY_CYCLE;

	if (number % COPIED != COPIED - 1)
		return tree->first + number;
	return tree->first + (number + 1 - COPIED + tree->count / 2 / cycle * cycle) % tree->count;
}

/* splitmix64 (Steele et al., 2014) of the content's number; returns how many bytes were filled. */
static size_t fill(uint64_t content, uint64_t *words)
{
	size_t size = LEAST_BYTES + (content * 2654435761U % (UINT64_C(1) << 32)) % SIZES;
	uint64_t state = content << 8;

	for (size_t i = 0; i < (size + 7) / 8; i++) {
		uint64_t word = state += UINT64_C(0x9e3779b97f4a7c15);

		word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
		words[i] = word ^ word >> 31;
	}
	return size;
}

static void make_file(const struct tree *tree, int folder, uint64_t number)
{
	uint64_t words[(LEAST_BYTES + SIZES) / 8 + 1];
	bool empty = tree->mixed && number / COPIED % EMPTY_CYCLE != 0;
	size_t size = empty ? 0 : fill(content_of(tree, number), words);
	AUTO_CLOSE int fd = -1;
	char name[16];

	(void)snprintf(name, sizeof(name), "%03u", (unsigned)(number % tree->folder_files));
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || (size > 0 && write(fd, words, size) != (ssize_t)size))
		fail(name);
}

/* Makes a folder, unless it exists; returns its descriptor. */
static int open_folder(int parent, uint64_t number)
{
	char name[16];
	int fd;

	(void)snprintf(name, sizeof(name), "%05u", (unsigned)number);
	if (mkdirat(parent, name, 0755) != 0 && errno != EEXIST)
		fail(name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		fail(name);
	return fd;
}

static void make_folder(const struct tree *tree, uint64_t index)
{
	uint64_t number = index * tree->folder_files, end = number + tree->folder_files;
	AUTO_CLOSE int parent = tree->mixed ? open_folder(tree->fd, index / FOLDERS) : -1;
	AUTO_CLOSE int fd =
		tree->mixed ? open_folder(parent, index % FOLDERS) : open_folder(tree->fd, index);

	for (; number < end && number < tree->count; number++)
		make_file(tree, fd, number);
}

static void *make_folders(void *argument)
{
	struct tree *tree = argument;
	uint64_t index;

	while ((index = atomic_fetch_add(&tree->folders, 1)) * tree->folder_files < tree->count)
		make_folder(tree, index);
	return NULL;
}

static void make(struct tree *tree, int count)
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < count; i++) {
		if (pthread_create(&threads[i], NULL, make_folders, tree) != 0)
			fail("many_files: pthread_create");
	}
	for (int i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	long threads = argc == 6 ? strtol(argv[1], NULL, 10) : 0;
	struct tree tree = {.fd = -1};

	if (threads < 1 || threads > THREADS_MAX) {
		(void)fprintf(stderr, "usage: many_files THREADS FOLDER FIRST COUNT small|mixed\n");
		return 2;
	}
	tree.fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (tree.fd < 0)
		fail(argv[2]);
	tree.first = strtoull(argv[3], NULL, 10);
	tree.count = strtoull(argv[4], NULL, 10);
	tree.mixed = strcmp(argv[5], "mixed") == 0;
	tree.folder_files = tree.mixed ? MIXED_FOLDER_FILES : FOLDER_FILES;
	make(&tree, (int)threads);
	(void)close(tree.fd);
	return 0;
}
