/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/descriptor.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/path.h"
#include "base/sort.h"
#include "base/text.h"
#include "choose/copies.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/known_index.h"
#include "cli/paths.h"
#include "index/catalog.h"
#include "index/mount_point.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/scan_settings.h"
#include "index/source.h"
#include "scan/index_folder.h"

/* ---- copies index --------------------------------------------------------------------------- */

/* Queries an index for the verified copies of a file, or for the folders that are equal to a
 * folder, and checks on the disk that they are still as indexed. One thread at a time; blocks on
 * the disk.
 */

/* The knowledge of an index about a file, from nothing to everything. That about a folder is the
 * lowest of all names in it. */
enum copies_knowledge {
	COPIES_NOT_COVERED, /* it is in no source */
	COPIES_NOT_INDEXED, /* it is in a source, but was missing or left out at the last scan */
	COPIES_EXCLUDED, /* it is in a source, and an --exclude of the last scan matches it */
	COPIES_CHANGED, /* it has changed since the last scan */
	COPIES_UNREADABLE, /* the last scan could not read it */
	COPIES_LEFT_OUT, /* the index lacks names of the folder */
	COPIES_TOO_SMALL, /* it is smaller than --min-size of the last scan: not compared */
	COPIES_PENDING, /* it is not compared yet */
	COPIES_KNOWN, /* its copies are known, or it has none */
};

struct copies_query {
	const char *given; /* operand, borrowed */
	char *path; /* absolute, without symlinks; freed by copies_query_deinit() */
	bool is_folder;
	enum copies_knowledge knowledge; /* the highest of the indexes so far */
	struct text_list copies; /* absolute paths, of the copies or of their folders in views */
	uint64_t changed; /* copies or folders that have changed or are missing; not in copies */
};

/* The query of one index. */
struct lookup {
	struct copies_query *query;
	struct catalog *catalog;
	const struct sources *sources;
	struct catalog_reader *reader;
	const char *mount_point; /* NULL: list the copies */
};

static void copies_query_deinit(struct copies_query *query)
{
	free(query->path);
	text_list_free(&query->copies);
	memset(query, 0, sizeof(*query));
}

/* Finds the file at a path below a directory of the index. Returns 0, -ENOENT or -errno. */
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

/* Returns whether the file at the path in the source is the file of the record and is unchanged. */
static bool is_current(const struct lookup *lookup, uint32_t source, const char *relative,
		       const struct file_record *file)
{
	struct attributes attributes;
	AUTO_CLOSE int fd = -1;

	if (source >= lookup->sources->count || lookup->sources->list[source].fd < 0)
		return false;
	fd = open_beneath(lookup->sources->list[source].fd, relative, O_PATH, true);
	return fd >= 0 && source_attributes(lookup->catalog, fd, &attributes) == 0 &&
	       attributes_same_signature(&attributes, &file->attributes);
}

/* Sets *shares to whether another file of the index has the same size. Only such files are
 * compared. */
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

/* Finds what the index knows of the content of a file that is unchanged on the disk. */
static int judge(struct catalog_reader *reader, const struct file_record *file,
		 enum copies_knowledge *knowledge, struct group_record *group)
{
	struct content_record content;
	uint64_t min_size;
	bool shares;
	int error;
	int r;

	memset(group, 0, sizeof(*group));
	r = catalog_get_error(reader, ERROR_FILE, file->id, &error);
	if (r < 0)
		return r;
	*knowledge = error != 0 ? COPIES_UNREADABLE : COPIES_KNOWN;
	if (error != 0)
		return 0;
	r = catalog_get_content(reader, file->id, &content);
	if (r == 0)
		return content.group != 0 ? catalog_get_group(reader, content.group, group) : 0;
	if (r != -ENOENT)
		return r;
	r = catalog_get_min_size(reader, &min_size);
	if (r == 0)
		r = shares_size(reader, file, &shares);
	if (r == 0 && shares)
		*knowledge = file->attributes.size < min_size ? COPIES_TOO_SMALL : COPIES_PENDING;
	return r;
}

