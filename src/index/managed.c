/* SPDX-License-Identifier: MIT */
#include "index/managed.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/path.h"
#include "index/emptied_place.h"

/* Bytes of a file that are enough for each row of the tables. */
#define PREFIX_BYTES 64

/* The first bytes of a file. */
struct file_prefix {
	uint8_t bytes[PREFIX_BYTES];
	size_t length;
};

typedef bool matches_fn(const struct file_prefix *prefix);

/* ---- contents ------------------------------------------------------------------------------ */

static bool begins_with(const struct file_prefix *prefix, const void *bytes, size_t length)
{
	return prefix->length >= length && memcmp(prefix->bytes, bytes, length) == 0;
}

static bool has_number_at(const struct file_prefix *prefix, size_t offset, uint32_t number)
{
	uint32_t found;

	if (prefix->length < offset + sizeof(found))
		return false;
	memcpy(&found, prefix->bytes + offset, sizeof(found));
	return found == number || found == __builtin_bswap32(number);
}

/* LMDB writes its files in the byte order of the machine. */
#define LMDB_MAGIC UINT32_C(0xBEEFC0DE)

/* Recognizes the first page of an LMDB database. Before the magic number is the header of a page,
 * whose size depends on the version and on the size of a pointer: 12 to 24 bytes (mdb.c, struct
 * MDB_page). */
static bool is_lmdb(const struct file_prefix *prefix)
{
	for (size_t offset = 12; offset <= 24; offset += sizeof(uint32_t)) {
		if (has_number_at(prefix, offset, LMDB_MAGIC))
			return true;
	}
	return false;
}

/* Recognizes the lock file of an LMDB database (mdb.c, struct MDB_txninfo). */
static bool is_lmdb_lock(const struct file_prefix *prefix)
{
	return has_number_at(prefix, 0, LMDB_MAGIC);
}

/* https://www.sqlite.org/fileformat2.html, sections 1.3, 3 and 4 */
static bool is_sqlite(const struct file_prefix *prefix)
{
	static const char magic[] = "SQLite format 3";

	return begins_with(prefix, magic, sizeof(magic));
}

static bool is_sqlite_journal(const struct file_prefix *prefix)
{
	static const uint8_t magic[] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

	return begins_with(prefix, magic, sizeof(magic));
}

static bool is_sqlite_log(const struct file_prefix *prefix)
{
	static const uint8_t magic[] = {0x37, 0x7f, 0x06};

	return begins_with(prefix, magic, sizeof(magic)) && prefix->length > 3 &&
	       (prefix->bytes[3] | 1U) == 0x83;
}

/* Recognizes PG_VERSION: "15" or "9.6" and a newline. */
static bool is_postgres_version(const struct file_prefix *prefix)
{
	return prefix->length >= 2 && prefix->bytes[0] >= '1' && prefix->bytes[0] <= '9' &&
	       memchr(prefix->bytes, '\n', prefix->length);
}

/* RELMAPPER_FILEMAGIC of PostgreSQL (src/backend/utils/cache/relmapper.c) */
static bool is_postgres_map(const struct file_prefix *prefix)
{
	return has_number_at(prefix, 0, UINT32_C(0x592717));
}

/* https://ocfl.io/1.1/spec/: the content of the file is its name without "0=". */
static bool is_ocfl(const struct file_prefix *prefix)
{
	return begins_with(prefix, "ocfl_", strlen("ocfl_"));
}

/* DVC creates an empty configuration, or writes sections to it. */
static bool is_sections(const struct file_prefix *prefix)
{
	return prefix->length == 0 || prefix->bytes[0] == '[' || prefix->bytes[0] == '#';
}

/* ---- the tables ---------------------------------------------------------------------------- */

#define MARKS_MAX 3
#define BESIDE_MAX 3

#define KIND(text, preposition)                                   \
	{                                                         \
		.name = (text), .where = preposition " " text,    \
		.why = preposition " " text ", which stays whole" \
	}
#define FOLDER(text) KIND(text, "in")
#define FILES(text) KIND(text, "of")

/* A folder that is a bundle or a store. */
struct folder_row {
	struct managed_kind kind; /* of a store; all NULL: a bundle */
	const char *folder; /* name of the folder; NULL: any */
	const char *marks[MARKS_MAX]; /* names that the folder has */
	const char *content; /* the file whose content is checked; NULL: none */
	matches_fn *matches;
	const char *used; /* name that exists while a program uses the store; NULL: no such name */
};

/* The manual has this table, too: man/twinfs.1, RULE OPTIONS. A row for a further kind of store
 * needs its kind, marks that few other folders have, and the content of one of them. */
