/* SPDX-License-Identifier: MIT */
#include "base/path.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

const char *path_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	if (strncmp(path, folder, length) != 0)
		return NULL;
	/* the root directory already ends with a slash */
	if (length > 0 && folder[length - 1] == '/')
		return path + length;
	if (path[length] == '\0')
		return path + length;
	return path[length] == '/' ? path + length + 1 : NULL;
}

static const char *component_fault(const char *name, size_t length)
{
	if (length == 0)
		return "the path has an empty component";
	if (length == 1 && name[0] == '.')
		return "the path has a component '.'";
	if (length == 2 && name[0] == '.' && name[1] == '.')
		return "the path has a component '..'";
	return length > NAME_BYTES_MAX ? "the path has a component of more than 255 bytes" : NULL;
}

const char *path_fault(const char *path, size_t length)
{
	if (length == 0)
		return "the path is empty";
	if (path[0] == '/')
		return "the path is absolute";
	if (memchr(path, '\0', length))
		return "the path contains a NUL byte";
	for (;;) {
		const char *slash = memchr(path, '/', length);
		size_t component = slash ? (size_t)(slash - path) : length;
		const char *fault = component_fault(path, component);

		if (fault || !slash)
			return fault;
		path = slash + 1;
		length -= component + 1;
	}
}

const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Returns whether an odd number of backslashes is before this place. */
static bool is_escaped(const char *glob, size_t at)
{
	bool escaped = false;

	for (; at > 0 && glob[at - 1] == '\\'; at--)
		escaped = !escaped;
	return escaped;
}

/* Returns the length of the glob without its slashes at the end. */
static size_t length_of(const char *glob)
{
	size_t length = strlen(glob);

	while (length > 0 && glob[length - 1] == '/' && !is_escaped(glob, length - 1))
		length--;
	return length;
}

bool glob_has_slash(const char *glob)
{
	return memchr(glob, '/', length_of(glob));
}

bool glob_is_for_folders(const char *glob)
{
	return glob[length_of(glob)] == '/';
}

/* Returns the glob without its leading slash: paths are relative. */
static const char *relative(const char *glob)
{
	return glob[0] == '/' ? glob + 1 : glob;
}

/* Compares a path with the glob, without its slashes at the end and with the suffix appended. */
static bool matches(const char *glob, const char *suffix, const char *path, int flags)
{
	char changed[GLOB_BYTES_MAX + sizeof("/*")];
	size_t length = length_of(glob);

	if (length == 0 || length > GLOB_BYTES_MAX)
		return false;
	if (glob[length] == '/' || *suffix) {
		memcpy(changed, glob, length);
		memcpy(changed + length, suffix, strlen(suffix) + 1);
		glob = changed;
	}
	return fnmatch(relative(glob), path, flags | FNM_PATHNAME) == 0;
}

bool glob_matches(const char *glob, const char *path)
{
	const char *slash = strrchr(path, '/');

	if (glob_has_slash(glob) || !slash)
		return matches(glob, "", path, 0);
	return matches(glob, "", slash + 1, 0);
}

static bool matches_within(const char *glob, const char *path, int flags)
{
	/* a glob for folders matches a path only if something is below the match */
	const char *below = glob_is_for_folders(glob) ? "/*" : "";

	if (glob_has_slash(glob))
		return matches(glob, below, path, flags);
	while (!matches(glob, below, path, flags)) {
		path = strchr(path, '/');
		if (!path)
			return false;
		path++;
	}
	return true;
}

/* FNM_LEADING_DIR: a match of leading components suffices. */
bool glob_matches_within(const char *glob, const char *path)
{
	return matches_within(glob, path, FNM_LEADING_DIR);
}

bool glob_matches_within_any_case(const char *glob, const char *path)
{
	return matches_within(glob, path, FNM_LEADING_DIR | FNM_CASEFOLD);
}

/* ---- malformed globs ---------------------------------------------------------------------- */

/* Returns the end of the bracket expression at text, or NULL if the component does not close it. */
static const char *bracket_end(const char *text)
{
	const char *at = text + 1;

	at += *at == '!' || *at == '^';
	at += *at == ']'; /* in the first place, the bracket is a character of the expression */
	for (; *at && *at != '/' && *at != ']'; at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == '[' && (at[1] == ':' || at[1] == '.' || at[1] == '=')) {
			const char closing[] = {at[1], ']', '\0'};
			const char *end = strstr(at + 2, closing);

			at = end ? end + 1 : at;
		}
	}
	return *at == ']' ? at : NULL;
}

const char *glob_fault(const char *glob)
{
	size_t length = length_of(glob);

	if (length == 0)
		return "it is empty";
	if (length > GLOB_BYTES_MAX)
		return "it is too long";
	for (const char *at = glob; at < glob + length; at++) {
		if (*at == '\\') {
			if (at[1] == '\0' || strcmp(at + 1, "/") == 0)
				return "it ends with a backslash; write \\\\ for the character";
			at++;
		} else if (*at == '[') {
			at = bracket_end(at);
			if (!at)
				return "a bracket is not closed; write \\[ for the character";
		}
	}
	return NULL;
}