static int add_copy(const struct lookup *lookup, const struct copies *copies,
		    const struct copy *copy)
{
	struct copies_query *query = lookup->query;
	CLEANUP_BYTES struct bytes path = {0};
	struct file_record file;
	int r;

	r = catalog_get_file(lookup->reader, copy->file, &file);
	if (r < 0)
		return r;
	if (!is_current(lookup, copy->source, copy_path(copies, copy), &file)) {
		query->changed++;
		return 0;
	}
	r = source_absolute_path(lookup->sources, copy->source, copy_path(copies, copy), &path);
	if (r < 0)
		return r;
	return text_list_add(&query->copies, (const char *)path.data, path.length);
}

/* Adds the files of the group except the queried file. */
static int add_copies(const struct lookup *lookup, const struct group_record *group,
		      uint64_t itself)
{
	CLEANUP_COPIES struct copies copies = {0};
	int r;

	r = copies_collect(&copies, lookup->reader, group);
	for (size_t i = 0; r == 0 && i < copies.count; i++) {
		if (copies.list[i].file != itself)
			r = add_copy(lookup, &copies, &copies.list[i]);
	}
	return r;
}

/* Adds the folder of the view that shows the group. */
static int add_folder(const struct lookup *lookup, const struct group_record *group)
{
	CLEANUP_BYTES struct bytes path = {0};
	char name[GROUP_NAME_SIZE];
	int r;

	group_name_make(name, group->hash, group->ordinal);
	r = bytes_format(&path, "%s/dups/%s", lookup->mount_point, name);
	if (r < 0)
		return r;
	return text_list_add(&lookup->query->copies, (const char *)path.data, path.length);
}

/* ---- folders ------------------------------------------------------------------------------ */

/* The check of a folder with all names in it. */
struct checked_folder {
	const struct lookup *lookup;
	bool judges; /* also check what is known of contents */
	enum copies_knowledge knowledge; /* the lowest so far */
	struct bytes waiting; /* ids of directories */
};

static void note(struct checked_folder *check, enum copies_knowledge knowledge)
{
	if (knowledge < check->knowledge)
		check->knowledge = knowledge;
}

static bool has_content(const struct file_record *file)
{
	return S_ISREG(file->attributes.mode) && file->attributes.size > 0;
}

/* Checks a name other than that of a directory in a directory that is open. */
static int check_name(struct checked_folder *check, int dir_fd, const struct entry_record *entry)
{
	const struct lookup *lookup = check->lookup;
	enum copies_knowledge knowledge = COPIES_UNREADABLE;
	CLEANUP_BYTES struct bytes name = {0};
	struct attributes attributes;
	struct group_record group;
	struct file_record file;
	int r = entry->kind == ENTRY_FILE ? catalog_get_file(lookup->reader, entry->child, &file)
					  : 0;

	if (r == 0)
		r = bytes_append(&name, entry->name.bytes, entry->name.length);
	if (r == 0 && !bytes_text(&name))
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (entry->kind == ENTRY_FILE) {
		bool same = source_attributes_at(lookup->catalog, dir_fd, bytes_text(&name),
						 SOURCE_REMOTE, &attributes) == 0 &&
			    attributes_same_signature(&attributes, &file.attributes);

		knowledge = same ? COPIES_KNOWN : COPIES_CHANGED;
	}
	if (knowledge == COPIES_KNOWN && check->judges && has_content(&file))
		r = judge(lookup->reader, &file, &knowledge, &group);
	note(check, knowledge);
	return r;
}

static int check_names(struct checked_folder *check, uint64_t dir, int dir_fd)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct entry_record entry;
	int r = catalog_scan_entries(check->lookup->reader, dir, 0, &scan);

	while (r == 0 && (r = catalog_next_entry(scan, &entry)) == 0) {
		if (entry.kind == ENTRY_DIR)
			r = bytes_append(&check->waiting, &entry.child, sizeof(entry.child));
		else
			r = check_name(check, dir_fd, &entry);
	}
	return r == -ENOENT ? 0 : r;
}

static int check_dir(struct checked_folder *check, uint64_t id)
{
	const struct lookup *lookup = check->lookup;
	struct attributes attributes;
	struct dir_record dir;
	AUTO_CLOSE int fd = -1;
	int r = catalog_get_dir(lookup->reader, id, &dir);

	if (r < 0)
		return r;
	if (dir.error)
		note(check, COPIES_UNREADABLE);
	else if (dir.flags)
		note(check, COPIES_LEFT_OUT);
	fd = source_open_dir(lookup->sources, lookup->reader, id);
	if (fd < 0 || source_attributes(lookup->catalog, fd, &attributes) < 0 ||
	    !attributes_same_signature(&attributes, &dir.attributes))
		note(check, COPIES_CHANGED);
	return check->knowledge == COPIES_CHANGED ? 0 : check_names(check, id, fd);
}