static const struct folder_row folder_rows[] = {
	{.marks = {"pyvenv.cfg"}}, /* a virtual environment of Python */
	{.marks = {"conda-meta"}}, /* an environment of conda */
	{.marks = {"cur", "new", "tmp"}}, /* a maildir */
	{.marks = {"HEAD", "objects", "refs"}}, /* a bare repository of Git */
	{
		.kind = FOLDER("a PostgreSQL cluster"),
		.marks = {"PG_VERSION", "global", "base"},
		.content = "PG_VERSION",
		.matches = is_postgres_version,
		.used = "postmaster.pid",
	},
	{
		/* of a tablespace, which is outside of the cluster */
		.kind = FOLDER("a database of PostgreSQL"),
		.marks = {"PG_VERSION", "pg_filenode.map"},
		.content = "pg_filenode.map",
		.matches = is_postgres_map,
	},
	{
		.kind = FOLDER("an LMDB database"),
		.marks = {"lock.mdb", "data.mdb"},
		.content = "data.mdb",
		.matches = is_lmdb,
	},
	{
		.kind = FOLDER("a DVC repository"),
		.folder = ".dvc",
		.marks = {"config"},
		.content = "config",
		.matches = is_sections,
	},
	{
		.kind = FOLDER("an OCFL storage root"),
		.marks = {"0=ocfl_1.0"},
		.content = "0=ocfl_1.0",
		.matches = is_ocfl,
	},
	{
		.kind = FOLDER("an OCFL storage root"),
		.marks = {"0=ocfl_1.1"},
		.content = "0=ocfl_1.1",
		.matches = is_ocfl,
	},
	{
		.kind = FOLDER("an OCFL object"),
		.marks = {"0=ocfl_object_1.0"},
		.content = "0=ocfl_object_1.0",
		.matches = is_ocfl,
	},
	{
		.kind = FOLDER("an OCFL object"),
		.marks = {"0=ocfl_object_1.1"},
		.content = "0=ocfl_object_1.1",
		.matches = is_ocfl,
	},
};

/* A file that a program writes in place. */
struct file_row {
	struct managed_kind kind;
	matches_fn *matches;
	/* Endings of the names of the files that belong to it, which are in the same folder. */
	const char *beside[BESIDE_MAX];
};

static const struct file_row file_rows[] = {
	{
		.kind = FILES("an SQLite database"),
		.matches = is_sqlite,
		.beside = {"-wal", "-journal", "-shm"},
	},
	{
		.kind = FILES("an LMDB database"),
		.matches = is_lmdb,
		.beside = {"-lock"},
	},
	{.kind = FILES("a log of SQLite"), .matches = is_sqlite_log},
	{.kind = FILES("a journal of SQLite"), .matches = is_sqlite_journal},
	{.kind = FILES("a lock file of LMDB"), .matches = is_lmdb_lock},
};

/* Without its tag, a folder is a cache no longer, and copies in it would count as lasting ones. */
static const struct managed_kind tag_kind = KIND("the tag of a cache", "as");

/* ---- folders ------------------------------------------------------------------------------- */

/* Returns whether an error means that the file is missing or that access is denied. After any other
 * error the file can exist. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV ||
	       error == EACCES || error == ENODEV;
}

/* Returns whether a name exists. statx does not follow a symlink, and does not wait for a mount
 * that does not answer. */
static bool exists(int folder, const char *path)
{
	const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
	struct statx status;

	return statx(folder, path, flags, 0, &status) == 0 || !is_absent(errno);
}

/* Reads the first bytes of a file. Anything but a regular file has none. Returns whether they are
 * known. */
static bool read_prefix(int folder, const char *name, struct file_prefix *prefix)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(folder, name, 0, false);
	struct stat status;
	long length;

	prefix->length = 0;
	if (fd < 0 || fstat(fd, &status) < 0)
		return false;
	if (!S_ISREG(status.st_mode))
		return true;
	length = read_fully_at(fd, prefix->bytes, sizeof(prefix->bytes), 0);
	prefix->length = length > 0 ? (size_t)length : 0;
	return length >= 0;
}

/* A folder that is examined. */
struct examined {
	const struct managed_query *query;
	bool was_opened;
	int fd; /* O_PATH, or -errno */
};

static int open_once(struct examined *examined)
{
	if (!examined->was_opened)
		examined->fd = examined->query->open(examined->query->context);
	examined->was_opened = true;
	return examined->fd;
}

static bool has_mark(struct examined *examined, const char *mark)
{
	const struct managed_query *query = examined->query;

	if (query->has && query->has(query->context, mark))
		return true;
	return !query->is_complete && open_once(examined) >= 0 && exists(examined->fd, mark);
}

static bool is_row(struct examined *examined, const struct folder_row *row)
{
	const struct managed_query *query = examined->query;
	struct file_prefix prefix;

	if (row->folder && (strlen(row->folder) != query->length ||
			    memcmp(row->folder, query->name, query->length) != 0))
		return false;
	for (size_t i = 0; i < MARKS_MAX && row->marks[i]; i++) {
		if (!has_mark(examined, row->marks[i]))
			return false;
	}
	if (!row->content || open_once(examined) < 0 ||
	    read_prefix(examined->fd, row->content, &prefix))
		return !row->content || examined->fd < 0 || row->matches(&prefix);
	/* the index does not know yet that the file was removed */
	return exists(examined->fd, row->content);
}

