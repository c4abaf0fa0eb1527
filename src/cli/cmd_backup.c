/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "backup/backup_check.h"
#include "backup/content_hash.h"
#include "backup/manifest.h"
#include "backup/manifest_names.h"
#include "backup/restore.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "base/output.h"
#include "base/stop.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/counted.h"
#include "cli/current_index.h"
#include "index/query.h"
#include "scan/source_check.h"

/* ---- manifest -------------------------------------------------------------------------------- */

struct manifest_settings {
	struct common_settings common;
	bool all;
	const char *output; /* NULL: stdout */
	const char *compare; /* NULL: make a manifest */
};

/* A manifest that is made or compared. */
struct manifest_making {
	const struct manifest_settings *settings;
	enum manifest_format format;
	struct known_hashes known;
	int before; /* the manifest to compare with */
	bool replaces; /* the output is a manifest */
	bool lacks_names;
	struct text_list unread; /* directories that could not be listed */
};

static const struct option_spec manifest_options[] = {
	{.heading = "Manifest"},
	{
		.name = "all",
		.help = "list every name of the sources with the hash of its content, so that "
			"'twinfs restore --check' can prove a backup; files without a known hash "
			"are read",
		.at = offsetof(struct manifest_settings, all),
	},
	{
		.name = "output",
		.letter = 'o',
		.argument = "FILE",
		.help = "replace FILE by the manifest when it is complete; with --all, hashes that "
			"FILE has are not read again",
		.at = offsetof(struct manifest_settings, output),
		.expects = "a file name",
	},
	{
		.name = "compare",
		.argument = "FILE",
		.help = "make no manifest: print the names of the manifest FILE that are affected "
			"by changes since it was made",
		.at = offsetof(struct manifest_settings, compare),
		.expects = "a file name",
	},
	{0},
};

/* ---- printing ---------------------------------------------------------------------------- */

static int write_line(void *context, const void *data, size_t length)
{
	struct output *output = context;

	output_json(output, data, length);
	return output->error;
}

static void explain_figures(const struct manifest_figures *figures)
{
	if (figures->left_out > 0)
		log_warning("the manifest is incomplete: %" PRIu64
			    " %s missing; copy uniques/ and make the manifest again",
			    figures->left_out, plural(figures->left_out, "name is", "names are"));
	if (figures->unproved > 0)
		log_warning("the manifest has no hash of %" PRIu64
			    " %s; a backup is checked without their content",
			    figures->unproved, plural(figures->unproved, "file", "files"));
}

/* Prints the manifest. Files that are not compared yet are in uniques/, so the manifest is complete
 * without them.
 */
static int print_manifest(void *context, const struct current_index *index,
			  struct catalog_reader *reader, struct output *output,
			  enum twinfs_exit *status)
{
	struct manifest_making *making = context;
	const struct manifest_task task = {
		.index = {reader, index->sources, &making->known, &making->unread},
		.format = making->format,
		.write = write_line,
		.context = output,
	};
	struct manifest_figures figures = {0};
	struct catalog_totals totals = {0};
	int r;

	r = current_index_check_options(index, reader);
	if (r == 0)
		r = catalog_get_totals(reader, &totals);
	if (r == 0)
		r = manifest_write(&task, &figures);
	if (r < 0)
		return r;
	*status = completeness_status(totals.errors, 0);
	explain_figures(&figures);
	if (figures.left_out > 0 || figures.unproved > 0)
		*status = TWINFS_EXIT_INCOMPLETE;
	making->lacks_names = figures.left_out > 0 || current_index_is_incomplete(index);
	return 0;
}

static int print_difference(void *context, const struct bytes *name,
			    enum manifest_difference difference)
{
	static const char *const words[] = {
		[MANIFEST_GONE] = "gone",         [MANIFEST_NEW] = "new",
		[MANIFEST_CONTENT] = "content",   [MANIFEST_PLACE] = "place",
		[MANIFEST_METADATA] = "metadata",
	};
	CLEANUP_BYTES struct bytes text = {0};
	struct output *output = context;
	int r = shell_name_append(&text, (const char *)name->data, name->length);

	output_format(output, "%-8s  ", words[difference]);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	return r < 0 ? r : output->error;
}

