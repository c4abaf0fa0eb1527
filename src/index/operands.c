/* SPDX-License-Identifier: MIT */
#include "index/operands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/stop.h"
#include "index/mount_table.h"

/* Number of folders whose resolved paths are remembered. */
#define REMEMBERED 4096

void operands_free(struct operands *operands)
{
	for (size_t i = 0; i < OPERAND_FAULTS; i++)
		free(operands->faults[i].first);
	free(operands->list);
	free(operands->folder);
	arena_free(&operands->memory);
	*operands = (struct operands){0};
}

/* ---- finding a name ------------------------------------------------------------------------ */

/* The path of a folder as given, and as resolved. */
struct remembered {
	char *given, *resolved;
};

struct operand_finder {
	struct operands *operands;
	struct view_mounts views;
	struct remembered *folders; /* REMEMBERED */
	bool follows; /* a symlink to a folder is resolved */
	uint32_t number; /* of names that were found */
	bool after_file; /* the last one was a file */
};

/* An operand that was found. */
struct operand_found {
	struct bytes path; /* absolute */
	struct stat status;
};

static int finder_init(struct operand_finder *finder, struct operands *operands, bool follows)
{
	*operands = (struct operands){.relative = true};
	*finder = (struct operand_finder){.operands = operands, .follows = follows};
	finder->folders = calloc(REMEMBERED, sizeof(*finder->folders));
	view_mounts_load(&finder->views);
	return finder->folders ? 0 : -ENOMEM;
}

static void forget(struct remembered *folder)
{
	free(folder->given);
	free(folder->resolved);
	*folder = (struct remembered){0};
}

static void finder_deinit(struct operand_finder *finder)
{
	for (size_t i = 0; finder->folders && i < REMEMBERED; i++)
		forget(&finder->folders[i]);
	free(finder->folders);
}
#define CLEANUP_FINDER CLEANUP(finder_deinit)

/* Appends the resolved path of the folder given by length bytes. Returns 0 or -errno. */
static int append_folder(struct operand_finder *finder, const char *given, size_t length,
			 struct bytes *path)
{
	struct remembered *folder = &finder->folders[hash64(given, length, 0) % REMEMBERED];

	if (!folder->given || strlen(folder->given) != length ||
	    memcmp(folder->given, given, length) != 0) {
		forget(folder);
		folder->given = strndup(given, length);
		if (!folder->given)
			return -ENOMEM;
		folder->resolved = realpath(folder->given, NULL);
		if (!folder->resolved) {
			int r = -errno;

			forget(folder);
			return r;
		}
	}
	return bytes_append_text(path, folder->resolved);
}

static int append_resolved(const char *given, struct bytes *path)
{
	AUTO_FREE char *resolved = realpath(given, NULL);

	return resolved ? bytes_append_text(path, resolved) : -errno;
}

static int examine(struct operand_found *found, int flags)
{
	const char *path = bytes_text(&found->path);

	if (!path)
		return -ENOMEM;
	return fstatat(AT_FDCWD, path, &found->status, flags | AT_NO_AUTOMOUNT) < 0 ? -errno : 0;
}

/* Makes the path of a name absolute, and resolves it except for its last component. */
static int append_absolute(struct operand_finder *finder, const char *given, struct bytes *path)
{
	const char *slash = strrchr(given, '/');
	const char *name = slash ? slash + 1 : given;
	int r;

	if (*name == '\0' || is_dots(name))
		return append_resolved(given, path);
	if (!slash)
		r = append_folder(finder, ".", 1, path);
	else
		r = append_folder(finder, given, slash == given ? 1 : (size_t)(slash - given),
				  path);
	return r < 0 ? r : bytes_format(path, "%s%s", path->length > 1 ? "/" : "", name);
}

/* Finds what a name leads to. Returns 0 or -errno. */
static int find(struct operand_finder *finder, const char *given, struct operand_found *found)
{
	struct stat target;
	int r;

	found->path.length = 0;
	r = *given ? append_absolute(finder, given, &found->path) : -ENOENT;
	if (r == 0)
		r = examine(found, AT_SYMLINK_NOFOLLOW);
	if (r < 0 || !finder->follows || !S_ISLNK(found->status.st_mode) ||
	    stat(given, &target) < 0 || !S_ISDIR(target.st_mode))
		return r;
	found->path.length = 0;
	r = append_resolved(given, &found->path);
	return r < 0 ? r : examine(found, 0);
}

