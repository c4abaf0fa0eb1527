/* SPDX-License-Identifier: MIT */
#include "cli/paths.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/path.h"
#include "cli/common_options.h"
#include "cli/current_index.h"
#include "index/mount_point.h"
#include "index/operands.h"
#include "index/source.h"

/* ---- paths ---------------------------------------------------------------------------------- */

#define XATTR_PATH "user.twinfs.path"

static int append_xattr(const char *path, struct bytes *text)
{
	AUTO_FREE char *value = malloc(XATTR_SIZE_MAX);
	ssize_t length;

	if (!value)
		return -ENOMEM;
	length = getxattr(path, XATTR_PATH, value, XATTR_SIZE_MAX);
	return length < 0 ? -errno : bytes_append(text, value, (size_t)length);
}

/* Returns the path of the parent directory, which the caller frees, or NULL if memory is short. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Appends the source path of the parent directory, a slash, and the name. */
static int append_by_parent(const char *path, struct bytes *source_path)
{
	AUTO_FREE char *parent = parent_of(path);
	const char *slash = strrchr(path, '/');
	int r = parent ? append_xattr(parent, source_path) : -ENOMEM;

	if (r == 0 && source_path->data[source_path->length - 1] != '/')
		r = bytes_append_text(source_path, "/");
	return r < 0 ? r : bytes_append_text(source_path, slash ? slash + 1 : path);
}

int path_find_view(const char *path, char **mount_point)
{
	AUTO_FREE char *parent = NULL;
	struct stat status;

	*mount_point = NULL;
	if (lstat(path, &status) < 0)
		return -errno;
	if (!S_ISLNK(status.st_mode))
		return mount_point_of(path, mount_point);
	parent = parent_of(path);
	return parent ? mount_point_of(parent, mount_point) : -ENOMEM;
}

int path_in_source(const char *path_in_view, struct bytes *source_path)
{
	struct stat status;
	int r;

	if (lstat(path_in_view, &status) < 0)
		return -errno;
	/* the kernel allows no user attributes on symlinks and special files (xattr(7)); in a view,
	 * such files have the same name as in the source
	 */
	if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
		r = append_xattr(path_in_view, source_path);
	else
		r = append_by_parent(path_in_view, source_path);
	return r == -EOPNOTSUPP ? -ENODATA : r;
}

void path_print(struct output *output, enum path_ending ending, const char *path, size_t length)
{
	output_name(output, path, length);
	output_bytes(output, ending == PATH_NULS ? "" : "\n", 1);
}

/* ---- the sources as the user wrote them ----------------------------------------------------- */

/* Returns the given path that leads to a source, or the path of the source. */
static const char *find_given(const struct current_index *index, const char *source)
{
	for (size_t i = 0; i < index->given_count; i++) {
		AUTO_FREE char *absolute = realpath(index->given[i], NULL);

		if (absolute && strcmp(absolute, source) == 0)
			return index->given[i];
	}
	return source;
}

/* Returns the path of the folder of the operands relative to the current folder, if the user gave
 * all names so and it is in the current folder. */
static const char *find_relative(const struct operands *operands, const char *source)
{
	AUTO_FREE char *here = operands->relative ? realpath(".", NULL) : NULL;
	const char *below = here ? path_below(source, here) : NULL;

	if (!below)
		return source;
	return *below ? below : ".";
}

const char **shown_paths_find(const struct current_index *index)
{
	const struct sources *sources = index->sources;
	const char **shown = calloc(sources->count + 1, sizeof(*shown));

	for (size_t i = 0; shown && i < sources->count; i++)
		shown[i] = sources->operands
				   ? find_relative(sources->operands, sources->list[i].path)
				   : find_given(index, sources->list[i].path);
	return shown;
}

/* ---- options -------------------------------------------------------------------------------- */

enum {
	OPT_NULL = OPTION_ID_OWN,
};

const struct option_spec path_options[] = {
	{.heading = "Output"},
	{
		.name = "null",
		.letter = '0',
		.help = "end each path with a NUL instead of a newline",
		.id = OPT_NULL,
	},
	{0},
};

int path_apply(void *context, int id, const char *value)
{
	struct path_settings *settings = context;

	if (id != OPT_NULL)
		return common_apply(&settings->common, id, value);
	settings->ending = PATH_NULS;
	return 0;
}