static int print_comparison(void *context, const struct current_index *index,
			    struct catalog_reader *reader, struct output *output,
			    enum twinfs_exit *status)
{
	struct manifest_making *making = context;
	const struct manifest_comparison comparison = {
		.index = {reader, index->sources, &making->known, NULL},
		.fd = making->before,
		.path = making->settings->compare,
		.found = print_difference,
		.context = output,
	};
	struct manifest_compared result = {0};
	uint64_t affected;
	int r = current_index_check_options(index, reader);

	if (r == 0)
		r = manifest_compare(&comparison, &result);
	if (r < 0)
		return r;
	if (result.unread > 0)
		log_warning("the manifest lacks what is in %" PRIu64
			    " %s, which could not be read when it was made",
			    result.unread, plural(result.unread, "folder", "folders"));
	affected = result.affected;
	if (affected == 0)
		return 0;
	log_warning("%" PRIu64 " %s affected; copy uniques/ and make the manifest again", affected,
		    plural(affected, "name of the manifest is", "names of the manifest are"));
	*status = TWINFS_EXIT_INCOMPLETE;
	return 0;
}

/* ---- the command ------------------------------------------------------------------------- */

/* Reads the files whose hash is not known, for a manifest of all names. */
static int read_hashes(struct manifest_making *making, const struct current_index *index)
{
	const struct hashing hashing = {
		.sources = index->sources,
		.known = &making->known,
		.progress = making->settings->common.index.progress,
	};
	int r = making->format == MANIFEST_ALL ? content_hash_read_all(&hashing) : 0;

	if (r < 0 && r != -EINTR)
		log_error("cannot read the contents of the sources: %s", error_text(r));
	return r;
}

/* Prints the manifest, or the comparison with it. */
static enum twinfs_exit print_to(struct manifest_making *making, struct current_index *index,
				 int fd)
{
	bool compares = making->settings->compare;
	const struct index_printer printer = {
		.noun = compares ? "comparison" : "manifest",
		.print = compares ? print_comparison : print_manifest,
		.context = making,
		.whole = true,
	};

	if (read_hashes(making, index) < 0)
		return TWINFS_EXIT_FAILED;
	return index_print_to(&printer, index, fd);
}

static enum twinfs_exit explain_output(const char *path, int error)
{
	if (error == -EINVAL)
		log_error("cannot write %s: it is no regular file", quote_path(path));
	else
		log_error("cannot write %s: %s", quote_path(path), error_text(error));
	return TWINFS_EXIT_FAILED;
}

/* Outcome: the file has names that the new manifest lacks. */
enum {
	OUTPUT_KEPT = 1,
};

/* Finds out whether the file must stay, and logs why. A folder that cannot be read for the moment,
 * as on a disk that fails, must not take its names from a manifest that has them: the next copy of
 * uniques/ would remove their content from the backup. Returns 0, OUTPUT_KEPT or -errno (logged).
 */
static int keep_replaced(const struct manifest_making *making, const char *path)
{
	AUTO_CLOSE int fd = -1;
	const char *folder = NULL;
	int r = 0;

	if (making->lacks_names) {
		log_warning("%s is not replaced, because the new manifest is incomplete",
			    quote_path(path));
		return OUTPUT_KEPT;
	}
	if (making->unread.count == 0 || !making->replaces)
		return 0;
	fd = manifest_open(path);
	r = fd < 0 ? fd : manifest_find_below(fd, path, &making->unread, &folder);
	if (r < 0)
		return r == -EPROTO ? 0 : r;
	if (!folder)
		return 0;
	log_warning("%s is not replaced, because it has names in %s, which cannot be read now; "
		    "make it readable, or leave it out with --exclude",
		    quote_path(path), *folder ? quote_path(folder) : "the source");
	return OUTPUT_KEPT;
}

/* Replaces a file by the manifest. If names are missing, the file stays as it is. */
static enum twinfs_exit make_file(struct manifest_making *making, struct current_index *index)
{
	const char *path = making->settings->output;
	CLEANUP_REPLACED_FILE struct replaced_file file;
	enum twinfs_exit status;
	int r = replaced_file_begin(&file, path);

	if (r < 0)
		return explain_output(path, r);
	status = print_to(making, index, file.fd);
	if (status == TWINFS_EXIT_FAILED)
		return status;
	r = keep_replaced(making, path);
	if (r < 0)
		return TWINFS_EXIT_FAILED;
	if (r == OUTPUT_KEPT)
		return TWINFS_EXIT_INCOMPLETE;
	r = replaced_file_commit(&file);
	return r < 0 ? explain_output(path, r) : status;
}