/* Finds what the index knows of a folder, and whether all of it is unchanged on the disk.
 *
 * judges	whether to look for files whose content is unknown, too */
static int check_folder(const struct lookup *lookup, uint64_t dir, bool judges,
			enum copies_knowledge *knowledge)
{
	struct checked_folder check = {
		.lookup = lookup,
		.judges = judges,
		.knowledge = COPIES_KNOWN,
	};
	int r = bytes_append(&check.waiting, &dir, sizeof(dir));

	while (r == 0 && check.waiting.length > 0 && check.knowledge != COPIES_CHANGED) {
		check.waiting.length -= sizeof(dir);
		memcpy(&dir, check.waiting.data + check.waiting.length, sizeof(dir));
		r = check_dir(&check, dir);
	}
	bytes_free(&check.waiting);
	*knowledge = check.knowledge;
	return r == -ENOENT ? -EUCLEAN : r;
}

/* Adds an equal folder, unless it has changed. */
static int add_equal_folder(const struct lookup *lookup, const struct copies *copies,
			    const struct copy *copy)
{
	struct copies_query *query = lookup->query;
	CLEANUP_BYTES struct bytes path = {0};
	enum copies_knowledge knowledge;
	int r = check_folder(lookup, copy->file, false, &knowledge);

	if (r == 0)
		r = source_absolute_path(lookup->sources, copy->source,
					 copy_is_root(copies, copy) ? "" : copy_path(copies, copy),
					 &path);
	if (r < 0)
		return r;
	if (knowledge == COPIES_KNOWN)
		return text_list_add(&query->copies, (const char *)path.data, path.length);
	query->changed++;
	return 0;
}

/* Sets *same to whether two ids are of one directory, which is mounted twice. */
static int are_mounts_of_one(const struct lookup *lookup, uint64_t a, uint64_t b, bool *same)
{
	struct dir_record first, second;
	int r = catalog_get_dir(lookup->reader, a, &first);

	if (r == 0)
		r = catalog_get_dir(lookup->reader, b, &second);
	*same = r == 0 && attributes_same_inode(&first.attributes, &second.attributes);
	return r == -ENOENT ? -EUCLEAN : r;
}

static int add_equal_folders(const struct lookup *lookup, uint64_t id, uint64_t itself)
{
	CLEANUP_COPIES struct copies copies = {0};
	struct folder_group group;
	bool same = false;
	int r = catalog_get_folder_group(lookup->reader, id, &group);

	if (r < 0)
		return r == -ENOENT ? -EUCLEAN : r;
	if (group.bytes == 0)
		return 0; /* folders without content are equal to none */
	r = copies_collect_folders(&copies, lookup->reader, &group);
	for (size_t i = 0; r == 0 && i < copies.count; i++) {
		r = are_mounts_of_one(lookup, copies.list[i].file, itself, &same);
		if (r == 0 && !same)
			r = add_equal_folder(lookup, &copies, &copies.list[i]);
	}
	return r;
}

/* Finds the directory at a path in a source. Returns 0, -ENOENT or -errno. */
static int find_dir(const struct lookup *lookup, uint32_t source, const char *relative,
		    uint64_t *dir)
{
	struct entry_record entry;
	int r;

	*dir = lookup->sources->list[source].root;
	if (relative[0] == '\0')
		return 0;
	r = catalog_find_path(lookup->reader, *dir, relative, &entry);
	if (r < 0)
		return r;
	*dir = entry.child;
	return entry.kind == ENTRY_DIR ? 0 : -ENOENT;
}

/* Queries the index for a folder below a source. */
static int look_up_folder(const struct lookup *lookup, uint32_t source, const char *relative,
			  enum copies_knowledge *knowledge)
{
	struct catalog_totals totals;
	uint64_t dir, group;
	int r = find_dir(lookup, source, relative, &dir);

	*knowledge = COPIES_NOT_INDEXED;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = catalog_get_totals(lookup->reader, &totals);
	if (r == 0)
		r = catalog_find_folder_group(lookup->reader, dir, &group);
	if (r == 0)
		r = check_folder(lookup, dir, group == 0, knowledge);
	if (r == 0 && *knowledge == COPIES_KNOWN && !totals.folders_known)
		*knowledge = COPIES_PENDING;
	if (r < 0 || *knowledge != COPIES_KNOWN || group == 0)
		return r;
	return add_equal_folders(lookup, group, dir);
}

