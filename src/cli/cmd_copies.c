/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/words.h"
#include "catalog/catalog.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/copies_index.h"
#include "cli/path_options.h"
#include "cli/paths.h"
#include "index/index_folder.h"
#include "index/index_open.h"
#include "index/indexing.h"
#include "index/status_file.h"
#include "mountpoint/point.h"
#include "source/source.h"

struct copies_settings {
	struct path_settings path;
	bool folders; /* in mounted views, rather than the copies */
};

enum {
	OPT_FOLDER = OPTION_ID_OWN + 1, /* after path_options */
};

static const struct option_spec copies_options[] = {
	{
		.name = "folder",
		.help = "print the folder of a mounted view that has the file and its copies, "
			"instead of these",
		.id = OPT_FOLDER,
	},
	{0},
};

static int copies_apply(void *context, int id, const char *value)
{
	struct copies_settings *settings = context;

	if (id != OPT_FOLDER)
		return path_apply(&settings->path, id, value);
	settings->folders = true;
	return 0;
}

static const struct option_table copies_table = {
	.command = "twinfs copies",
	.usage = {"FILE..."},
	.summary = "Prints the verified copies of the files, from the indexes that know them; "
		   "nothing is scanned. A FILE may be in a view, too.",
	.options = {path_options, copies_options, one_index_option, version_option},
	.apply = copies_apply,
};

