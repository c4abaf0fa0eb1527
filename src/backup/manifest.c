/* SPDX-License-Identifier: MIT */
#include "backup/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <jansson.h>

#include "base/descriptor.h"
#include "base/log.h"
#include "base/metadata.h"
#include "base/numbers.h"
#include "base/path.h"
#include "index/query.h"
#include "index/source.h"
#include "row/fields.h"
#include "row/json_path.h"
#include "row/json_text.h"

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

bool path_is_below(const struct bytes *path, const struct bytes *directory)
{
	size_t length = directory->length;

	return length == 0 || (path->length > length && path->data[length] == '/' &&
			       memcmp(path->data, directory->data, length) == 0);
}

/* ---- members ----------------------------------------------------------------------------- */

static const char *name_fault(const void *member)
{
	const struct bytes *path = member;

	return path_fault((const char *)path->data, path->length);
}

static const char *content_fault(const void *content)
{
	return name_fault(content) ? "" : NULL;
}

static const char *target_fault(const void *member)
{
	const struct bytes *target = member;

	return target->length == 0 || target->length >= PATH_MAX ||
			       memchr(target->data, '\0', target->length)
		       ? ""
		       : NULL;
}

static bool has_flags(const void *member)
{
	return *(const uint32_t *)member != 0;
}

static json_t *make_flags(const void *member)
{
	char flags[INODE_FLAGS_TEXT_MAX];

	return json_string(inode_flags_text(*(const uint32_t *)member, flags));
}

static bool get_flags(const json_t *value, void *member)
{
	return json_is_string(value) && inode_flags_parse(json_string_value(value), member);
}

static bool has_read(const void *member)
{
	return ((const struct manifest_read *)member)->file != 0;
}

static json_t *make_read(const void *member)
{
	const struct manifest_read *read = member;

	return json_sprintf("%" PRIx64 "-%016" PRIx64, read->file, read->digest);
}

static bool get_read(const json_t *value, void *member)
{
	struct manifest_read *read = member;
	char end;

	return json_is_string(value) &&
	       sscanf(json_string_value(value), "%" SCNx64 "-%16" SCNx64 "%c", &read->file,
		      &read->digest, &end) == 2 &&
	       read->file != 0;
}

static json_t *make_device(const void *member)
{
	uint64_t device = *(const uint64_t *)member;

	return json_sprintf("%u:%u", major(device), minor(device));
}

static bool get_device(const json_t *value, void *member)
{
	unsigned int major_number;
	unsigned int minor_number;
	char end;

	if (!json_is_string(value) ||
	    sscanf(json_string_value(value), "%u:%u%c", &major_number, &minor_number, &end) != 2)
		return false;
	*(uint64_t *)member = makedev(major_number, minor_number);
	return true;
}

static const struct field_form flags_form = {has_flags, make_flags, get_flags};
static const struct field_form read_form = {has_read, make_read, get_read};
static const struct field_form device_form = {NULL, make_device, get_device};

static const struct field_word types[] = {
	{"directory", S_IFDIR}, {"symlink", S_IFLNK},          {"fifo", S_IFIFO},
	{"socket", S_IFSOCK},   {"character device", S_IFCHR}, {"block device", S_IFBLK},
};

#define NAME(member, key, type) FIELD(struct manifest_name, member, key, type)
#define NO_HASH "'hash' is not 32 hexadecimal digits"
#define NO_OWNER "'uid' or 'gid' is not a valid number"
#define NO_LINKS "'inode' or 'links' is not a valid number"

/* The members of a name have the order of these tables; "xattrs" is the last one. */
static const struct field path_fields[] = {
	{NAME(path, "path", FIELD_BYTES), .check = name_fault,
	 REQUIRED("a path is missing or not a string")},
};

/* Only a name that uniques/ leaves out has these. */
static const struct field content_fields[] = {
	{NAME(content, "content", FIELD_BYTES), .check = content_fault,
	 REQUIRED("'content' is not a relative path below the backup")},
};

static const struct field bytes_fields[] = {
	{NAME(hash, "hash", FIELD_HASH128), .optional = true,
	 .given = offsetof(struct manifest_name, hashed), .fault = NO_HASH},
	{NAME(size, "size", FIELD_SIZE), REQUIRED("'size' is not a valid number of bytes")},
};

/* Names other than regular files have these. */
static const struct field type_fields[] = {
	{NAME(type, "type", FIELD_WORD), .words = types, .count = ARRAY_SIZE(types),
	 REQUIRED("'type' is not a known type")},
	{NAME(unread, "unread", FIELD_BOOL), .fault = "'unread' is neither true nor false"},
};

