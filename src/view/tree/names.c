/* SPDX-License-Identifier: MIT */
#include "view/tree/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

/* ---- copies ------------------------------------------------------------------------- */

/* U+2215, DIVISION SLASH, in UTF-8. */
#define SLASH "\xe2\x88\x95"
#define SLASH_LENGTH 3

#define NAME_LENGTH_MAX (COPY_NAME_SIZE - 1)
#define MARK_LENGTH (sizeof(COPY_NAME_MARK) - 1)

/* '~', two 64-bit numbers separated by '-', the extension */
#define SUFFIX_LENGTH_MAX (1 + 16 + 1 + 16 + COPY_NAME_EXTENSION_MAX)

/* Returns the offset of a path's extension: the last dot of its base name. There is no extension if
 * the dot is the first or last byte, or if the extension is too long. An extension must not contain
 * '~', which begins an id. */
static size_t extension_start(const char *path, size_t length)
{
	const char *slash = memrchr(path, '/', length);
	size_t base = slash ? (size_t)(slash - path) + 1 : 0;
	const char *dot = memrchr(path + base, '.', length - base);
	size_t start;

	if (!dot || dot == path + base)
		return length;
	start = (size_t)(dot - path);
	if (length - start < 2 || length - start > COPY_NAME_EXTENSION_MAX ||
	    memchr(dot, '~', length - start))
		return length;
	return start;
}

/* Copies path to name with slashes replaced. Returns false if the name and a NUL do not fit into
 * size. */
static bool replace_slashes(char *name, size_t size, const char *path, size_t length)
{
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		bool slash = path[i] == '/';
		size_t needed = slash ? SLASH_LENGTH : 1;

		if (used + needed >= size)
			return false;
		memcpy(name + used, slash ? SLASH : path + i, needed);
		used += needed;
	}
	name[used] = '\0';
	return true;
}

/* A name to be made. */
struct name_making {
	const char *path;
	size_t length;
	uint64_t dir, cookie;
	size_t length_max; /* of the name, without the NUL */
};

static void make_short(const struct name_making *making, char *name)
{
	const char *path = making->path;
	size_t length = making->length;
	char suffix[SUFFIX_LENGTH_MAX + 1], prefix[NAME_LENGTH_MAX * SLASH_LENGTH + 1];
	size_t dot = extension_start(path, length);
	size_t suffix_length, prefix_length;

	/* an upper bound; utf8_cut() below truncates the part of the path */
	prefix_length = dot < NAME_LENGTH_MAX ? dot : NAME_LENGTH_MAX;
	(void)replace_slashes(prefix, sizeof(prefix), path, prefix_length);
	suffix_length =
		(size_t)snprintf(suffix, sizeof(suffix), "~%" PRIx64 "-%" PRIx64 "%.*s",
				 making->dir, making->cookie, (int)(length - dot), path + dot);
	prefix_length = utf8_cut(prefix, strlen(prefix), making->length_max - suffix_length);
	memcpy(name, prefix, prefix_length);
	memcpy(name + prefix_length, suffix, suffix_length + 1);
}

static bool begins_with_mark(const struct name_making *making)
{
	return making->length >= MARK_LENGTH &&
	       memcmp(making->path, COPY_NAME_MARK, MARK_LENGTH) == 0;
}

static void make(const struct name_making *making, char *name)
{
	uint64_t other_dir, other_cookie;

	if (memmem(making->path, making->length, SLASH, SLASH_LENGTH) || begins_with_mark(making) ||
	    !replace_slashes(name, making->length_max + 1, making->path, making->length) ||
	    copy_name_parse_short(name, &other_dir, &other_cookie))
		make_short(making, name);
}

void copy_name_make(char name[static COPY_NAME_SIZE], const char *path, size_t length, uint64_t dir,
		    uint64_t cookie)
{
	make(&(struct name_making){path, length, dir, cookie, NAME_LENGTH_MAX}, name);
}

void copy_name_make_kept(char name[static COPY_NAME_SIZE], const char *path, size_t length,
			 uint64_t dir, uint64_t cookie)
{
	memcpy(name, COPY_NAME_MARK, MARK_LENGTH);
	make(&(struct name_making){path, length, dir, cookie, NAME_LENGTH_MAX - MARK_LENGTH},
	     name + MARK_LENGTH);
}