/* ---- the query ---------------------------------------------------------------------------- */

/* Finds why a name in a source is not in the index. */
static int judge_missing(struct catalog_reader *reader, const char *relative,
			 enum copies_knowledge *knowledge)
{
	CLEANUP_SCAN_SETTINGS struct scan_settings settings = {0};
	int r = catalog_get_scan_settings(reader, &settings);

	*knowledge = COPIES_NOT_INDEXED;
	for (size_t at = 0; r == 0 && at < settings.excludes.length;) {
		const char *glob = (const char *)settings.excludes.data + at;

		if (glob_matches_within(glob, relative))
			*knowledge = COPIES_EXCLUDED;
		at += strlen(glob) + 1;
	}
	return r;
}

/* Queries the index for a file below a source. */
static int look_up_file(const struct lookup *lookup, uint32_t source, const char *relative,
			enum copies_knowledge *knowledge)
{
	struct group_record group;
	struct file_record file;
	int r;

	r = find_file(lookup->reader, lookup->sources->list[source].root, relative, &file);
	if (r == -ENOENT)
		return judge_missing(lookup->reader, relative, knowledge);
	if (r < 0)
		return r;
	if (!is_current(lookup, source, relative, &file)) {
		*knowledge = COPIES_CHANGED;
		return 0;
	}
	r = judge(lookup->reader, &file, knowledge, &group);
	if (r < 0 || *knowledge != COPIES_KNOWN || !group_is_visible(&group))
		return r;
	if (lookup->mount_point)
		return add_folder(lookup, &group);
	return add_copies(lookup, &group, file.id);
}

/* Queries one index and adds its results to the query. If mount_point is NULL, adds the copies. If
 * not, adds the folder that shows the file and its copies in the view mounted there; not for
 * folders. Linear in the names of the folder and of those that are equal to it. Returns 0 or
 * -errno. */
static int copies_query_index(struct copies_query *query, struct catalog *catalog,
			      const struct sources *sources, const char *mount_point)
{
	CLEANUP_READER struct catalog_reader *reader = NULL;
	struct lookup lookup = {.query = query,
				.catalog = catalog,
				.sources = sources,
				.mount_point = mount_point};
	int r;

	r = catalog_read_begin(catalog, &reader);
	if (r < 0)
		return r;
	lookup.reader = reader;
	for (uint32_t i = 0; i < sources->count; i++) {
		const char *relative = path_below(query->path, sources->list[i].path);
		enum copies_knowledge knowledge = COPIES_NOT_COVERED;

		if (!relative)
			continue;
		r = query->is_folder ? look_up_folder(&lookup, i, relative, &knowledge)
				     : look_up_file(&lookup, i, relative, &knowledge);
		if (r < 0)
			return r;
		if (knowledge > query->knowledge)
			query->knowledge = knowledge;
	}
	return 0;
}

/* ---- cmd copies ----------------------------------------------------------------------------- */

struct copies_settings {
	struct path_settings path;
	bool folders; /* print folders of mounted views, not the copies */
};

static const struct option_spec copies_options[] = {
	{
		.name = "folder",
		.help = "print the folder of the mounted view that shows the file and its copies, "
			"instead of the copies",
		.at = offsetof(struct copies_settings, folders),
	},
	{0},
};

/* Makes the path of a regular file or folder absolute and resolves its symlinks. Returns 0,
 * -EMEDIUMTYPE if it is neither, or another -errno. */