static const struct field symlink_fields[] = {
	{NAME(target, "target", FIELD_BYTES), .check = target_fault,
	 REQUIRED("'target' is not a target of a symlink")},
};

static const struct field device_fields[] = {
	{NAME(device, "device", FIELD_FORM), .form = &device_form,
	 REQUIRED("'device' is not MAJOR:MINOR")},
};

/* What chmod(2), chown(2) and the like set. UINT32_MAX means "no change" to chown(2). */
static const struct field metadata_fields[] = {
	{NAME(flags, "flags", FIELD_FORM), .form = &flags_form,
	 .fault = "'flags' has an unknown letter"},
	{NAME(mode, "mode", FIELD_MODE), .max = ALLPERMS,
	 REQUIRED("'mode' is not an octal number up to 7777")},
	{NAME(uid, "uid", FIELD_COUNT), .max = UINT32_MAX - 1, REQUIRED(NO_OWNER)},
	{NAME(gid, "gid", FIELD_COUNT), .max = UINT32_MAX - 1, REQUIRED(NO_OWNER)},
	{NAME(mtime, "mtime", FIELD_TIMES),
	 REQUIRED("'mtime' or 'mtime_ns' is not a valid number")},
};

/* If the inode has several names. */
static const struct field link_fields[] = {
	{NAME(inode, "inode", FIELD_SIZE), REQUIRED(NO_LINKS)},
	{NAME(links, "links", FIELD_SIZE), .min = 2, .max = UINT32_MAX, REQUIRED(NO_LINKS)},
};

static const struct field read_fields[] = {
	{NAME(read, "read", FIELD_FORM), .form = &read_form, .fault = "'read' is not valid"},
};

static const struct field end_fields[] = {
	{FIELD(struct manifest_end, lines, "lines", FIELD_SIZE),
	 REQUIRED("'lines' is not a valid number")},
	{FIELD(struct manifest_end, hash, "hash", FIELD_HASH128), REQUIRED(NO_HASH)},
};

/* Returns the members that only this type has. */
static struct field_table fields_of_type(uint32_t type)
{
	if (S_ISLNK(type))
		return FIELDS(symlink_fields);
	if (S_ISCHR(type) || S_ISBLK(type))
		return FIELDS(device_fields);
	return (struct field_table){NULL, 0};
}

/* ---- writing ----------------------------------------------------------------------------- */