struct managed_folder managed_folder_find(const struct managed_query *query)
{
	struct managed_folder found = {.is_bundle = false};
	struct examined examined = {.query = query};

	for (size_t i = 0; i < ARRAY_SIZE(folder_rows); i++) {
		const struct folder_row *row = &folder_rows[i];

		if (row->kind.name && !found.kind && is_row(&examined, row))
			found.kind = &row->kind;
		else if (!row->kind.name && !found.is_bundle)
			found.is_bundle = is_row(&examined, row);
	}
	if (examined.was_opened && examined.fd < 0)
		found.is_bundle |= !is_absent(-examined.fd);
	if (examined.was_opened && examined.fd >= 0)
		close(examined.fd);
	return found;
}

static int open_path(void *context)
{
	int fd = open(context, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct managed_folder managed_folder_find_at(const char *path, size_t length)
{
	AUTO_FREE char *folder = length > 0 ? strndup(path, length) : strdup("/");
	const char *name = folder ? path_base_name(folder) : "";

	if (!folder)
		return (struct managed_folder){.is_bundle = true};
	return managed_folder_find(&(struct managed_query){.name = name,
							   .length = strlen(name),
							   .open = open_path,
							   .context = folder});
}

const struct managed_kind *managed_find_above(const char *path)
{
	const struct managed_kind *kind = NULL;

	for (size_t i = 0; !kind && path[i]; i++) {
		if (path[i] == '/')
			kind = managed_folder_find_at(path, i).kind;
	}
	return kind;
}

bool managed_is_used_mark(int folder, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(folder_rows); i++) {
		const struct folder_row *row = &folder_rows[i];
		bool has = row->used && strcmp(row->used, name) == 0;

		for (size_t k = 0; has && k < MARKS_MAX && row->marks[k]; k++)
			has = exists(folder, row->marks[k]);
		if (has)
			return true;
	}
	return false;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Returns the length of a name without this ending, or 0. */
static size_t without_ending(const char *name, const char *ending)
{
	size_t length = strlen(name), end = strlen(ending);

	return length > end && strcmp(name + length - end, ending) == 0 ? length - end : 0;
}

/* Returns whether a file that belongs to the named one exists. */
static bool has_beside(const struct file_row *row, int folder, const char *name)
{
	char other[NAME_MAX + 1];

	for (size_t i = 0; i < BESIDE_MAX && row->beside[i]; i++) {
		int length = snprintf(other, sizeof(other), "%s%s", name, row->beside[i]);

		if (length > 0 && (size_t)length < sizeof(other) && exists(folder, other))
			return true;
	}
	return false;
}

/* Returns whether the named file belongs to another one, whose content is checked. An empty file is
 * the database of a log that has all its pages. */
static bool is_beside(const struct file_row *row, int folder, const char *name)
{
	char main[NAME_MAX + 1];
	struct file_prefix prefix;

	for (size_t i = 0; i < BESIDE_MAX && row->beside[i]; i++) {
		size_t length = without_ending(name, row->beside[i]);

		if (length == 0 || length >= sizeof(main))
			continue;
		memcpy(main, name, length);
		main[length] = '\0';
		if (!exists(folder, main))
			return false;
		return !read_prefix(folder, main, &prefix) || prefix.length == 0 ||
		       row->matches(&prefix);
	}
	return false;
}

struct managed_file managed_file_find(int folder, const char *name)
{
	struct managed_file file = {.kind = NULL};
	struct file_prefix prefix;

	if (is_cache_tag(name) && is_cache_at(folder))
		return (struct managed_file){.kind = &tag_kind, .in_set = true};
	for (size_t i = 0; i < ARRAY_SIZE(file_rows); i++) {
		if (is_beside(&file_rows[i], folder, name))
			return (struct managed_file){.kind = &file_rows[i].kind, .in_set = true};
	}
	file.was_read = read_prefix(folder, name, &prefix);
	for (size_t i = 0; file.was_read && !file.kind && i < ARRAY_SIZE(file_rows); i++) {
		if (!file_rows[i].matches(&prefix))
			continue;
		file.kind = &file_rows[i].kind;
		file.in_set = has_beside(&file_rows[i], folder, name);
	}
	return file;
}

/* The smallest page of SQLite; LMDB has larger ones. */
#define PAGE_BYTES_MIN 512

/* The size of the lock file of LMDB is a multiple of the size of a reader's slot, a cache line. */
#define SLOT_BYTES 64

bool managed_name_is_possible(const char *name)
{
	if (is_cache_tag(path_base_name(name)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(file_rows); i++) {
		for (size_t k = 0; k < BESIDE_MAX && file_rows[i].beside[k]; k++) {
			if (without_ending(name, file_rows[i].beside[k]) > 0)
				return true;
		}
	}
	return false;
}

bool managed_size_is_possible(uint64_t size, bool alone)
{
	return size % (alone ? SLOT_BYTES : PAGE_BYTES_MIN) == 0;
}
