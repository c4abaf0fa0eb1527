/* SPDX-License-Identifier: MIT */
#include "act/folder_pair.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "act/place.h"
#include "base/array.h"
#include "base/descriptor.h"
#include "base/directory.h"
#include "base/hash.h"

void folder_pair_free(struct folder_pair *pair)
{
	free(pair->dirs);
	bytes_free(&pair->paths);
	bytes_free(&pair->inside);
}

const char *folder_current(const struct folder_pair *pair)
{
	return (const char *)pair->paths.data + pair->dirs[pair->current].path;
}

int folder_refuse(struct folder_pair *pair, const char *name, enum act_outcome outcome)
{
	const char *dir = folder_current(pair);
	int r;

	pair->inside.length = 0;
	r = bytes_format(&pair->inside, "%s%s%s", dir, *dir && *name ? "/" : "", name);
	if (r < 0 || !bytes_text(&pair->inside))
		return -ENOMEM;
	pair->result->outcome = outcome;
	pair->result->inside = pair->inside.length > 0 ? bytes_text(&pair->inside) : NULL;
	return FOLDER_REFUSED;
}

int folder_fail(struct folder_pair *pair, const char *name, int error)
{
	pair->result->error = -error;
	return folder_refuse(pair, name, ACT_FAILED);
}

/* ---- names of one directory ----------------------------------------------------------- */

struct name_list {
	struct bytes text; /* each name with its NUL */
	size_t *offsets;
	size_t count, capacity;
};

static void name_list_free(struct name_list *list)
{
	bytes_free(&list->text);
	free(list->offsets);
}

static int add_name(void *context, int directory, const struct dirent *entry)
{
	struct name_list *list = context;
	int r = array_reserve(&list->offsets, &list->capacity, list->count + 1,
			      sizeof(*list->offsets));

	(void)directory;
	if (r < 0)
		return r;
	list->offsets[list->count++] = list->text.length;
	return bytes_append(&list->text, entry->d_name, strlen(entry->d_name) + 1);
}

static const char *name_at(const struct name_list *list, size_t index)
{
	return (const char *)list->text.data + list->offsets[index];
}

static int compare_names(const void *a, const void *b, void *context)
{
	const char *text = context;

	return strcmp(text + *(const size_t *)a, text + *(const size_t *)b);
}

/* Replaces the list. */
static int read_names(struct name_list *list, int directory)
{
	int r;

	list->count = list->text.length = 0;
	r = directory_visit(directory, add_name, list);

	if (r == 0 && list->count > 1)
		qsort_r(list->offsets, list->count, sizeof(*list->offsets), compare_names,
			list->text.data);
	return r;
}

/* ---- one name ------------------------------------------------------------------------- */

static int examine(int directory, const char *name, struct statx *status)
{
	return statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
		     STATX_BASIC_STATS | STATX_BTIME, status) < 0
		       ? -errno
		       : 0;
}

