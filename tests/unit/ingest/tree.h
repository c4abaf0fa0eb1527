/* SPDX-License-Identifier: MIT */
#ifndef TESTS_INGEST_TREE_H
#define TESTS_INGEST_TREE_H

/* An existing source folder with an index beside it. Paths are relative to the source. A failed
 * helper ends the test. */

#include <fcntl.h>
#include <sys/stat.h>

#include "base/descriptor.h"
#include "catalog/fixture.h"
#include "ingest/ingest.h"
#include "source/source.h"

struct tree {
	struct fixture index;
	char base[64]; /* of the index */
	char source[96]; /* on a disk: tmpfs does not change times for writes to mapped memory */
	struct sources sources;
	struct ingest_settings settings;
	struct ingest_result result; /* of the last scan */
	uint64_t candidates; /* of the last scan: number of files with the size of another file */
	int fd; /* the source */
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

static inline void write_bytes(const struct tree *t, const char *path, const void *data,
			       size_t length)
{
	int fd = openat(t->fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write_fully(fd, data, length), 0);
	assert_int_equal(close(fd), 0);
}

static inline void write_text(const struct tree *t, const char *path, const char *text)
{
	write_bytes(t, path, text, strlen(text));
}

/* Writes a file of this length. Up to four of its bytes depend on content. */
static inline void write_content(const struct tree *t, const char *path, size_t length,
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

static inline ino_t inode_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
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
