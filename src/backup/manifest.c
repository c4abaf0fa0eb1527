/* SPDX-License-Identifier: MIT */
#include "backup/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <jansson.h>

#include "base/inode_flags.h"
#include "catalog/query.h"
#include "row/json_path.h"
#include "row/json_text.h"
#include "row/json_xattrs.h"
#include "source/source.h"

void manifest_name_free(struct manifest_name *name)
{
	bytes_free(&name->path);
	bytes_free(&name->content);
	bytes_free(&name->target);
	xattrs_free(&name->xattrs);
}

void manifest_name_clear(struct manifest_name *name)
{
	struct manifest_name cleared = {
		.path = name->path,
		.content = name->content,
		.target = name->target,
		.xattrs = name->xattrs,
		.type = S_IFREG,
		.links = 1,
	};

	cleared.path.length = cleared.content.length = cleared.target.length = 0;
	xattrs_clear(&cleared.xattrs);
	*name = cleared;
}

/* ---- paths ------------------------------------------------------------------------------- */

int path_order(const struct bytes *a, const struct bytes *b)
{
	size_t length = a->length < b->length ? a->length : b->length;
	size_t i = 0;

	while (i < length && a->data[i] == b->data[i])
		i++;
	if (i == length)
		return (a->length > length) - (b->length > length);
	if (a->data[i] == '/' || b->data[i] == '/')
		return b->data[i] == '/' ? 1 : -1;
	return (int)a->data[i] - (int)b->data[i];
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

const char *path_fault(const struct bytes *path)
{
	const char *at = (const char *)path->data;
	size_t left = path->length;

	if (left == 0)
		return "the path is empty";
	if (at[0] == '/')
		return "the path is absolute";
	if (memchr(at, '\0', left))
		return "the path contains a NUL byte";
	for (;;) {
		const char *slash = memchr(at, '/', left);
		size_t length = slash ? (size_t)(slash - at) : left;
		const char *fault = component_fault(at, length);

		if (fault || !slash)
			return fault;
		at = slash + 1;
		left -= length + 1;
	}
}

/* ---- types ------------------------------------------------------------------------------- */

static const struct {
	uint32_t type;
	const char *word;
} types[] = {
	{S_IFDIR, "directory"}, {S_IFLNK, "symlink"},          {S_IFIFO, "fifo"},
	{S_IFSOCK, "socket"},   {S_IFCHR, "character device"}, {S_IFBLK, "block device"},
};

const char *manifest_type_word(uint32_t type)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (types[i].type == type)
			return types[i].word;
	}
	return NULL;
}

