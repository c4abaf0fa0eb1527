/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INGEST_TREE_H
#define TESTS_INGEST_TREE_H

/* An existing source folder with an index beside it. Paths are relative to the source. A failed
 * helper ends the test. */

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "index/fixture.h"
#include "index/source.h"
#include "scan/ingest.h"

struct tree {
	struct fixture index;
	char base[64]; /* of the index */
	char source[96]; /* on a disk: tmpfs does not change times for writes to mapped memory */
	struct sources sources;
	struct ingest_settings settings;
	struct ingest_result result; /* of the last scan */
	uint64_t candidates; /* of the last scan: number of files with the size of another file */
	int fd; /* the source */
	/* the last file that was made, for create_last() */
	char last_folder[128];
	ino_t last_inode;
	unsigned int moved; /* files that create_last() moved out of the source */
};

static inline void tree_open(struct tree *t)
{
	CLEANUP_TEXT_LIST struct text_list resolved = {0};
	char *given[] = {t->source};

	fixture_open(&t->index);
	assert_int_equal(source_paths_resolve(given, 1, &resolved), 0);
	assert_int_equal(sources_open(&t->sources, t->index.catalog, resolved.items, false), 0);
	t->index.roots[0] = t->sources.list[0].root;
}

static inline int tree_setup(void **state)
{
	struct tree *t = calloc(1, sizeof(*t));
	char folder[64];

	assert_non_null(t);
	fixture_make_folder(t->base);
	(void)snprintf(t->index.folder, sizeof(t->index.folder), "%.50s/index", t->base);
	folder_make(folder, "/var/tmp");
	(void)snprintf(t->source, sizeof(t->source), "%s/source", folder);
	assert_int_equal(mkdir(t->source, 0755), 0);
	t->fd = open(t->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(t->fd >= 0);
	t->settings.min_size = 1;
	t->settings.threads = 2;
	tree_open(t);
	*state = t;
	return 0;
}

static inline int tree_teardown(void **state)
{
	struct tree *t = *state;

	sources_close(&t->sources);
	catalog_close(t->index.catalog);
	close(t->fd);
	*strrchr(t->source, '/') = '\0';
	folder_remove(t->source);
	folder_remove(t->base);
	free(t);
	return 0;
}

static inline void tree_reopen(struct tree *t)
{
	sources_close(&t->sources);
	catalog_close(t->index.catalog);
	tree_open(t);
}

/* ---- the disk ------------------------------------------------------------------------ */

static inline void make_dir(const struct tree *t, const char *path)
{
	assert_int_equal(mkdirat(t->fd, path, 0755), 0);
}

static inline ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

/* Makes an empty file whose inode number is greater than that of the last one in its folder, so
 * that a walk reads the files in the order of their creation. If another process removed a file,
 * its number goes to a new one: such a file is moved out of the source. Returns a descriptor. */
static inline int create_last(struct tree *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[sizeof(t->last_folder)], away[32];
	int fd;

	(void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (strcmp(folder, t->last_folder) != 0)
		t->last_inode = 0;
	memcpy(t->last_folder, folder, sizeof(folder));
	for (;;) {
		fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		if (inode_of(fd) > t->last_inode)
			break;
		assert_int_equal(close(fd), 0);
		(void)snprintf(away, sizeof(away), "../moved %u", t->moved++);
		assert_int_equal(renameat(t->fd, path, t->fd, away), 0);
	}
	t->last_inode = inode_of(fd);
	return fd;
}

static inline void write_bytes(struct tree *t, const char *path, const void *data, size_t length)
{
	int fd = openat(t->fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		fd = create_last(t, path);
	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, data, length), 0);
	assert_int_equal(close(fd), 0);
}

static inline void write_text(struct tree *t, const char *path, const char *text)
{
	write_bytes(t, path, text, strlen(text));
}

/* Writes a file of this length. Up to four of its bytes depend on content. */
static inline void write_content(struct tree *t, const char *path, size_t length,
				 unsigned int content)
{
	uint8_t *data = malloc(length ? length : 1);

	assert_non_null(data);
	memset(data, 'x', length);
	for (size_t bit = 0; length > 0 && bit < 4; bit++) {
		if (content >> bit & 1)
			data[(length - 1) / 4 * bit] ^= 1;
	}
	write_bytes(t, path, data, length);
	free(data);
}

/* ---- the index ----------------------------------------------------------------------- */

/* Brings the names up to date, and compares no file. */
static inline void scan_names(struct tree *t)
{
	struct ingest ingest = {.catalog = t->index.catalog,
				.sources = &t->sources,
				.settings = &t->settings};

	assert_int_equal(ingest_names(&ingest), 0);
}

static inline void scan(struct tree *t)
{
	struct ingest ingest = {.catalog = t->index.catalog,
				.sources = &t->sources,
				.settings = &t->settings};

	assert_int_equal(ingest_names(&ingest), 0);
	assert_int_equal(ingest_contents(&ingest), 0);
	t->result = ingest.result;
	t->candidates = ingest.progress.candidates;
}

/* Returns the id of a path, or 0 if the index does not have the path. */
static inline uint64_t id_of_path(const struct tree *t, const char *path)
{
	uint64_t id = t->index.roots[0];
	char *copy = strdup(path), *rest = copy, *name;

	assert_non_null(copy);
	while (id && (name = strsep(&rest, "/")))
		id = id_at(&t->index, id, name);
	free(copy);
	return id;
}

/* Returns the group of a file, or 0 if the file is in no group. */
static inline uint64_t group_of_path(const struct tree *t, const char *path)
{
	uint64_t id = id_of_path(t, path);

	assert_true(id != 0);
	return content_of(&t->index, id).group;
}

static inline bool are_grouped(const struct tree *t, const char *one, const char *other)
{
	uint64_t group = group_of_path(t, one);

	return group && group == group_of_path(t, other);
}

#endif