/* Appends an object as a line. Takes the object. If object is NULL, returns -ENOMEM. */
static int append_object(struct bytes *line, json_t *object)
{
	int r;

	if (!object)
		return -ENOMEM;
	r = json_append_line(line, object, JSON_COMPACT);
	json_decref(object);
	return r;
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

static json_t *root_object(const struct manifest_name *root)
{
	json_t *object = json_object();

	if (object && (fields_set(object, root, FIELDS(metadata_fields)) < 0 ||
		       json_set_xattrs(object, &root->xattrs) < 0)) {
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

static int set_kind(json_t *object, const struct manifest_name *name)
{
	int r;

	if (S_ISREG(name->type))
		return fields_set(object, name, FIELDS(bytes_fields));
	r = fields_set(object, name, FIELDS(type_fields));
	return r < 0 ? r : fields_set(object, name, fields_of_type(name->type));
}

static int set_name(json_t *object, const struct manifest_name *name)
{
	int r = fields_set(object, name, FIELDS(path_fields));

	if (r == 0 && name->content.length > 0)
		r = fields_set(object, name, FIELDS(content_fields));
	if (r == 0)
		r = set_kind(object, name);
	if (r == 0)
		r = fields_set(object, name, FIELDS(metadata_fields));
	if (r == 0 && name->links > 1)
		r = fields_set(object, name, FIELDS(link_fields));
	if (r == 0)
		r = fields_set(object, name, FIELDS(read_fields));
	return r < 0 ? r : json_set_xattrs(object, &name->xattrs);
}

int manifest_name_encode(struct bytes *line, const struct manifest_name *name)
{
	size_t before = line->length;
	json_t *object = json_object();
	int r;

	if (!object)
		return -ENOMEM;
	if (set_name(object, name) < 0) {
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
	return fields_append_line(line, end, FIELDS(end_fields));
}

/* ---- reading ----------------------------------------------------------------------------- */

/* Each function with the parameter why returns 0, -EPROTO with *why set, or -ENOMEM. */

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

static int get_metadata(const json_t *object, struct manifest_name *name, const char **why)
{
	int r = fields_get(object, name, FIELDS(metadata_fields), NULL, why);

	if (r < 0)
		return r;
	r = json_get_xattrs(object, &name->xattrs);
	return r == -EPROTO ? wrong(why, "'xattrs' has an invalid or repeated attribute") : r;
}

/* Reads the members that describe the bytes of a regular file. Only a name that uniques/ has can be
 * without a hash. */
static int get_bytes(const json_t *object, enum manifest_format format, struct manifest_name *name,
		     const char **why)
{
	bool own = format == MANIFEST_ALL && !json_object_get(object, "content");
	int r = own ? 0 : fields_get(object, name, FIELDS(content_fields), NULL, why);

	if (r == 0)
		r = fields_get(object, name, FIELDS(bytes_fields), NULL, why);
	if (r == 0 && !own && !name->hashed)
		return wrong(why, NO_HASH);
	return r < 0 ? r : fields_get(object, name, FIELDS(read_fields), NULL, why);
}

static int get_special(const json_t *object, struct manifest_name *name, const char **why)
{
	int r = fields_get(object, name, FIELDS(type_fields), NULL, why);

	name->unread = name->unread && S_ISDIR(name->type);
	return r < 0 ? r : fields_get(object, name, fields_of_type(name->type), NULL, why);
}

static int get_name(const json_t *object, enum manifest_format format, struct manifest_name *name,
		    const char **why)
{
	bool has_links = json_object_get(object, "inode") || json_object_get(object, "links");
	int r = fields_get(object, name, FIELDS(path_fields), NULL, why);

	if (r == 0 && format == MANIFEST_ALL && json_object_get(object, "type"))
		r = get_special(object, name, why);
	else if (r == 0)
		r = get_bytes(object, format, name, why);
	if (r == 0)
		r = get_metadata(object, name, why);
	return r == 0 && has_links ? fields_get(object, name, FIELDS(link_fields), NULL, why) : r;
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

int manifest_header_decode(const char *line, size_t length, enum manifest_format *format,
			   struct manifest_name *root, const char **why)
{
	json_auto_t *object = NULL;
	const json_t *value;
	json_int_t number;
	int r = load_object(line, length, &object, why);

	if (r < 0)
		return r;
	value = json_object_get(object, "twinfs_manifest");
	number = json_integer_value(value);
	if (!json_is_integer(value))
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
	if (!json_object_get(object, "lines"))
		return get_name(object, format, result.name, why);
	r = fields_get(object, result.end, FIELDS(end_fields), NULL, why);
	return r == 0 ? MANIFEST_END : r;
}

/* ---- manifest reader ------------------------------------------------------------------------ */

/* Logs that the line read last cannot be used, with its number. Returns -EPROTO. */
static int complain(const struct manifest_reader *reader, const char *why)
{
	const struct bytes *path = &reader->name.path;

	log_error("cannot use line %" PRIu64 " of the manifest %s%s%s: %s", reader->lines.line,
		  quote_path(reader->path), path->length > 0 ? ", path " : "",
		  path->length > 0 ? quote_bytes((const char *)path->data, path->length) : "", why);
	return -EPROTO;
}

/* Logs that the whole manifest is refused. Returns -EPROTO. */
static int complain_of_end(const struct manifest_reader *reader, const char *what)
{
	log_error("cannot use the manifest %s: it %s, after line %" PRIu64
		  "; use the complete file that 'twinfs manifest' wrote",
		  quote_path(reader->path), what, reader->lines.line);
	return -EPROTO;
}

int manifest_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	int r = 0;

	if (fd < 0 || fstat(fd, &status) < 0)
		r = -errno;
	else if (!S_ISREG(status.st_mode))
		r = -EINVAL;
	if (r == 0)
		return fd;
	if (r == -EINVAL)
		log_error("cannot use the manifest %s: it is not a regular file; give a file, "
			  "because it is read more than once",
			  quote_path(path));
	else
		log_error("cannot open the manifest %s: %s", quote_path(path), error_text(r));
	cleanup_close(&fd);
	return r;
}

/* Sets *line to the start of the next line. Returns 0, -ENODATA at the end, -ENOMEM, -EINTR if
 * stop_requested(), or another -errno (logged). */
static int next_line(struct manifest_reader *reader, const char **line, size_t *length)
{
	int r = line_reader_next(&reader->lines, line, length);

	if (r == LINE_END)
		return -ENODATA;
	if (r == LINE_TORN)
		return complain_of_end(reader, "ends within a line");
	if (r == LINE_TOO_LONG) {
		reader->lines.line++;
		return complain(reader, "it is longer than the limit");
	}
	if (r < 0 && r != -ENOMEM && r != -EINTR)
		log_error("cannot read the manifest %s: %s", quote_path(reader->path),
			  error_text(r));
	return r;
}

int manifest_reader_init(struct manifest_reader *reader, int fd, const char *path)
{
	const char *why = NULL;
	const char *line;
	size_t length;
	int r;

	memset(reader, 0, sizeof(*reader));
	reader->path = path;
	reader->hash = hash_state_new();
	r = line_reader_init(&reader->lines, fd, MANIFEST_LINE_MAX, LINES_FROM_START);
	if (!reader->hash || r < 0)
		return -ENOMEM;
	r = next_line(reader, &line, &length);
	if (r == -ENODATA)
		return complain_of_end(reader, "is empty");
	if (r < 0)
		return r;
	r = manifest_header_decode(line, length, &reader->format, &reader->root, &why);
	if (r == -EPROTO)
		return complain(reader, why);
	hash_state_update(reader->hash, line, length + 1);
	return r;
}

void manifest_reader_deinit(struct manifest_reader *reader)
{
	hash_state_free(reader->hash);
	line_reader_deinit(&reader->lines);
	bytes_free(&reader->before);
	manifest_name_free(&reader->root);
	manifest_name_free(&reader->name);
}

int manifest_check_header(int fd, const char *path)
{
	CLEANUP_MANIFEST_READER struct manifest_reader reader = {0};

	return manifest_reader_init(&reader, fd, path);
}

static int check_end(struct manifest_reader *reader)
{
	const char *line;
	size_t length;
	int r;

	if (reader->end.lines != reader->names)
		return complain_of_end(reader,
				       "does not have the number of lines that its end states");
	if (!hash128_equal(reader->end.hash, hash_state_digest(reader->hash)))
		return complain_of_end(reader, "was changed, as its hash is wrong");
	r = next_line(reader, &line, &length);
	if (r == 0)
		return complain_of_end(reader, "continues after its end");
	return r == -ENODATA ? MANIFEST_END : r;
}

/* Checks that the path is after the previous one. */
static int check_order(struct manifest_reader *reader)
{
	struct bytes *path = &reader->name.path;
	int order = reader->names > 0 ? path_order(&reader->before, path) : -1;

	if (order == 0)
		return complain(reader, "the previous line has the same path");
	if (order > 0)
		return complain(reader, "it must be before the previous line");
	reader->before.length = 0;
	return bytes_append(&reader->before, path->data, path->length);
}

int manifest_reader_next(struct manifest_reader *reader)
{
	const char *why = NULL;
	const char *line;
	size_t length;
	int r;

	manifest_name_clear(&reader->name);
	r = next_line(reader, &line, &length);
	if (r == -ENODATA)
		return complain_of_end(reader, "is truncated");
	if (r < 0)
		return r;
	r = manifest_line_decode(line, length, reader->format,
				 (struct manifest_line){&reader->name, &reader->end}, &why);
	if (r == MANIFEST_END)
		return check_end(reader);
	if (r == -EPROTO)
		return complain(reader, why);
	if (r == 0)
		r = check_order(reader);
	if (r < 0)
		return r;
	hash_state_update(reader->hash, line, length + 1);
	reader->names++;
	reader->flagged += reader->name.flags != 0;
	if (reader->name.content.length > 0)
		reader->bytes = size_add(reader->bytes, reader->name.size);
	return 0;
}

int manifest_reader_advance(struct manifest_reader *reader)
{
	int r = reader->at_end ? 0 : manifest_reader_next(reader);

	reader->at_end |= r == MANIFEST_END;
	return r < 0 ? r : 0;
}

int manifest_reader_seek(struct manifest_reader *reader, const struct bytes *path,
			 int (*passed)(void *context), void *context, bool *found)
{
	int order = -1;
	int r = 0;

	while (r == 0 && !reader->at_end) {
		order = path ? path_order(&reader->name.path, path) : -1;
		if (order >= 0)
			break;
		if (passed)
			r = passed(context);
		if (r == 0)
			r = manifest_reader_advance(reader);
	}
	*found = r == 0 && !reader->at_end && order == 0;
	return r;
}