/* Checks that the output replaces no file but a manifest, and gets the hashes that it has. */
static int use_replaced(struct manifest_making *making)
{
	const char *path = making->settings->output;
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum manifest_format format;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd >= 0 && lseek(fd, 0, SEEK_END) == 0)
		return 0;
	if (fd >= 0)
		cleanup_close(&fd);
	fd = manifest_open(path);
	r = fd < 0 ? fd : manifest_check_header(fd, path);
	if (r < 0)
		return r;
	if (making->format == MANIFEST_ALL)
		r = known_hashes_load(&making->known, fd, path, &format);
	making->replaces = r == 0;
	if (r == -EPROTO)
		log_info("all files whose hash is not known are read again");
	return r == -EPROTO ? 0 : r;
}

static int prepare(struct manifest_making *making)
{
	const struct manifest_settings *settings = making->settings;

	if (settings->compare) {
		making->before = manifest_open(settings->compare);
		return making->before < 0 ? making->before
					  : known_hashes_load(&making->known, making->before,
							      settings->compare, &making->format);
	}
	making->format = settings->all ? MANIFEST_ALL : MANIFEST_REDUNDANT;
	return settings->output ? use_replaced(making) : 0;
}

static enum twinfs_exit make(struct manifest_making *making, char *const *operands, size_t count)
{
	const struct manifest_settings *settings = making->settings;
	CLEANUP_CURRENT_INDEX struct current_index index = {0};

	if (prepare(making) < 0 ||
	    current_index_open(&index, &settings->common.index, operands, count, INDEX_EXACT) < 0)
		return TWINFS_EXIT_FAILED;
	return settings->output ? make_file(making, &index)
				: print_to(making, &index, STDOUT_FILENO);
}

static enum twinfs_exit run_manifest(void *settings, char **operands, size_t count)
{
	struct manifest_making making = {.settings = settings, .before = -1};
	enum twinfs_exit status = make(&making, operands, count);

	known_hashes_free(&making.known);
	text_list_free(&making.unread);
	cleanup_close(&making.before);
	return status;
}

static const char *find_manifest_fault(const void *context, char *const *operands, size_t count)
{
	const struct manifest_settings *settings = context;

	(void)operands;
	(void)count;
	return settings->compare && (settings->all || settings->output)
		       ? "give --compare without --all and --output"
		       : NULL;
}

const struct command manifest_command = {
	.options = {.command = "twinfs manifest",
		    .usage = {"SOURCE...", "MOUNTPOINT"},
		    .summary = "Prints the manifest that 'twinfs restore' needs, besides a copy of "
			       "uniques/, to rebuild the whole tree: each name that uniques/ "
			       "leaves out, the file that has its content, and its metadata. The "
			       "index is brought up to date first; the index of a mounted view is "
			       "brought up to date by that view.",
		    .options = {manifest_options, scan_options, walk_options, index_option,
				message_options}},
	.settings_bytes = sizeof(struct manifest_settings),
	.lacks_operand = "no SOURCE and no MOUNTPOINT given",
	.find_fault = find_manifest_fault,
	.run = run_manifest,
};

/* ---- restore --------------------------------------------------------------------------------- */

#define OPERANDS 3
#define CHECK_OPERANDS 2

struct restore_command_settings {
	struct common_settings common;
	struct restore_settings restore;
	struct restore_only only;
	bool check;
	bool is_conflicting; /* --link and --reflink were given */
};

static int set_way(struct restore_command_settings *settings, enum restore_way way)
{
	settings->is_conflicting |=
		settings->restore.way != RESTORE_COPY && settings->restore.way != way;
	settings->restore.way = way;
	return 0;
}

static int set_link(void *settings, const char *value)
{
	(void)value;
	return set_way(settings, RESTORE_LINK);
}

static int set_reflink(void *settings, const char *value)
{
	(void)value;
	return set_way(settings, RESTORE_REFLINK);
}

static int add_only(void *member, const char *value)
{
	return restore_only_add(member, value);
}