static int resolve(const char *path, struct copies_query *query)
{
	AUTO_FREE char *found = realpath(path, NULL);
	struct stat status;

	if (!found || stat(found, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		return -EMEDIUMTYPE;
	query->is_folder = S_ISDIR(status.st_mode);
	query->path = TAKE(found);
	return 0;
}

/* Finds the path of an operand in the sources. Returns 0 or -errno, logged. */
static int find_path(struct copies_query *query, const char *given)
{
	CLEANUP_BYTES struct bytes source_path = {0};
	AUTO_FREE char *point = NULL;
	const char *path = given;
	int r;

	r = mount_point_of(given, &point);
	if (r == 0 && point) {
		r = path_in_source(given, &source_path);
		path = bytes_text(&source_path);
	}
	if (r == 0 && !path)
		r = -ENOMEM;
	if (r == 0)
		r = resolve(path, query);
	if (r == -EMEDIUMTYPE) {
		log_error("%s is no regular file or folder; only these have copies",
			  quote_path(given));
		return r;
	}
	if (r == -ENODATA)
		log_error("%s is generated by the view: it is in no source", quote_path(given));
	else if (r < 0)
		log_error("cannot find %s: %s", quote_path(given), error_text(r));
	return r;
}

/* The queries of a command line. */
struct request {
	struct copies_query *queries;
	size_t count;
	bool folders;
};

/* Finds the mount point of the view of an index. Sets *mount_point to NULL if no view is
 * mounted. */
static int find_view(const char *folder, char **mount_point)
{
	AUTO_FREE char *found = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &found);

	if (r == 0 && found[0] != '\0')
		*mount_point = TAKE(found);
	return r;
}

/* Runs all queries on the index in a folder. If the folder has no index and must_exist is false,
 * the index is skipped. Returns 0 or -errno, logged.
 */
static int query_index(const char *folder, const struct request *request, bool must_exist)
{
	AUTO_FREE char *mount_point = NULL;
	struct sources sources = {0};
	struct catalog *catalog = NULL;
	int r;

	if (request->folders) {
		r = find_view(folder, &mount_point);
		if (r == 0 && !mount_point)
			return 0; /* no view shows it */
	}
	r = index_open_read_only(folder, &catalog);
	if (r == CATALOG_NO_INDEX && !must_exist)
		return 0;
	if (r != 0) {
		index_explain(folder, r);
		return r < 0 ? r : -EIO;
	}
	r = sources_open(&sources, catalog, NULL, false);
	for (size_t i = 0; r == 0 && i < request->count; i++) {
		if (request->queries[i].path)
			r = copies_query_index(&request->queries[i], catalog, &sources,
					       mount_point);
	}
	if (r < 0)
		log_error("cannot read the index %s: %s", quote_path(folder), error_text(r));
	sources_close(&sources);
	catalog_close(catalog);
	return r;
}

/* Queries all indexes. If an index cannot be read, logs this and continues with the next index. */
static int query_indexes(const struct index_settings *settings, const struct request *request)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	AUTO_FREE char *given = NULL;
	int r, failed = 0;

	if (settings->folder) {
		r = index_folder_given(settings->folder, &given);
		return r < 0 ? r : query_index(given, request, true);
	}
	r = known_indexes_list(&folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		if (query_index(folders.items[i], request, false) < 0)
			failed = -EIO;
	}
	return r < 0 ? r : failed;
}

/* Prints the copies, sorted. Several indexes can have the same copy: it is printed once. */
static void print_copies(struct output *output, const struct path_settings *settings,
			 struct text_list *copies)
{
	if (copies->count > 1)
		qsort(copies->items, copies->count, sizeof(*copies->items), texts_by_bytes);
	for (size_t i = 0; i < copies->count; i++) {
		if (i > 0 && strcmp(copies->items[i], copies->items[i - 1]) == 0)
			continue;
		path_print(output, settings->ending, copies->items[i], strlen(copies->items[i]));
	}
}

/* Returns whether what is known is that of a name in the folder, as any name can be the cause. */
static bool is_of_name(const struct copies_query *query)
{
	return query->is_folder &&
	       (query->knowledge == COPIES_CHANGED || query->knowledge == COPIES_UNREADABLE ||
		query->knowledge == COPIES_PENDING || query->knowledge == COPIES_TOO_SMALL);
}

/* Logs what the indexes do not know of a file or folder. Returns the exit status for the file. */
static enum twinfs_exit explain(const struct copies_query *query, bool folders)
{
	static const char *const reasons[] = {
		[COPIES_NOT_COVERED] =
			"is in no index; run 'twinfs scan' on a directory that contains it",
		[COPIES_NOT_INDEXED] =
			"is not in the index: it is new or was left out; run 'twinfs scan' again",
		[COPIES_EXCLUDED] =
			"is not in the index: an --exclude of the last scan matches it; run "
			"'twinfs scan' without that --exclude",
		[COPIES_CHANGED] = "has changed since the last scan; run 'twinfs scan' again",
		[COPIES_UNREADABLE] =
			"was unreadable at the last scan; make it readable and scan again",
		[COPIES_LEFT_OUT] =
			"has names that the index leaves out; run 'twinfs scan' with all names",
		[COPIES_TOO_SMALL] =
			"is smaller than --min-size of the last scan, so it was not compared; run "
			"'twinfs scan' with a smaller --min-size",
		[COPIES_PENDING] =
			"is not compared yet; wait for the view, or run 'twinfs scan' again",
	};