const char *copy_name_skip_mark(const char *name)
{
	return strncmp(name, COPY_NAME_MARK, MARK_LENGTH) == 0 ? name + MARK_LENGTH : NULL;
}

/* Parses a number as printed by "%x": lower case, without leading zeros. Returns the end of the
 * number, or NULL if the text has no such number. */
static const char *parse_hex(const char *at, uint64_t *number)
{
	size_t digits = strspn(at, "0123456789abcdef");

	if (digits == 0 || digits > 16 || *at == '0' || !number_read_hex(at, digits, number))
		return NULL;
	return at + digits;
}

bool copy_name_parse_short(const char *name, uint64_t *dir, uint64_t *cookie)
{
	const char *at = strrchr(name, '~');

	if (!at)
		return false;
	at = parse_hex(at + 1, dir);
	if (!at || *at != '-')
		return false;
	at = parse_hex(at + 1, cookie);
	if (!at)
		return false;
	return *at == '\0' ||
	       (*at == '.' && strlen(at) >= 2 && strlen(at) <= COPY_NAME_EXTENSION_MAX);
}

size_t copy_name_parse_plain(const char *name, char path[static COPY_NAME_SIZE])
{
	size_t used = 0;

	while (*name && used < NAME_LENGTH_MAX) {
		bool slash = strncmp(name, SLASH, SLASH_LENGTH) == 0;

		path[used++] = slash ? '/' : *name;
		name += slash ? SLASH_LENGTH : 1;
	}
	path[used] = '\0';
	return used;
}

/* ---- ranks -------------------------------------------------------------------------- */

#define DIGITS_FLAT 4
#define DIGITS_IN_FOLDERS 5

struct rank_layout rank_layout_of(uint64_t groups)
{
	struct rank_layout layout = {.groups = groups, .digits = DIGITS_FLAT};

	if (groups <= RANKS_PER_FOLDER)
		return layout;
	layout.folders = (groups + RANKS_PER_FOLDER - 1) / RANKS_PER_FOLDER;
	layout.digits = 1;
	for (uint64_t rest = rank_folder_last(layout.folders); rest >= 10; rest /= 10)
		layout.digits++;
	if (layout.digits < DIGITS_IN_FOLDERS)
		layout.digits = DIGITS_IN_FOLDERS;
	return layout;
}

void rank_folder_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
			   uint64_t folder)
{
	(void)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 "-%0*" PRIu64, layout->digits,
		       rank_folder_first(folder), layout->digits, rank_folder_last(folder));
}

#define NO_BREAK "\xc2\xa0"

/* Room for two numbers, the words around them, and a NUL. */
#define FIGURES_SIZE 96

/* Writes what follows the name of the copy. */
static size_t write_figures(char text[static FIGURES_SIZE], const struct ranked_group *group)
{
	char size[SIZE_TEXT_MAX];
	size_t number = strcspn(size_format(size, group->reclaimable), " ");

	return (size_t)snprintf(text, FIGURES_SIZE,
				" (%" PRIu64 NO_BREAK "copies, frees" NO_BREAK "%.*s" NO_BREAK
				"%s)",
				group->copies, (int)number, size, size + number + 1);
}

void rank_name_make(char name[static RANK_NAME_SIZE], const struct rank_layout *layout,
		    const struct ranked_group *group)
{
	char figures[FIGURES_SIZE];
	size_t length = write_figures(figures, group);
	size_t used = (size_t)snprintf(name, RANK_NAME_SIZE, "%0*" PRIu64 " ", layout->digits,
				       group->rank);
	size_t shown =
		utf8_cut(group->name.bytes, group->name.length, NAME_BYTES_MAX - used - length);

	memcpy(name + used, group->name.bytes, shown);
	memcpy(name + used + shown, figures, length + 1);
}

uint64_t rank_name_parse(const char *name)
{
	uint64_t number;

	return number_read(name, strspn(name, "0123456789"), &number) < 0 ? 0 : number;
}