static const struct option_spec restore_options[] = {
	{.heading = "Choice of names"},
	{
		.name = "only",
		.argument = "PATH",
		.help = "restore only this file or folder, with the folders above it; PATH is "
			"relative, as in MANIFEST; can be given more than once",
		.at = offsetof(struct restore_command_settings, only),
		.set = add_only,
		.expects = "a relative path",
	},
	{
		.name = "check",
		.help = "restore nothing: read BACKUP, and print what is missing, damaged or "
			"surplus in it according to MANIFEST, which 'twinfs manifest --all' made",
		.at = offsetof(struct restore_command_settings, check),
	},
	{.heading = "Creating files"},
	{
		.name = "link",
		.help = "make hard links to the files in BACKUP, so that no byte is copied; a "
			"write to a file in TARGET then also changes BACKUP",
		.set = set_link,
	},
	{
		.name = "reflink",
		.help = "make files that share blocks with the files in BACKUP, if the file system "
			"supports it",
		.set = set_reflink,
	},
	{0},
};

static void explain_refused(const struct metadata_refused *refused)
{
	if (refused->owners > 0)
		log_warning(
			"%s the owner, group or set-ID bits of the source; only root can set these",
			counted(refused->owners, "name lacks", "names lack").text);
	if (refused->xattrs > 0)
		log_warning("%s extended %s not set: this user may not set them, or the file "
			    "system does not support their kind or size",
			    number_text(refused->xattrs).text,
			    plural(refused->xattrs, "attribute was", "attributes were"));
}

static void explain_times_and_flags(const struct restore_result *result)
{
	if (result->refused.times > 0)
		log_warning("%s another time than in the backup",
			    counted(result->refused.times, "name has", "names have").text);
	if (result->flags > 0)
		log_warning("%s attributes of chattr",
			    counted(result->flags, "name lacks", "names lack").text);
}

static void explain_split(uint64_t split)
{
	if (split > 0)
		log_warning("%s in the backup, because the file system of the target refuses such "
			    "links",
			    counted(split, "name is not the hard link that it is",
				    "names are not the hard links that they are")
				    .text);
}

static enum twinfs_exit report(const struct restore_settings *settings,
			       const struct restore_result *result)
{
	log_info("restored %s of the backup and %s of the manifest, %s copied, in %s",
		 counted(result->files, "name", "names").text,
		 counted(result->copies, "name", "names").text, size_text(result->bytes).text,
		 quote_path(settings->target));
	explain_refused(&result->refused);
	explain_times_and_flags(result);
	explain_split(result->split);
	if (result->failed > 0)
		log_warning("%" PRIu64
			    " %s not restored; correct the errors above and run the same "
			    "command again, or remove %s in the target",
			    result->failed,
			    plural(result->failed, "name or directory is",
				   "names or directories are"),
			    result->folder);
	return result->failed + result->split + result->refused.owners + result->refused.xattrs +
				       result->refused.times + result->flags >
			       0
		       ? TWINFS_EXIT_INCOMPLETE
		       : TWINFS_EXIT_COMPLETE;
}

/* ---- checking ---------------------------------------------------------------------------- */

static int print_fault(void *context, const struct bytes *path, enum backup_fault fault, int error)
{
	static const char *const words[] = {
		[BACKUP_MISSING] = "missing",       [BACKUP_DAMAGED] = "damaged",
		[BACKUP_UNREADABLE] = "unreadable", [BACKUP_SURPLUS] = "surplus",
		[BACKUP_UNPROVED] = "unproved",     [BACKUP_UNLISTED] = "unlisted",
	};
	CLEANUP_BYTES struct bytes text = {0};
	struct output *output = context;
	int r = shell_name_append(&text, (const char *)path->data, path->length);

	output_format(output, "%-10s  ", words[fault]);
	output_bytes(output, text.data, text.length);
	output_text(output, "\n");
	if (fault == BACKUP_UNREADABLE)
		log_warning("cannot read %s in the backup: %s",
			    quote_bytes((const char *)path->data, path->length), error_text(error));
	return r < 0 ? r : output->error;
}

static bool explain_metadata(const struct backup_metadata *metadata)
{
	if (metadata->first.length == 0)
		return false;
	log_warning("names in the backup differ from the manifest in mode (%" PRIu64
		    "), owner or group (%" PRIu64 "), time (%" PRIu64 "), hard links (%" PRIu64
		    ") and extended attributes (%" PRIu64 "); the first one is %s",
		    metadata->modes, metadata->owners, metadata->times, metadata->links,
		    metadata->xattrs,
		    quote_bytes((const char *)metadata->first.data, metadata->first.length));
	return true;
}