static bool is_mount(const struct statx *status)
{
	return status->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Examines a name in both directories. */
static int examine_both(struct folder_pair *pair, struct folder_name *name)
{
	int r = examine(name->copy, name->name, &name->of_copy);

	if (r < 0)
		return folder_fail(pair, name->name, r);
	r = examine(name->kept, name->name, &name->of_kept);
	if (r == -ENOENT)
		return folder_refuse(pair, name->name, ACT_NOT_IN_KEPT);
	if (r < 0)
		return folder_fail(pair, name->name, r);
	if (is_mount(&name->of_copy) || is_mount(&name->of_kept))
		return folder_refuse(pair, name->name, ACT_MOUNT_INSIDE);
	if ((name->of_copy.stx_mode & S_IFMT) != (name->of_kept.stx_mode & S_IFMT))
		return folder_refuse(pair, name->name, ACT_OTHER_TYPE);
	return 0;
}

/* ---- the walk ------------------------------------------------------------------------- */

struct walking {
	folder_visitor *visit;
	void *context;
	uint64_t number;
	bool is_back;
};

static int add_dir(struct folder_pair *pair, const char *name)
{
	/* a copy, as the text moves when it grows */
	AUTO_FREE char *dir = pair->count > 0 ? strdup(folder_current(pair)) : strdup("");
	int r = array_reserve(&pair->dirs, &pair->capacity, pair->count + 1, sizeof(*pair->dirs));

	if (r < 0 || !dir)
		return -ENOMEM;
	pair->dirs[pair->count] = (struct folder_dir){.path = pair->paths.length};
	r = bytes_format(&pair->paths, "%s%s%s", dir, *dir ? "/" : "", name);
	if (r == 0)
		r = bytes_append(&pair->paths, "", 1);
	pair->count += r == 0;
	return r;
}

static int visit_name(struct folder_pair *pair, struct folder_name *name, struct walking *walking)
{
	bool is_dir;
	int r = examine_both(pair, name);

	if (r == 0 && !walking->is_back && own_is_quarantine(name->name, strlen(name->name)))
		r = folder_refuse(pair, name->name, ACT_OWN);
	if (r != 0)
		return r;
	is_dir = S_ISDIR(name->of_copy.stx_mode);
	if (is_dir && walking->is_back)
		return folder_refuse(pair, name->name, ACT_NOT_IN_KEPT);
	r = walking->visit(walking->context, pair, name);
	return r == 0 && is_dir ? add_dir(pair, name->name) : r;
}

/* Opens the current directory in one of the folders. */
static int open_dir(struct folder_pair *pair, int folder, bool kept)
{
	int fd = open_beneath_for_reading(folder, folder_current(pair), O_DIRECTORY, false);

	if (fd >= 0)
		return fd;
	if (fd == -EXDEV)
		(void)!folder_refuse(pair, "", ACT_MOUNT_INSIDE);
	else if (kept && (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP))
		(void)!folder_refuse(pair, "", ACT_NOT_IN_KEPT);
	else
		(void)!folder_fail(pair, "", fd);
	return -1;
}

static int visit_names(struct folder_pair *pair, struct folder_name *name, struct walking *walking)
{
	CLEANUP(name_list_free) struct name_list list = {.count = 0};
	int r = read_names(&list, name->copy);

	if (r < 0)
		return folder_fail(pair, "", r);
	for (size_t i = 0; r == 0 && i < list.count; i++) {
		name->name = name_at(&list, i);
		name->number = walking->number++;
		r = visit_name(pair, name, walking);
	}
	return r;
}

static int visit_dir(struct folder_pair *pair, size_t index, struct walking *walking)
{
	AUTO_CLOSE int kept = -1;
	AUTO_CLOSE int copy = -1;
	struct folder_name name;
	struct stat of_kept, of_copy;

	pair->current = index;
	copy = open_dir(pair, pair->copy, false);
	kept = copy < 0 ? -1 : open_dir(pair, pair->kept, true);
	if (kept < 0)
		return FOLDER_REFUSED;
	if (fstat(kept, &of_kept) < 0 || fstat(copy, &of_copy) < 0)
		return folder_fail(pair, "", -errno);
	if (is_same_inode(&of_kept, &of_copy))
		return folder_refuse(pair, "", ACT_SAME_FOLDER);
	if (own_is_marked(copy) || own_is_marked(kept))
		return folder_refuse(pair, "", ACT_OWN);
	name.kept = kept;
	name.copy = copy;
	return visit_names(pair, &name, walking);
}

int folder_pair_walk(struct folder_pair *pair, folder_visitor *visit, void *context)
{
	struct walking walking = {.visit = visit, .context = context};
	int r;

	pair->count = pair->current = 0;
	pair->paths.length = 0;
	r = add_dir(pair, "");
	for (size_t i = 0; r == 0 && i < pair->count; i++) {
		pair->dirs[i].first = walking.number;
		r = visit_dir(pair, i, &walking);
	}
	return r;
}

/* Calls leave for a directory whose names were visited. */
static int leave_dir(struct folder_pair *pair, size_t index, folder_visitor *leave, void *context)
{
	AUTO_CLOSE int above = -1;
	const char *path = (const char *)pair->paths.data + pair->dirs[index].path;
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	struct folder_name name = {.name = slash ? slash + 1 : path, .kept = -1};

	if (!parent)
		return -ENOMEM;
	pair->current = index;
	above = open_beneath(pair->copy, parent, O_PATH | O_DIRECTORY, false);
	if (above < 0)
		return folder_fail(pair, "", above);
	name.copy = above;
	return leave(context, pair, &name);
}

int folder_pair_walk_back(struct folder_pair *pair, folder_visitor *visit, folder_visitor *leave,
			  void *context)
{
	struct walking walking = {.visit = visit, .context = context, .is_back = true};
	int r = 0;

	for (size_t i = pair->count; r == 0 && i > 0; i--) {
		walking.number = pair->dirs[i - 1].first;
		r = visit_dir(pair, i - 1, &walking);
		if (r == 0 && i > 1)
			r = leave_dir(pair, i - 1, leave, context);
	}
	return r;
}

/* ---- private names -------------------------------------------------------------------- */

void folder_private_name(char other[static OTHER_NAME_SIZE], const char *name, const char *folder)
{
	uint64_t seed = hash64(folder, strlen(folder), 0);

	(void)snprintf(other, OTHER_NAME_SIZE, OTHER_NAME_PREFIX "%016" PRIx64,
		       hash64(name, strlen(name), seed));
}