/* ---- the list ------------------------------------------------------------------------------ */

static int leave_out(struct operands *operands, enum operand_fault fault, const char *given)
{
	operands->unfound += fault == OPERAND_IS_IN_VIEW;
	if (operands->faults[fault].count++ > 0)
		return 0;
	operands->faults[fault].first = strdup(given);
	return operands->faults[fault].first ? 0 : -ENOMEM;
}

static int add(struct operand_finder *finder, struct operand_found *found)
{
	struct operands *operands = finder->operands;
	bool is_dir = S_ISDIR(found->status.st_mode);
	struct operand *operand;
	int r = array_reserve(&operands->list, &operands->capacity, operands->count + 1,
			      sizeof(*operands->list));

	if (r < 0)
		return r;
	operands->units += is_dir || !finder->after_file;
	finder->after_file = !is_dir;
	operand = &operands->list[operands->count++];
	*operand = (struct operand){
		.path = arena_copy(&operands->memory, found->path.data, found->path.length),
		.length = (uint32_t)found->path.length,
		.number = finder->number++,
		.unit = operands->units - 1,
		.is_dir = is_dir,
	};
	return operand->path ? 0 : -ENOMEM;
}

/* Adds a name of the user. A name that cannot be used is logged or counted. Returns 0, or -errno
 * for a lack of memory. */
static int add_given(struct operand_finder *finder, const char *given, struct operand_found *found)
{
	struct operands *operands = finder->operands;
	int r = find(finder, given, found);

	operands->relative &= given[0] != '/';
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		log_warning("cannot find %s: %s; skipped", quote_path(given), error_text(r));
		operands->unfound++;
		return 0;
	}
	if (S_ISLNK(found->status.st_mode))
		return leave_out(operands, OPERAND_IS_SYMLINK, given);
	if (!S_ISREG(found->status.st_mode) && !S_ISDIR(found->status.st_mode))
		return leave_out(operands, OPERAND_IS_SPECIAL, given);
	if (view_mounts_have_device(&finder->views, found->status.st_dev))
		return leave_out(operands, OPERAND_IS_IN_VIEW, given);
	return add(finder, found);
}

