/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <jansson.h>

#include "backup/manifest.h"
#include "base/inode_flags.h"
#include "row/json_path.h"
#include "row/json_read.h"
#include "row/json_xattrs.h"

/* Each function with the parameter why returns 0, -EPROTO with *why set, or -ENOMEM. Instead of 0,
 * get_end() returns MANIFEST_END. */

static int wrong(const char **why, const char *what)
{
	*why = what;
	return -EPROTO;
}

/* Parses a line as an object. The caller must release *object in any case. */
static int load_object(const char *line, size_t length, json_t **object, const char **why)
{
	*object = json_read(line, length, JSON_REJECT_DUPLICATES);
	if (!*object)
		return wrong(why, "it is not valid JSON");
	return json_is_object(*object) ? 0 : wrong(why, "it is not a JSON object");
}

/* Reads a required integer member. Returns 0 or -EPROTO. */
static int get_number(const json_t *object, const char *key, json_int_t *number)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		return -EPROTO;
	*number = json_integer_value(value);
	return 0;
}

static int get_count(const json_t *object, const char *key, json_int_t max, json_int_t *number)
{
	int r = get_number(object, key, number);

	return r == 0 && (*number < 0 || *number > max) ? -EPROTO : r;
}

static int get_hash(const json_t *object, struct hash128 *hash, const char **why)
{
	const json_t *value = json_object_get(object, "hash");

	if (json_string_length(value) != HASH128_DIGITS ||
	    !hash128_parse(json_string_value(value), hash))
		return wrong(why, "'hash' is not 32 hexadecimal digits");
	return 0;
}

static int get_path(const json_t *object, const char *key, struct bytes *path, const char **why)
{
	int r = json_get_path(object, key, path);

	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return wrong(why, "a path is missing or not a string");
	*why = path_fault(path);
	return *why ? -EPROTO : 0;
}

static int get_mode(const json_t *object, uint32_t *mode, const char **why)
{
	const char *text = json_string_value(json_object_get(object, "mode"));
	char *end = NULL;
	unsigned long value;

	if (!text || text[0] < '0' || text[0] > '7')
		return wrong(why, "'mode' is not an octal number");
	errno = 0;
	value = strtoul(text, &end, 8);
	if (errno != 0 || *end != '\0' || value > ALLPERMS)
		return wrong(why, "'mode' is not an octal number up to 7777");
	*mode = (uint32_t)value;
	return 0;
}

static int get_owner(const json_t *object, struct manifest_name *name, const char **why)
{
	json_int_t uid;
	json_int_t gid;

	/* UINT32_MAX means "no change" to chown(2) */
	if (get_count(object, "uid", UINT32_MAX - 1, &uid) < 0 ||
	    get_count(object, "gid", UINT32_MAX - 1, &gid) < 0)
		return wrong(why, "'uid' or 'gid' is not a valid number");
	name->uid = (uint32_t)uid;
	name->gid = (uint32_t)gid;
	return 0;
}

static int get_time(const json_t *object, struct manifest_name *name, const char **why)
{
	json_int_t seconds;
	json_int_t nanoseconds;

	if (get_number(object, "mtime", &seconds) < 0 ||
	    get_count(object, "mtime_ns", 999999999, &nanoseconds) < 0)
		return wrong(why, "'mtime' or 'mtime_ns' is not a valid number");
	name->mtime = (struct timespec){.tv_sec = seconds, .tv_nsec = (long)nanoseconds};
	return 0;
}

static int get_links(const json_t *object, struct manifest_name *name, const char **why)
{
	json_int_t inode;
	json_int_t links;

	if (!json_object_get(object, "inode") && !json_object_get(object, "links"))
		return 0;
	if (get_count(object, "inode", INT64_MAX, &inode) < 0 ||
	    get_count(object, "links", UINT32_MAX, &links) < 0 || links < 2)
		return wrong(why, "'inode' or 'links' is not a valid number");
	name->inode = (uint64_t)inode;
	name->links = (uint64_t)links;
	return 0;
}

static int get_xattrs(const json_t *object, struct xattrs *xattrs, const char **why)
{
	int r = json_get_xattrs(object, xattrs);

	return r == -EPROTO ? wrong(why, "'xattrs' has an invalid or repeated attribute") : r;
}

static int get_flags(const json_t *object, struct manifest_name *name, const char **why)
{
	const json_t *value = json_object_get(object, "flags");

	if (!value)
		return 0;
	return json_is_string(value) && inode_flags_parse(json_string_value(value), &name->flags)
		       ? 0
		       : wrong(why, "'flags' has an unknown letter");
}

/* Reads what chmod(2), chown(2) and the like set. */
static int get_metadata(const json_t *object, struct manifest_name *name, const char **why)
{
	int r = get_mode(object, &name->mode, why);

	if (r == 0)
		r = get_owner(object, name, why);
	if (r == 0)
		r = get_time(object, name, why);
	if (r == 0)
		r = get_flags(object, name, why);
	return r == 0 ? get_xattrs(object, &name->xattrs, why) : r;
}

static int get_content(const json_t *object, struct manifest_name *name, const char **why)
{
	int r = get_path(object, "content", &name->content, why);

	return r == -EPROTO ? wrong(why, "'content' is not a relative path below the backup") : r;
}