	if (!query->path)
		return TWINFS_EXIT_FAILED;
	if (folders && query->knowledge == COPIES_NOT_COVERED) {
		log_error("%s is in no source of a mounted view; run 'twinfs mount' on a directory "
			  "that contains it",
			  quote_path(query->given));
		return TWINFS_EXIT_FAILED;
	}
	if (query->knowledge != COPIES_KNOWN) {
		log_error("%s%s %s", is_of_name(query) ? "a name in " : "",
			  quote_path(query->given), reasons[query->knowledge]);
		return query->knowledge == COPIES_NOT_COVERED ? TWINFS_EXIT_FAILED
							      : TWINFS_EXIT_INCOMPLETE;
	}
	if (query->changed == 0)
		return TWINFS_EXIT_COMPLETE;
	log_warning("%" PRIu64 " %s of %s changed or missing since the last scan; skipped",
		    query->changed, plural(query->changed, "copy is", "copies are"),
		    quote_path(query->given));
	return TWINFS_EXIT_INCOMPLETE;
}

/* Prints the results. Returns TWINFS_EXIT_FAILED if each query failed, TWINFS_EXIT_INCOMPLETE if a
 * query failed or its result is incomplete. */
static enum twinfs_exit print_results(const struct path_settings *settings,
				      const struct request *request)
{
	CLEANUP_OUTPUT struct output output;
	size_t failed = 0;
	size_t incomplete = 0;
	int r;

	output_init(&output, STDOUT_FILENO);
	for (size_t i = 0; i < request->count; i++) {
		enum twinfs_exit status = explain(&request->queries[i], request->folders);

		failed += status == TWINFS_EXIT_FAILED;
		incomplete += status == TWINFS_EXIT_INCOMPLETE;
		print_copies(&output, settings, &request->queries[i].copies);
	}
	r = output_flush(&output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the copies: %s", error_text(r));
	if (r < 0 || failed == request->count)
		return TWINFS_EXIT_FAILED;
	return failed + incomplete > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

/* Refuses a folder if folders of views are printed. Returns 0 or -EISDIR, logged. */
static int check_kind(struct copies_query *query, bool folders)
{
	if (!folders || !query->is_folder)
		return 0;
	log_error("%s is a folder, and --folder is for files; omit the option",
		  quote_path(query->given));
	free(query->path);
	query->path = NULL;
	return -EISDIR;
}

static enum twinfs_exit run(void *context, char **files, size_t count)
{
	const struct copies_settings *settings = context;
	struct copies_query *queries = calloc(count + 1, sizeof(*queries));
	const struct request request = {queries, count, settings->folders};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;
	size_t found = 0;

	if (!queries)
		return status;
	for (size_t i = 0; i < count; i++) {
		queries[i].given = files[i];
		found += find_path(&queries[i], files[i]) == 0 &&
			 check_kind(&queries[i], settings->folders) == 0;
	}
	if (found > 0) {
		int r = query_indexes(&settings->path.common.index, &request);

		/* the failure of an index given with --index is logged already */
		if (r == 0 || !settings->path.common.index.folder)
			status = print_results(&settings->path, &request);
		if (r < 0 && status == TWINFS_EXIT_COMPLETE)
			status = TWINFS_EXIT_INCOMPLETE;
	}
	for (size_t i = 0; i < count; i++)
		copies_query_deinit(&queries[i]);
	free(queries);
	return status;
}

const struct command copies_command = {
	.options = {.command = "twinfs copies",
		    .usage = {"FILE|FOLDER..."},
		    .summary = "Prints the verified copies of the files, and the folders that are "
			       "equal to the folders, from the indexes that include them. Nothing "
			       "is scanned. A FILE or FOLDER can also be in a view.",
		    .options = {path_options, copies_options, one_index_option, version_option}},
	.settings_bytes = sizeof(struct copies_settings),
	.lacks_operand = "no FILE or FOLDER given",
	.run = run,
};