uint32_t manifest_type_find(const char *word)
{
	for (size_t i = 0; word && i < ARRAY_SIZE(types); i++) {
		if (strcmp(types[i].word, word) == 0)
			return types[i].type;
	}
	return 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Appends an object as a line. Takes the object. If object is NULL, returns -ENOMEM. */
static int append_object(struct bytes *line, json_t *object)
{
	int r;

	if (!object)
		return -ENOMEM;
	r = json_append(line, object, JSON_COMPACT);
	json_decref(object);
	return r == 0 ? bytes_append(line, "\n", 1) : -ENOMEM;
}

static int set_path(json_t *object, const char *key, const struct bytes *path)
{
	return json_set_path(object, key, (const char *)path->data, path->length);
}

static json_t *source_object(const struct source *source)
{
	json_t *object = json_object();

	if (!object)
		return NULL;
	if (json_set_path(object, "path", source->path, strlen(source->path)) < 0 ||
	    json_set_path(object, "tree", source->tree, strlen(source->tree)) < 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* Sets the members for what chmod(2), chown(2) and the like set. */
static int set_metadata(json_t *object, const struct manifest_name *name)
{
	char flags[INODE_FLAGS_TEXT_MAX];
	char mode[16];
	int r = 0;

	(void)snprintf(mode, sizeof(mode), "%04" PRIo32, name->mode);
	if (name->flags != 0)
		r = json_object_set_new(object, "flags",
					json_string(inode_flags_text(name->flags, flags)));
	return r | json_object_set_new(object, "mode", json_string(mode)) |
	       json_object_set_new(object, "uid", json_integer(name->uid)) |
	       json_object_set_new(object, "gid", json_integer(name->gid)) |
	       json_object_set_new(object, "mtime", json_integer(name->mtime.tv_sec)) |
	       json_object_set_new(object, "mtime_ns", json_integer(name->mtime.tv_nsec));
}

static json_t *root_object(const struct manifest_name *root)
{
	json_t *object = json_object();

	if (object &&
	    (set_metadata(object, root) < 0 || json_set_xattrs(object, &root->xattrs) < 0)) {
		json_decref(object);
		return NULL;
	}
	return object;
}

int manifest_header_encode(struct bytes *line, enum manifest_format format,
			   struct catalog_reader *reader, const struct sources *sources,
			   const struct manifest_name *root)
{
	struct catalog_totals totals;
	json_t *list;
	int r = catalog_get_totals(reader, &totals);

	if (r < 0)
		return r;
	list = json_array();
	for (size_t i = 0; list && i < sources->count; i++)
		r |= json_array_append_new(list, source_object(&sources->list[i]));
	if (r < 0) {
		json_decref(list);
		return -ENOMEM;
	}
	return append_object(line, json_pack("{s:i, s:s, s:I, s:o, s:o*}", "twinfs_manifest",
					     (int)format, "version", TWINFS_VERSION, "generation",
					     (json_int_t)totals.generation, "sources", list, "root",
					     root->path.length > 0 ? root_object(root) : NULL));
}

static int set_links(json_t *object, const struct manifest_name *name)
{
	if (name->links < 2)
		return 0;
	return json_object_set_new(object, "inode", json_integer((json_int_t)name->inode)) |
	       json_object_set_new(object, "links", json_integer((json_int_t)name->links));
}

static int set_hash(json_t *object, const struct manifest_name *name)
{
	char digits[HASH128_DIGITS + 1];
	int r = 0;

	if (name->hashed) {
		hash128_format(name->hash, digits);
		r = json_object_set_new(object, "hash", json_string(digits));
	}
	return r | json_object_set_new(object, "size", json_integer((json_int_t)name->size));
}

static int set_read(json_t *object, const struct manifest_name *name)
{
	if (name->file == 0)
		return 0;
	return json_object_set_new(object, "read",
				   json_sprintf("%" PRIx64 "-%016" PRIx64, name->file,
						name->digest));
}

/* Sets the members of a name that is no regular file. */
static int set_special(json_t *object, const struct manifest_name *name)
{
	int r = json_object_set_new(object, "type", json_string(manifest_type_word(name->type)));

	if (name->unread)
		r |= json_object_set_new(object, "unread", json_true());
	if (S_ISLNK(name->type))
		r |= set_path(object, "target", &name->target);
	if (S_ISCHR(name->type) || S_ISBLK(name->type))
		r |= json_object_set_new(object, "device",
					 json_sprintf("%u:%u", major(name->device),
						      minor(name->device)));
	return r;
}

static int set_fields(json_t *object, const struct manifest_name *name)
{
	int r = set_path(object, "path", &name->path);

	if (r == 0 && name->content.length > 0)
		r = set_path(object, "content", &name->content);
	if (r < 0)
		return r;
	r = S_ISREG(name->type) ? set_hash(object, name) : set_special(object, name);
	return r | set_metadata(object, name) | set_links(object, name) | set_read(object, name) |
	       json_set_xattrs(object, &name->xattrs);
}

int manifest_name_encode(struct bytes *line, const struct manifest_name *name)
{
	size_t before = line->length;
	json_t *object = json_object();
	int r;

	if (!object)
		return -ENOMEM;
	if (set_fields(object, name) < 0) {
		json_decref(object);
		return -ENOMEM;
	}
	r = append_object(line, object);
	if (r == 0 && line->length - before > MANIFEST_LINE_MAX)
		r = -EOVERFLOW;
	if (r < 0)
		line->length = before;
	return r;
}

int manifest_end_encode(struct bytes *line, const struct manifest_end *end)
{
	char digits[HASH128_DIGITS + 1];

	hash128_format(end->hash, digits);
	return append_object(line, json_pack("{s:I, s:s}", "lines", (json_int_t)end->lines, "hash",
					     digits));
}