static void explain_faults(const struct operands *operands)
{
	static const char *const texts[][2] = {
		[OPERAND_IS_SYMLINK] = {"a symbolic link; name the file that it leads to",
					"symbolic links; name the files that they lead to"},
		[OPERAND_IS_SPECIAL] = {"neither a file nor a folder", "neither files nor folders"},
		[OPERAND_IS_IN_VIEW] =
			{"in a view; 'twinfs path' prints its path in the source",
			 "in a view; 'twinfs path' prints their paths in the source"},
	};

	for (size_t i = 0; i < OPERAND_FAULTS; i++) {
		uint64_t count = operands->faults[i].count;

		if (count == 1)
			log_warning("skipped %s: it is %s", quote_path(operands->faults[i].first),
				    texts[i][0]);
		else if (count > 1)
			log_warning("skipped %" PRIu64 " names, such as %s: they are %s", count,
				    quote_path(operands->faults[i].first), texts[i][1]);
	}
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Returns the rank of a byte of a path. A slash ranks before all other bytes, so that all paths
 * below a folder are adjacent. */
static unsigned int rank_byte(char byte)
{
	if (byte == '\0')
		return 0;
	return byte == '/' ? 1 : (unsigned char)byte + 1U;
}

static uint64_t eight_bytes(const char *path)
{
	uint64_t bytes;

	memcpy(&bytes, path, sizeof(bytes));
	return bytes;
}

static int compare_paths(const struct operand *a, const struct operand *b)
{
	uint32_t length = a->length < b->length ? a->length : b->length, same = 0;

	while (length - same >= sizeof(uint64_t) &&
	       eight_bytes(a->path + same) == eight_bytes(b->path + same))
		same += (uint32_t)sizeof(uint64_t);
	while (same < length && a->path[same] == b->path[same])
		same++;
	return (int)rank_byte(a->path[same]) - (int)rank_byte(b->path[same]);
}

static int by_path(const void *left, const void *right)
{
	const struct operand *a = left, *b = right;
	int order = compare_paths(a, b);

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Returns the ranks of up to seven bytes of a path as a number of that order, and moves *path
 * behind them. */
static uint64_t take_ranks(const char **path)
{
	uint64_t key = 0;

	for (unsigned int i = 0; i < 7; i++) {
		key = key << 9 | rank_byte(**path);
		*path += **path != '\0';
	}
	return key;
}

static void set_path_key(const void *record, struct sort_key *key)
{
	const char *path = ((const struct operand *)record)->path;

	key->major = take_ranks(&path);
	key->minor = take_ranks(&path);
}

static const struct sort_order path_order = {set_path_key, by_path};

/* Returns the length of the part that both paths begin with, of whole components. */
static size_t common_length(const char *folder, size_t length, const char *path)
{
	size_t same = 0, whole = 0;

	while (same < length && folder[same] == path[same]) {
		if (folder[same] == '/')
			whole = same;
		same++;
	}
	return same == length && (path[same] == '/' || path[same] == '\0') ? same : whole;
}

/* Finds the folder that contains all operands. A single folder contains itself. */
static int find_folder(struct operands *operands)
{
	const struct operand *list = operands->list;
	const char *first = operands->count > 0 ? list[0].path : "";
	size_t length = strlen(first);

	for (size_t i = 0; i < operands->count; i++) {
		length = common_length(first, length, list[i].path);
		if (!list[i].is_dir && list[i].path[length] == '\0')
			length = (size_t)((const char *)memrchr(first, '/', length) - first);
	}
	operands->folder = length > 0 ? strndup(first, length) : strdup("/");
	for (size_t i = 0; i < operands->count; i++) {
		struct operand *operand = &operands->list[i];
		size_t begin = length + (operand->path[length] == '/');

		operand->path += begin;
		operand->length -= (uint32_t)begin;
	}
	return operands->folder ? 0 : -ENOMEM;
}

/* Sorts the operands, and removes those that were named before. */
static void sort(struct operands *operands)
{
	struct operand *list = operands->list;
	size_t left = 0;

	key_sort(list, operands->count, sizeof(*list), &path_order);
	for (size_t i = 0; i < operands->count; i++) {
		if (left == 0 || compare_paths(&list[left - 1], &list[i]) != 0)
			list[left++] = list[i];
	}
	operands->count = left;
}

/* Completes the list. Returns 0 or -errno, logged. result: 0 or -errno of the names. */
static int finish(struct operands *operands, int result)
{
	int r = result < 0 ? result : find_folder(operands);

	if (r < 0) {
		log_error("cannot find the files: %s", error_text(r));
		return r;
	}
	sort(operands);
	explain_faults(operands);
	return 0;
}

int operands_find(struct operands *operands, char *const *given, size_t count)
{
	CLEANUP_FINDER struct operand_finder finder;
	struct operand_found found = {0};
	int r = finder_init(&finder, operands, true);

	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_given(&finder, given[i], &found);
	bytes_free(&found.path);
	return finish(operands, r);
}

static int read_names(struct operand_finder *finder, const char *shown, FILE *stream)
{
	AUTO_FREE char *name = NULL;
	struct operand_found found = {0};
	size_t capacity = 0;
	uint64_t record = 0;
	int r = 0;

	while (r == 0 && !stop_requested() && getdelim(&name, &capacity, '\0', stream) >= 0) {
		record++;
		if (*name) {
			r = add_given(finder, name, &found);
			continue;
		}
		log_warning("name %" PRIu64 " of %s is empty; skipped", record, shown);
		finder->operands->unfound++;
	}
	bytes_free(&found.path);
	if (r == 0 && ferror(stream))
		r = -errno;
	if (stop_requested())
		return -EINTR;
	if (r < 0)
		log_error("cannot read %s: %s", shown, error_text(r));
	return r;
}

int operands_read(struct operands *operands, const char *file)
{
	CLEANUP_FINDER struct operand_finder finder;
	bool is_stdin = strcmp(file, "-") == 0;
	FILE *stream = is_stdin ? stdin : fopen(file, "re");
	int opened = stream ? 0 : -errno;
	int r = finder_init(&finder, operands, false);

	if (opened < 0) {
		log_error("cannot open %s: %s", quote_path(file), error_text(opened));
		return opened;
	}
	if (r == 0)
		r = read_names(&finder, is_stdin ? "standard input" : quote_path(file), stream);
	if (!is_stdin)
		(void)fclose(stream);
	if (r < 0)
		return r;
	operands->units = 1;
	for (size_t i = 0; i < operands->count; i++)
		operands->list[i].unit = 0;
	return finish(operands, r);
}

/* ---- folders that lead to operands ---------------------------------------------------------- */

struct operand_range operands_all(const struct operands *operands)
{
	return (struct operand_range){.end = operands->count};
}

bool operands_end_at(const struct operands *operands, struct operand_range range)
{
	const char *path;

	if (range.first >= range.end)
		return false;
	path = operands->list[range.first].path;
	/* the prefix of a folder ends with a slash, which its own path lacks */
	return range.prefix == 0 ? *path == '\0' : path[range.prefix - 1] == '\0';
}

/* Compares the component of a path at offset prefix with a name. */
static int compare_component(const char *path, size_t prefix, const char *name, size_t length)
{
	/* the path of the folder itself is shorter than the prefix */
	if (prefix > 0 && path[prefix - 1] == '\0')
		return -1;
	path += prefix;
	for (size_t i = 0; i < length; i++) {
		if (path[i] != name[i])
			return rank_byte(path[i]) < rank_byte(name[i]) ? -1 : 1;
	}
	return path[length] == '\0' || path[length] == '/' ? 0 : 1;
}

/* Returns the first operand of the range whose component is not before the name; with behind, the
 * first one behind the name. */
static size_t search(const struct operands *operands, struct operand_range range, const char *name,
		     size_t length, bool behind)
{
	while (range.first < range.end) {
		size_t middle = range.first + (range.end - range.first) / 2;
		int order =
			compare_component(operands->list[middle].path, range.prefix, name, length);

		if (order < 0 || (order == 0 && behind))
			range.first = middle + 1;
		else
			range.end = middle;
	}
	return range.first;
}

struct operand_range operands_below(const struct operands *operands, struct operand_range range,
				    const char *name, size_t length)
{
	return (struct operand_range){.first = search(operands, range, name, length, false),
				      .end = search(operands, range, name, length, true),
				      .prefix = range.prefix + length + 1};
}

bool operands_next_name(const struct operands *operands, struct operand_range *range,
			struct operand_name *name)
{
	const struct operand *first;

	if (operands_end_at(operands, *range))
		range->first++;
	if (range->first >= range->end)
		return false;
	first = &operands->list[range->first];
	name->bytes = first->path + range->prefix;
	name->length = strcspn(name->bytes, "/");
	name->is_file = name->bytes[name->length] == '\0' && !first->is_dir;
	range->first++;
	if (range->first < range->end &&
	    compare_component(operands->list[range->first].path, range->prefix, name->bytes,
			      name->length) == 0)
		range->first = search(operands, *range, name->bytes, name->length, true);
	return true;
}

static void take_lower(const struct operands *operands, struct operand_range range, bool by_number,
		       uint32_t *rank)
{
	const struct operand *operand = &operands->list[range.first];
	uint32_t own;

	if (!operands_end_at(operands, range))
		return;
	own = by_number ? operand->number : operand->unit;
	if (own < *rank)
		*rank = own;
}

uint32_t operands_rank(const struct operands *operands, const char *path, bool by_number)
{
	struct operand_range range = operands_all(operands);
	uint32_t rank = UINT32_MAX;

	take_lower(operands, range, by_number, &rank);
	while (*path && range.first < range.end) {
		size_t length = strcspn(path, "/");

		range = operands_below(operands, range, path, length);
		take_lower(operands, range, by_number, &rank);
		path += length + (path[length] == '/');
	}
	return rank;
}
