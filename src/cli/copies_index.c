/* SPDX-License-Identifier: MIT */
#include "cli/copies_index.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/descriptor.h"
#include "base/group_name.h"
#include "base/path.h"
#include "catalog/paths.h"
#include "catalog/query.h"
#include "catalog/scan.h"
#include "report/copies.h"
#include "source/source.h"

/* One index that is asked. */
struct asking {
	struct copies_question *question;
	struct catalog *catalog;
	const struct sources *sources;
	struct catalog_reader *reader;
	const char *mount_point; /* NULL: the copies themselves are wanted */
};

void copies_question_deinit(struct copies_question *question)
{
	free(question->path);
	text_list_free(&question->copies);
	memset(question, 0, sizeof(*question));
}

/* Finds the file under a path below a directory of the index. -ENOENT. */
static int find_file(struct catalog_reader *reader, uint64_t dir, const char *relative,
		     struct file_record *file)
{
	struct entry_record entry;
	int r;

	r = catalog_find_path(reader, dir, relative, &entry);
	if (r < 0)
		return r;
	return entry.kind == ENTRY_FILE ? catalog_get_file(reader, entry.child, file) : -ENOENT;
}

/* Whether what is at the path in the source is the file of the record, with the bytes it had. */
static bool is_current(const struct asking *asking, uint32_t source, const char *relative,
		       const struct file_record *file)
{
	struct attributes attributes;
	AUTO_CLOSE int fd = -1;

	if (source >= asking->sources->count || asking->sources->list[source].fd < 0)
		return false;
	fd = open_beneath(asking->sources->list[source].fd, relative, O_PATH, true);
	return fd >= 0 && source_attributes(asking->catalog, fd, &attributes) == 0 &&
	       attributes_same_signature(&attributes, &file->attributes);
}

/* Whether another file of the index has its size, so that it would have been compared. */
static int shares_size(struct catalog_reader *reader, const struct file_record *file, bool *shares)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	const struct size_entry from = {.size = file->attributes.size};
	struct size_entry entry;
	uint64_t found = 0;
	int r;

	r = catalog_scan_sizes(reader, &from, &scan);
	if (r < 0)
		return r;
	while (found < 2 && (r = catalog_next_size(scan, &entry)) == 0 &&
	       entry.size == file->attributes.size)
		found++;
	*shares = found == 2;
	return r < 0 && r != -ENOENT ? r : 0;
}

/* What is known of the content of a file that is in the index as it is on disk. */
static int judge(struct catalog_reader *reader, const struct file_record *file,
		 enum copies_answer *answer, struct group_record *group)
{
	struct content_record content;
	bool shares;
	int error;
	int r;

	memset(group, 0, sizeof(*group));
	r = catalog_get_error(reader, ERROR_FILE, file->id, &error);
	if (r < 0)
		return r;
	*answer = error != 0 ? COPIES_UNREADABLE : COPIES_KNOWN;
	if (error != 0)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	if (r == 0)
		return content.group != 0 ? catalog_get_group(reader, content.group, group) : 0;
	if (r != -ENOENT)
		return r;
	r = shares_size(reader, file, &shares);
	if (r == 0 && shares)
		*answer = COPIES_PENDING;
	return r;
}

static int add_copy(const struct asking *asking, const struct copies *copies,
		    const struct copy *copy)
{
	struct copies_question *question = asking->question;
	CLEANUP_BYTES struct bytes path = {0};
	struct file_record file;
	int r;

	r = catalog_get_file(asking->reader, copy->file, &file);
	if (r < 0)
		return r;
	if (!is_current(asking, copy->source, copy_path(copies, copy), &file)) {
		question->changed++;
		return 0;
	}
	r = source_absolute_path(asking->sources, copy->source, copy_path(copies, copy), &path);
	if (r < 0)
		return r;
	return text_list_add(&question->copies, (const char *)path.data, path.length);
}

/* Adds the group's files but for this one, which is no copy of itself. */
static int add_copies(const struct asking *asking, const struct group_record *group,
		      uint64_t itself)
{
	CLEANUP_COPIES struct copies copies = {0};
	int r;

	r = copies_collect(&copies, asking->reader, group);
	for (size_t i = 0; r == 0 && i < copies.count; i++) {
		if (copies.list[i].file != itself)
			r = add_copy(asking, &copies, &copies.list[i]);
	}
	return r;
}

/* Adds the folder that the view has for the group. */
static int add_folder(const struct asking *asking, const struct group_record *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = bytes_format(&path, "%s/dups/%s", asking->mount_point, name);
	if (r < 0)
		return r;
	return text_list_add(&asking->question->copies, (const char *)path.data, path.length);
}

/* Asks for a file below a source. */
static int ask_source(const struct asking *asking, uint32_t source, const char *relative,
		      enum copies_answer *answer)
{
	struct group_record group;
	struct file_record file;
	int r;

	r = find_file(asking->reader, asking->sources->list[source].root, relative, &file);
	if (r == -ENOENT) {
		*answer = COPIES_NOT_INDEXED;
		return 0;
	}
	if (r < 0)
		return r;
	if (!is_current(asking, source, relative, &file)) {
		*answer = COPIES_CHANGED;
		return 0;
	}
	r = judge(asking->reader, &file, answer, &group);
	if (r < 0 || *answer != COPIES_KNOWN || !group_is_visible(&group))
		return r;
	if (asking->mount_point)
		return add_folder(asking, &group);
	return add_copies(asking, &group, file.id);
}

int copies_ask(struct copies_question *question, struct catalog *catalog,
	       const struct sources *sources, const char *mount_point)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct asking asking = {.question = question,
				.catalog = catalog,
				.sources = sources,
				.mount_point = mount_point};
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r < 0)
		return r;
	asking.reader = reader;
	for (uint32_t i = 0; i < sources->count; i++) {
		const char *relative = path_below(question->path, sources->list[i].path);
		enum copies_answer answer = COPIES_NOT_COVERED;

		if (!relative)
			continue;
		r = ask_source(&asking, i, relative, &answer);
		if (r < 0)
			return r;
		if (answer > question->answer)
			question->answer = answer;
	}
	return 0;
}