/* Makes the path of a regular file absolute and free of symlinks. -EMEDIUMTYPE: it is none. */
static int resolve(const char *path, char **absolute)
{
	AUTO_FREE char *found = realpath(path, NULL);
	struct stat status;

	if (!found || stat(found, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EMEDIUMTYPE;
	*absolute = TAKE(found);
	return 0;
}

/* Finds the file that the user means. -errno, said. */
static int find_path(struct copies_question *question, const char *given)
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
		r = resolve(path, &question->path);
	if (r == -EMEDIUMTYPE) {
		log_error("%s is no regular file; only those have copies", quote_path(given));
		return r;
	}
	if (r == -ENODATA)
		log_error("%s is made by the view itself and in no source", quote_path(given));
	else if (r < 0)
		log_error("cannot find %s: %s", quote_path(given), error_text(r));
	return r;
}

/* What is asked, and of which indexes. */
struct asked {
	struct copies_question *questions;
	size_t count;
	bool folders;
};

/* Finds where the view of an index is mounted; NULL: there is none. */
static int find_view(const char *folder, char **mount_point)
{
	AUTO_FREE char *found = NULL;
	pid_t pid = 0;
	int r = catalog_owner(folder, &pid, &found);

	if (r == 0 && found[0] != '\0')
		*mount_point = TAKE(found);
	return r;
}

/* Asks the index in a folder all questions. One that is not there knows nothing; 0 or -errno. */
static int ask_index(const char *folder, const struct asked *asked, bool must_be_there)
{
	AUTO_FREE char *mount_point = NULL;
	struct sources sources = {0};
	struct catalog *catalog = NULL;
	int r;

	if (asked->folders) {
		r = find_view(folder, &mount_point);
		if (r == 0 && !mount_point)
			return 0; /* no view has it */
	}
	r = index_open_read_only(folder, &catalog);
	if (r == CATALOG_NO_INDEX && !must_be_there)
		return 0;
	if (r != 0) {
		index_explain(folder, r);
		return r < 0 ? r : -EIO;
	}
	r = sources_open(&sources, catalog, NULL, false);
	for (size_t i = 0; r == 0 && i < asked->count; i++) {
		if (asked->questions[i].path)
			r = copies_ask(&asked->questions[i], catalog, &sources, mount_point);
	}
	if (r < 0)
		log_error("cannot read the index %s: %s", quote_path(folder), error_text(r));
	sources_close(&sources);
	catalog_close(catalog);
	return r;
}

/* Adds the index of the view mounted there, unless it is in the list. A view that does not answer,
 * or is another user's, cannot be asked.
 */
static int add_view_index(const char *mount_point, struct text_list *folders)
{
	CLEANUP_BYTES struct bytes folder = {0};

	if (status_file_index(mount_point, &folder) < 0)
		return 0;
	for (size_t i = 0; i < folders->count; i++) {
		if (strcmp(folders->items[i], bytes_text(&folder)) == 0)
			return 0;
	}
	return text_list_add(folders, (const char *)folder.data, folder.length);
}

/* Finds the indexes in their usual place, and those of the views that are mounted. */
static int find_indexes(struct text_list *folders)
{
	char **views = NULL;
	int r;

	r = index_folders_list(folders);
	if (r == 0)
		r = mount_points_list(&views);
	for (size_t i = 0; r == 0 && views[i]; i++)
		r = add_view_index(views[i], folders);
	mount_points_free(views);
	return r;
}

/* Asks all indexes that may know; a broken one is said, and the others still asked. */
static int ask_indexes(const struct index_settings *settings, const struct asked *asked)
{
	CLEANUP_TEXT_LIST struct text_list folders = {0};
	AUTO_FREE char *given = NULL;
	int r, failed = 0;

	if (settings->folder) {
		r = index_folder_given(settings->folder, &given);
		return r < 0 ? r : ask_index(given, asked, true);
	}
	r = find_indexes(&folders);
	for (size_t i = 0; r == 0 && i < folders.count; i++) {
		if (ask_index(folders.items[i], asked, false) < 0)
			failed = -EIO;
	}
	return r < 0 ? r : failed;
}

static int compare_paths(const void *left, const void *right)
{
	const char *const *a = left;
	const char *const *b = right;

	return strcmp(*a, *b);
}

/* Several indexes may know the same copy. */
static void print_copies(struct output *output, const struct path_settings *settings,
			 struct text_list *copies)
{
	if (copies->count > 1)
		qsort(copies->items, copies->count, sizeof(*copies->items), compare_paths);
	for (size_t i = 0; i < copies->count; i++) {
		if (i > 0 && strcmp(copies->items[i], copies->items[i - 1]) == 0)
			continue;
		path_print(output, settings->ending, copies->items[i], strlen(copies->items[i]));
	}
}

/* Says what is not known of a file. */
static enum twinfs_exit explain(const struct copies_question *question, bool folders)
{
	static const char *const reasons[] = {
		[COPIES_NOT_COVERED] = "is in no index; 'twinfs scan' a folder that it is in",
		[COPIES_NOT_INDEXED] = "is not in the index, it is new or was left out; 'twinfs "
				       "scan' again",
		[COPIES_CHANGED] = "has changed since it was scanned; 'twinfs scan' again",
		[COPIES_UNREADABLE] = "could not be read by the last scan; make it readable and "
				      "'twinfs scan' again",
		[COPIES_PENDING] = "is not compared yet; wait for the view, or 'twinfs scan' again",
	};

	if (!question->path)
		return TWINFS_EXIT_FAILED;
	if (folders && question->answer == COPIES_NOT_COVERED) {
		log_error("%s is in no source of a mounted view; 'twinfs mount' one of a folder "
			  "that it is in",
			  quote_path(question->given));
		return TWINFS_EXIT_FAILED;
	}
	if (question->answer != COPIES_KNOWN) {
		log_error("%s %s", quote_path(question->given), reasons[question->answer]);
		return question->answer == COPIES_NOT_COVERED ? TWINFS_EXIT_FAILED
							      : TWINFS_EXIT_INCOMPLETE;
	}
	if (question->changed == 0)
		return TWINFS_EXIT_COMPLETE;
	log_warning("%" PRIu64 " %s of %s changed or gone since the last scan, left out",
		    question->changed, plural(question->changed, "copy is", "copies are"),
		    quote_path(question->given));
	return TWINFS_EXIT_INCOMPLETE;
}

/* Prints the answers. Failed where none is of use, incomplete where only some are. */
static enum twinfs_exit print_answers(const struct path_settings *settings,
				      const struct asked *asked)
{
	CLEANUP_OUTPUT struct output output;
	size_t failed = 0;
	size_t incomplete = 0;
	int r;

	output_init(&output, STDOUT_FILENO);
	for (size_t i = 0; i < asked->count; i++) {
		enum twinfs_exit status = explain(&asked->questions[i], asked->folders);

		failed += status == TWINFS_EXIT_FAILED;
		incomplete += status == TWINFS_EXIT_INCOMPLETE;
		print_copies(&output, settings, &asked->questions[i].copies);
	}
	r = output_flush(&output);
	if (r < 0 && r != -EPIPE)
		log_error("cannot write the copies: %s", error_text(r));
	if (r < 0 || failed == asked->count)
		return TWINFS_EXIT_FAILED;
	return failed + incomplete > 0 ? TWINFS_EXIT_INCOMPLETE : TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit answer(const struct copies_settings *settings, char *const *files,
			       size_t count)
{
	struct copies_question *questions = calloc(count, sizeof(*questions));
	const struct asked asked = {questions, count, settings->folders};
	enum twinfs_exit status = TWINFS_EXIT_FAILED;
	size_t found = 0;

	if (!questions)
		return status;
	for (size_t i = 0; i < count; i++) {
		questions[i].given = files[i];
		found += find_path(&questions[i], files[i]) == 0;
	}
	if (found > 0) {
		int r = ask_indexes(&settings->path.common.index, &asked);

		/* of an index that was named and cannot be read, all is said */
		if (r == 0 || !settings->path.common.index.folder)
			status = print_answers(&settings->path, &asked);
		if (r < 0 && status == TWINFS_EXIT_COMPLETE)
			status = TWINFS_EXIT_INCOMPLETE;
	}
	for (size_t i = 0; i < count; i++)
		copies_question_deinit(&questions[i]);
	free(questions);
	return status;
}

enum twinfs_exit cmd_copies(int argc, char *argv[])
{
	struct copies_settings settings = {.path.ending = PATH_LINES};
	int operands;
	int r;

	common_settings_init(&settings.path.common);
	r = options_parse(&copies_table, argc, argv, &settings, &operands);
	if (r != 0)
		return options_exit(r);
	if (operands == argc) {
		options_complain(&copies_table, "no FILE given");
		return TWINFS_EXIT_USAGE;
	}
	return answer(&settings, argv + operands, (size_t)(argc - operands));
}