static int get_read(const json_t *object, struct manifest_name *name, const char **why)
{
	const json_t *value = json_object_get(object, "read");
	char end;

	if (!value)
		return 0;
	if (!json_is_string(value) ||
	    sscanf(json_string_value(value), "%" SCNx64 "-%16" SCNx64 "%c", &name->file,
		   &name->digest, &end) != 2 ||
	    name->file == 0)
		return wrong(why, "'read' is not valid");
	return 0;
}

/* Reads the members that describe the bytes of a regular file. Only a name that uniques/ has can be
 * without a hash. */
static int get_bytes(const json_t *object, enum manifest_format format, struct manifest_name *name,
		     const char **why)
{
	bool own = format == MANIFEST_ALL && !json_object_get(object, "content");
	json_int_t size;
	int r = own ? 0 : get_content(object, name, why);

	if (r < 0)
		return r;
	name->hashed = !own || json_object_get(object, "hash");
	r = name->hashed ? get_hash(object, &name->hash, why) : 0;
	if (r == 0 && get_count(object, "size", INT64_MAX, &size) < 0)
		r = wrong(why, "'size' is not a valid number of bytes");
	if (r < 0)
		return r;
	name->size = (uint64_t)size;
	return get_read(object, name, why);
}

static int get_target(const json_t *object, struct manifest_name *name, const char **why)
{
	int r = json_get_path(object, "target", &name->target);

	if (r == -ENOMEM)
		return r;
	return r == 0 && name->target.length > 0 && name->target.length < PATH_MAX &&
			       !memchr(name->target.data, '\0', name->target.length)
		       ? 0
		       : wrong(why, "'target' is not a target of a symlink");
}

static int get_device(const json_t *object, struct manifest_name *name, const char **why)
{
	const char *text = json_string_value(json_object_get(object, "device"));
	unsigned int major_number;
	unsigned int minor_number;
	char end;

	if (!text || sscanf(text, "%u:%u%c", &major_number, &minor_number, &end) != 2)
		return wrong(why, "'device' is not MAJOR:MINOR");
	name->device = makedev(major_number, minor_number);
	return 0;
}

static int get_special(const json_t *object, struct manifest_name *name, const char **why)
{
	name->type = manifest_type_find(json_string_value(json_object_get(object, "type")));
	if (name->type == 0)
		return wrong(why, "'type' is not a known type");
	name->unread = S_ISDIR(name->type) && json_is_true(json_object_get(object, "unread"));
	if (S_ISLNK(name->type))
		return get_target(object, name, why);
	if (S_ISCHR(name->type) || S_ISBLK(name->type))
		return get_device(object, name, why);
	return 0;
}

static int get_name(const json_t *object, enum manifest_format format, struct manifest_name *name,
		    const char **why)
{
	int r;

	r = get_path(object, "path", &name->path, why);
	if (r == 0 && format == MANIFEST_ALL && json_object_get(object, "type"))
		r = get_special(object, name, why);
	else if (r == 0)
		r = get_bytes(object, format, name, why);
	if (r == 0)
		r = get_metadata(object, name, why);
	return r == 0 ? get_links(object, name, why) : r;
}

/* Reads the metadata of the root, which older manifests and those of several sources lack. */
static int get_root(const json_t *header, struct manifest_name *root, const char **why)
{
	const json_t *object = json_object_get(header, "root");
	int r;

	manifest_name_clear(root);
	if (!object)
		return 0;
	if (!json_is_object(object))
		return wrong(why, "'root' is not an object");
	root->type = S_IFDIR;
	r = get_metadata(object, root, why);
	return r == 0 ? bytes_append_text(&root->path, ".") : r;
}

static int get_end(const json_t *object, struct manifest_end *end, const char **why)
{
	json_int_t lines;
	int r;

	if (get_count(object, "lines", INT64_MAX, &lines) < 0)
		return wrong(why, "'lines' is not a valid number");
	end->lines = (uint64_t)lines;
	r = get_hash(object, &end->hash, why);
	return r == 0 ? MANIFEST_END : r;
}

int manifest_header_decode(const char *line, size_t length, enum manifest_format *format,
			   struct manifest_name *root, const char **why)
{
	json_auto_t *object = NULL;
	json_int_t number;
	int r;

	r = load_object(line, length, &object, why);
	if (r < 0)
		return r;
	if (get_number(object, "twinfs_manifest", &number) < 0)
		return wrong(why, "it is not the first line of a manifest");
	if (number != MANIFEST_REDUNDANT && number != MANIFEST_ALL)
		return wrong(why, "the manifest has the format of another version of twinfs");
	*format = (enum manifest_format)number;
	return get_root(object, root, why);
}

int manifest_line_decode(const char *line, size_t length, enum manifest_format format,
			 struct manifest_line result, const char **why)
{
	json_auto_t *object = NULL;
	int r;

	manifest_name_clear(result.name);
	r = load_object(line, length, &object, why);
	if (r < 0)
		return r;
	if (json_object_get(object, "lines"))
		return get_end(object, result.end, why);
	return get_name(object, format, result.name, why);
}