static enum twinfs_exit report_check(const struct backup_check *check,
				     struct backup_figures *figures)
{
	const uint64_t *faults = figures->faults;
	uint64_t unproved = faults[BACKUP_UNPROVED], unlisted = faults[BACKUP_UNLISTED];
	bool differs = explain_metadata(&figures->metadata);
	uint64_t sum = 0;

	for (size_t i = 0; i < BACKUP_UNPROVED; i++)
		sum += faults[i];
	if (unproved > 0)
		log_warning("the manifest has no hash of %s; only the names were checked",
			    counted(unproved, "file", "files").text);
	if (unlisted > 0)
		log_warning("the manifest lacks what is in %s, which could not be read when it was "
			    "made",
			    counted(unlisted, "folder", "folders").text);
	if (sum > 0)
		log_warning("the backup %s is not whole: missing %" PRIu64 ", damaged %" PRIu64
			    ", unreadable %" PRIu64 ", surplus %" PRIu64,
			    quote_path(check->backup), faults[BACKUP_MISSING],
			    faults[BACKUP_DAMAGED], faults[BACKUP_UNREADABLE],
			    faults[BACKUP_SURPLUS]);
	else
		log_info("the backup %s has all %s names of the manifest",
			 quote_path(check->backup), number_text(figures->names).text);
	return sum + unproved + unlisted > 0 || differs ? TWINFS_EXIT_INCOMPLETE
							: TWINFS_EXIT_COMPLETE;
}

static enum twinfs_exit check_backup(const struct restore_command_settings *settings,
				     char *const *operands)
{
	CLEANUP_BACKUP_FIGURES struct backup_figures figures = {0};
	CLEANUP_OUTPUT struct output output;
	const struct backup_check check = {
		.manifest = operands[0],
		.backup = operands[1],
		.progress = settings->common.index.progress,
		.found = print_fault,
		.context = &output,
	};
	int written;
	int r;

	output_init(&output, STDOUT_FILENO);
	r = backup_check_run(&check, &figures);
	written = output_flush(&output);
	if (written < 0 && written != -EPIPE)
		log_error("cannot print the check: %s", error_text(written));
	return r < 0 || written < 0 ? TWINFS_EXIT_FAILED : report_check(&check, &figures);
}

/* ---- the command ------------------------------------------------------------------------- */

static enum twinfs_exit restore(struct restore_command_settings *settings, char *const *operands)
{
	struct restore_result result;

	settings->restore.manifest = operands[0];
	settings->restore.backup = operands[1];
	settings->restore.target = operands[2];
	settings->restore.only = &settings->only;
	settings->restore.progress = settings->common.index.progress;
	return restore_run(&settings->restore, &result) < 0 ? TWINFS_EXIT_FAILED
							    : report(&settings->restore, &result);
}

static enum twinfs_exit run_restore(void *context, char **operands, size_t count)
{
	struct restore_command_settings *settings = context;

	(void)count;
	interrupt_watch();
	interrupt_guard(false);
	return settings->check ? check_backup(settings, operands) : restore(settings, operands);
}

static const char *find_restore_fault(const void *context, char *const *operands, size_t count)
{
	const struct restore_command_settings *settings = context;

	(void)operands;
	if (settings->check && count != CHECK_OPERANDS)
		return "give a MANIFEST and a BACKUP";
	if (settings->check &&
	    (settings->only.paths.count > 0 || settings->restore.way != RESTORE_COPY))
		return "give --check without --only, --link and --reflink";
	if (!settings->check && count != OPERANDS)
		return "give a MANIFEST, a BACKUP and a TARGET";
	return settings->is_conflicting ? "give only one of --link and --reflink" : NULL;
}

static void deinit_restore(void *settings)
{
	restore_only_free(&((struct restore_command_settings *)settings)->only);
}

const struct command restore_command = {
	.options = {.command = "twinfs restore",
		    .usage = {"MANIFEST BACKUP TARGET", "--check MANIFEST BACKUP"},
		    .summary = "Rebuilds the whole tree in TARGET, an empty directory: from "
			       "BACKUP, a copy of uniques/, and from the names in MANIFEST, which "
			       "'twinfs manifest' made with it. If a restore is interrupted, the "
			       "same command continues it.",
		    .options = {restore_options, message_options}},
	.settings_bytes = sizeof(struct restore_command_settings),
	.deinit = deinit_restore,
	.find_fault = find_restore_fault,
	.run = run_restore,
};
