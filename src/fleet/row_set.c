/* SPDX-License-Identifier: MIT */
#include "fleet/row_set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#ifdef ZSTD_KNOWN
#include <zstd.h>
#endif

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/numbers.h"
#include "row/json_text.h"

#define SET_MANIFEST "manifest.json"
#define SET_NEW_MANIFEST "manifest.json.new"
#define SET_GENERATION "generation-"
#define SET_PART "part-"

/* Version of the format of manifests and rows. */
#define SET_SCHEMA 1

/* Room for the name of the folder of a generation. */
#define SET_NAME_MAX sizeof(SET_GENERATION "18446744073709551615")

/* ---- set folder ----------------------------------------------------------------------------- */

/* Bound of the size of a manifest: 400,000 parts, which are 10^11 rows. */
#define MANIFEST_BYTES_MAX (64UL << 20)

/* Bound of the digits of a generation, so that JSON readers take its number for an integer. */
#define GENERATION_DIGITS_MAX 15

/* ---- messages ------------------------------------------------------------------------ */

/* Logs that a file or folder could not be written, with the cause and, if there is one, the remedy.
 *
 * name		below the folder; "": the folder itself
 */
static void set_folder_complain(const struct set_folder *folder, const char *name,
				const char *cause)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = bytes_format(&path, *name ? "%s/%s" : "%s", folder->settings->folder, name);

	log_error("cannot write the %s to %s: %s", folder->settings->noun,
		  r == 0 ? quote_bytes((const char *)path.data, path.length)
			 : quote_path(folder->settings->folder),
		  cause);
}

/* Logs the failure of a system call. Returns -EXDEV, or -ENOMEM without a message for that error.
 *
 * name		as for set_folder_complain()
 * error	-errno
 */
static int set_folder_explain(const struct set_folder *folder, const char *name, int error)
{
	CLEANUP_BYTES struct bytes cause = {0};
	const char *remedy = output_folder_remedy(error);
	int r = bytes_append_text(&cause, error_text(error));

	if (r == 0 && remedy)
		r = bytes_format(&cause, "; %s", remedy);
	if (error == -ENOMEM || r < 0 || !bytes_text(&cause))
		return -ENOMEM;
	set_folder_complain(folder, name, bytes_text(&cause));
	return -EXDEV;
}

/* Logs why the folder cannot be used, and what the user can do. Returns -EXDEV. */
static int refuse(const struct set_folder *folder, const char *cause)
{
	log_error("cannot write the %s to %s: %s; give --output=DIR another folder",
		  folder->settings->noun, quote_path(folder->settings->folder), cause);
	return -EXDEV;
}

/* ---- names --------------------------------------------------------------------------- */

static void set_folder_name(char name[static SET_NAME_MAX], uint64_t generation)
{
	(void)snprintf(name, SET_NAME_MAX, SET_GENERATION "%" PRIu64, generation);
}

/* Parses the name of the folder of a generation. Returns false for another name. */
static bool parse_generation(const char *name, uint64_t *generation)
{
	const char *digits = name + strlen(SET_GENERATION);

	return strncmp(name, SET_GENERATION, strlen(SET_GENERATION)) == 0 && *digits != '0' &&
	       strlen(digits) <= GENERATION_DIGITS_MAX &&
	       number_read(digits, strlen(digits), generation) == 0;
}

/* ---- the folder ---------------------------------------------------------------------- */

static int open_folder(struct set_folder *folder)
{
	folder->fd = output_folder_open(folder->settings->folder, &folder->made);
	if (folder->fd < 0)
		return set_folder_explain(folder, "", folder->fd);
	if (flock(folder->fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return set_folder_explain(folder, "", -errno);
	set_folder_complain(folder, "", "another process writes to it; wait until it has ended");
	return -EXDEV;
}

/* ---- the present set ----------------------------------------------------------------- */

/* Reads the manifest. Returns 0; -ENOENT if there is none; -EPROTO if it is no file of JSON; or
 * another -errno. */
static int read_manifest(const struct set_folder *folder, json_t **manifest)
{
	AUTO_CLOSE int fd = open_beneath_for_reading(folder->fd, SET_MANIFEST, 0, true);
	CLEANUP_BYTES struct bytes text = {0};
	struct stat status;
	long got;

	*manifest = NULL;
	if (fd < 0)
		return fd == -ELOOP ? -EPROTO : fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > (off_t)MANIFEST_BYTES_MAX)
		return -EPROTO;
	if (bytes_reserve(&text, (size_t)status.st_size + 1) < 0)
		return -ENOMEM;
	got = read_fully_at(fd, text.data, (size_t)status.st_size, 0);
	if (got < 0)
		return (int)got;
	*manifest = json_read((const char *)text.data, (size_t)got, JSON_REJECT_DUPLICATES);
	return json_is_object(*manifest) ? 0 : -EPROTO;
}

/* Refuses the set of another host or program. */
static int judge_manifest(struct set_folder *folder, const json_t *manifest)
{
	const char *host = json_string_value(json_object_get(manifest, "host"));
	json_int_t generation = json_integer_value(json_object_get(manifest, "generation"));

	if (!json_has_text(manifest, "format", folder->settings->format) || !host || generation < 1)
		return refuse(folder, "its " SET_MANIFEST " is of something else");
	if (json_integer_value(json_object_get(manifest, "schema")) > SET_SCHEMA)
		return refuse(folder, "a newer twinfs wrote its " SET_MANIFEST);
	if (strcmp(host, folder->settings->host) != 0) {
		log_error("cannot write the %s to %s: it has that of the host %s, not of %s; give "
			  "--output=DIR another folder",
			  folder->settings->noun, quote_path(folder->settings->folder),
			  quote_path(host), folder->settings->host);
		return -EXDEV;
	}
	folder->current = folder->highest = (uint64_t)generation;
	return 0;
}

static int check_manifest(struct set_folder *folder)
{
	int r = read_manifest(folder, &folder->manifest);

	if (r == 0)
		r = judge_manifest(folder, folder->manifest);
	else if (r == -EPROTO)
		r = refuse(folder, "its " SET_MANIFEST " is damaged, or is of something else");
	else if (r != -ENOENT)
		r = set_folder_explain(folder, SET_MANIFEST, r);
	return r == -ENOENT ? 0 : r;
}

static bool is_part(const char *name)
{
	size_t digits = strspn(name + strlen(SET_PART), "0123456789");
	const char *suffix = name + strlen(SET_PART) + digits;

	return digits > 0 && (strcmp(suffix, ".jsonl") == 0 || strcmp(suffix, ".jsonl.zst") == 0);
}

static int check_part(void *context, int directory, const struct dirent *entry)
{
	(void)context;
	(void)directory;
	return strncmp(entry->d_name, SET_PART, strlen(SET_PART)) == 0 && is_part(entry->d_name)
		       ? 0
		       : -ENOTEMPTY;
}

/* Returns 0 for an entry that belongs to a set, -ENOTEMPTY for another one, or another -errno. */
static int check_entry(void *context, int directory, const struct dirent *entry)
{
	struct set_folder *folder = context;
	uint64_t generation;
	int r;

	if (strcmp(entry->d_name, SET_MANIFEST) == 0 ||
	    strcmp(entry->d_name, SET_NEW_MANIFEST) == 0)
		return 0;
	if (!parse_generation(entry->d_name, &generation))
		return -ENOTEMPTY;
	r = directory_read(open_beneath_for_reading(directory, entry->d_name, O_DIRECTORY, false),
			   check_part, NULL);
	if (generation > folder->highest)
		folder->highest = generation;
	/* no folder, or on another file system */
	return r == -ENOTDIR || r == -ELOOP || r == -EXDEV ? -ENOTEMPTY : r;
}

/* Opens and locks the folder, and checks that everything in it belongs to a set of the same format
 * and host. Makes a missing folder. Returns 0, -EXDEV (logged) or -ENOMEM. The caller must call
 * set_folder_deinit() in all cases. */
static int set_folder_init(struct set_folder *folder, const struct row_set_settings *settings)
{
	int r;

	*folder = (struct set_folder){.settings = settings, .fd = -1};
	r = open_folder(folder);
	if (r == 0)
		r = check_manifest(folder);
	if (r < 0)
		return r;
	r = directory_visit(folder->fd, check_entry, folder);
	if (r == -ENOTEMPTY)
		return refuse(folder, "the folder has other files, too");
	return r < 0 ? set_folder_explain(folder, "", r) : 0;
}

/* unlocks the folder */
static void set_folder_deinit(struct set_folder *folder)
{
	cleanup_close(&folder->fd);
	json_decref(folder->manifest);
	*folder = (struct set_folder){.fd = -1};
}

/* ---- removing ------------------------------------------------------------------------ */

struct set_removal {
	const struct set_folder *folder;
	uint64_t spared; /* generation that stays */
};

static int remove_generation(int directory, const char *name)
{
	AUTO_CLOSE int folder = open_beneath_for_reading(directory, name, O_DIRECTORY, false);
	int r = folder < 0 ? folder : directory_remove_files(folder);

	return r == 0 && unlinkat(directory, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

static int remove_other(void *context, int directory, const struct dirent *entry)
{
	const struct set_removal *removal = context;
	uint64_t generation;
	int r = 0;

	if (strcmp(entry->d_name, SET_NEW_MANIFEST) == 0)
		r = unlinkat(directory, entry->d_name, 0) < 0 ? -errno : 0;
	else if (parse_generation(entry->d_name, &generation) && generation != removal->spared)
		r = remove_generation(directory, entry->d_name);
	if (r < 0)
		log_warning("cannot remove %s of an earlier %s in %s: %s", entry->d_name,
			    removal->folder->settings->noun,
			    quote_path(removal->folder->settings->folder), error_text(r));
	return 0;
}

/* Removes all generations but one, and a new manifest that was not completed. Failures are only
 * logged, as warnings. */
static void set_folder_remove_others(const struct set_folder *folder, uint64_t generation)
{
	struct set_removal removal = {folder, generation};
	int r = directory_visit(folder->fd, remove_other, &removal);

	if (r < 0)
		log_warning("cannot remove earlier files in %s: %s",
			    quote_path(folder->settings->folder), error_text(r));
}

/* ---- part file ------------------------------------------------------------------------------ */

/* Outcome that the caller must handle; failures are -errno. */
enum {
	PART_FILE_NOT_COMPRESSED = 1, /* libzstd failed; struct part_file has the cause */
};

/* Number of bytes that are written at once. */
#define WRITE_BYTES (256UL << 10)

/* Writes what waits. */
static int flush(struct part_file *part)
{
	int r = sha256_update(part->sha256, part->waiting.data, part->waiting.length);

	if (r == 0)
		r = write_fully(part->fd, part->waiting.data, part->waiting.length);
	part->bytes += part->waiting.length;
	part->waiting.length = 0;
	return r;
}

/* ---- libzstd ------------------------------------------------------------------------- */

#ifdef ZSTD_KNOWN

static int compressor_init(struct part_file *part)
{
	part->compressor = ZSTD_createCCtx();
	return part->compressor ? 0 : -ENOMEM;
}

static void compressor_deinit(struct part_file *part)
{
	(void)ZSTD_freeCCtx(part->compressor);
}

static int check(struct part_file *part, size_t result)
{
	if (!ZSTD_isError(result))
		return 0;
	part->fault = ZSTD_getErrorName(result);
	return PART_FILE_NOT_COMPRESSED;
}

/* Begins a frame, which ends with a checksum of its content. */
static int begin_frame(struct part_file *part)
{
	int r = check(part, ZSTD_CCtx_reset(part->compressor, ZSTD_reset_session_only));

	return r != 0 ? r
		      : check(part,
			      ZSTD_CCtx_setParameter(part->compressor, ZSTD_c_checksumFlag, 1));
}

/* Compresses bytes, and writes as much of the result as fills the buffer. */
static int compress(struct part_file *part, const void *data, size_t length, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {data, length, 0};
	size_t left = 1;
	int r = 0;

	while (r == 0 && (in.pos < in.size || (end == ZSTD_e_end && left > 0))) {
		ZSTD_outBuffer out = {part->waiting.data, WRITE_BYTES, part->waiting.length};

		left = ZSTD_compressStream2(part->compressor, &out, &in, end);
		r = check(part, left);
		part->waiting.length = out.pos;
		if (r == 0 && out.pos == out.size)
			r = flush(part);
	}
	return r;
}

/* Adds bytes to the file. Returns 0, PART_FILE_NOT_COMPRESSED, or -errno. */
static int part_file_add(struct part_file *part, const void *data, size_t length)
{
	return compress(part, data, length, ZSTD_e_continue);
}

static int end_frame(struct part_file *part)
{
	return compress(part, NULL, 0, ZSTD_e_end);
}

#else

static int compressor_init(struct part_file *part)
{
	part->compressor = NULL;
	return 0;
}

static void compressor_deinit(struct part_file *part)
{
	(void)part;
}

static int begin_frame(struct part_file *part)
{
	(void)part;
	return 0;
}

static int part_file_add(struct part_file *part, const void *data, size_t length)
{
	int r = bytes_append(&part->waiting, data, length);

	return r == 0 && part->waiting.length >= WRITE_BYTES ? flush(part) : r;
}

static int end_frame(struct part_file *part)
{
	(void)part;
	return 0;
}

#endif

/* ---- files --------------------------------------------------------------------------- */

/* Prepares for any number of files, one after the other. Returns 0 or -ENOMEM. The caller must call
 * part_file_deinit() in all cases. */
static int part_file_init(struct part_file *part)
{
	int r;

	*part = (struct part_file){.fd = -1, .sha256 = sha256_new()};
	r = part->sha256 ? bytes_reserve(&part->waiting, WRITE_BYTES) : -ENOMEM;
	return r < 0 ? r : compressor_init(part);
}

/* closes a file that is open */
static void part_file_deinit(struct part_file *part)
{
	cleanup_close(&part->fd);
	compressor_deinit(part);
	sha256_free(part->sha256);
	bytes_free(&part->waiting);
	*part = (struct part_file){.fd = -1};
}

/* Makes a file. Returns 0, PART_FILE_NOT_COMPRESSED, or -errno; -EEXIST if the name exists. */
static int part_file_open(struct part_file *part, int directory, const char *name)
{
	int r = sha256_reset(part->sha256);

	if (r == 0)
		r = begin_frame(part);
	if (r != 0)
		return r;
	part->bytes = 0;
	part->waiting.length = 0;
	part->fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return part->fd < 0 ? -errno : 0;
}

/* Ends the file and closes it. Blocks until the file is on the disk. Returns 0,
 * PART_FILE_NOT_COMPRESSED, or -errno.
 *
 * sha256	set to that of the file as it is on the disk
 */
static int part_file_close(struct part_file *part, char sha256[SHA256_DIGITS + 1])
{
	int r = end_frame(part);

	if (r == 0)
		r = flush(part);
	if (r == 0)
		r = sha256_finish(part->sha256, sha256);
	if (r == 0 && fsync(part->fd) < 0)
		r = -errno;
	cleanup_close(&part->fd);
	part->fd = -1;
	return r;
}

/* ---- row set -------------------------------------------------------------------------------- */

/* Number of rows of a part, so that a reader can process parts one by one. */
#define PART_ROWS_MAX 250000

/* Room for the name of a part below the folder of the set. */
#define PART_NAME_MAX (SET_NAME_MAX + sizeof("/" SET_PART "18446744073709551615" PART_FILE_SUFFIX))

int row_set_begin(struct row_set *set, const struct row_set_settings *settings)
{
	int r;

	*set = (struct row_set){
		.settings = *settings,
		.folder = {.fd = -1},
		.generation_folder = -1,
		.parts = json_array(),
	};
	r = part_file_init(&set->part);
	if (r < 0 || !set->parts)
		return -ENOMEM;
	r = set_folder_init(&set->folder, &set->settings);
	set->generation = set->folder.highest + 1;
	return r;
}

/* ---- parts --------------------------------------------------------------------------- */

/* Makes the folder of the generation. Before that, removes leftovers, which may fill the disk. */
static int make_generation(struct row_set *set)
{
	char name[SET_NAME_MAX];

	set_folder_remove_others(&set->folder, set->folder.current);
	set_folder_name(name, set->generation);
	if (mkdirat(set->folder.fd, name, 0700) < 0)
		return set_folder_explain(&set->folder, name, -errno);
	set->begun = true;
	set->generation_folder = open_beneath(set->folder.fd, name, O_RDONLY | O_DIRECTORY, false);
	if (set->generation_folder < 0)
		return set_folder_explain(&set->folder, name, set->generation_folder);
	return 0;
}

/* Writes the name of the part that is open, or is opened next. Returns its last component. */
static const char *part_name(const struct row_set *set, char name[static PART_NAME_MAX])
{
	int folder = snprintf(name, PART_NAME_MAX, SET_GENERATION "%" PRIu64 "/", set->generation);

	(void)snprintf(name + folder, PART_NAME_MAX - (size_t)folder,
		       SET_PART "%05zu" PART_FILE_SUFFIX, json_array_size(set->parts) + 1);
	return name + folder;
}

/* Logs a failure or an outcome of the part that is open. Returns 0, -EXDEV or -ENOMEM. */
static int explain_part(const struct row_set *set, int result)
{
	char name[PART_NAME_MAX];

	if (result == 0)
		return 0;
	(void)part_name(set, name);
	if (result != PART_FILE_NOT_COMPRESSED)
		return set_folder_explain(&set->folder, name, result);
	set_folder_complain(&set->folder, name, set->part.fault);
	return -EXDEV;
}

static int open_part(struct row_set *set)
{
	char name[PART_NAME_MAX];
	const char *file = part_name(set, name);
	int r = set->generation_folder < 0 ? make_generation(set) : 0;

	if (r < 0)
		return r;
	set->part_rows = 0;
	return explain_part(set, part_file_open(&set->part, set->generation_folder, file));
}

static int close_part(struct row_set *set)
{
	char sha256[SHA256_DIGITS + 1] = "";
	char name[PART_NAME_MAX];
	json_t *part;
	int r;

	(void)part_name(set, name);
	r = explain_part(set, part_file_close(&set->part, sha256));
	if (r < 0)
		return r;
	part = json_pack("{s:s, s:o, s:o, s:s}", "name", name, "rows", json_number(set->part_rows),
			 "bytes", json_number(set->part.bytes), "sha256", sha256);
	return json_array_append_new(set->parts, part) == 0 ? 0 : -ENOMEM;
}

/* Adds the line of a row. Blocks if a part is complete, until it is on the disk. */
static int add_line(struct row_set *set, const void *line, size_t length)
{
	int r = set->part.fd < 0 ? open_part(set) : 0;

	if (r == 0)
		r = explain_part(set, part_file_add(&set->part, line, length));
	set->rows++;
	set->part_rows++;
	return r == 0 && set->part_rows == PART_ROWS_MAX ? close_part(set) : r;
}

int row_set_keep(struct row_set *set, const void *row, struct field_table table, uint64_t bytes)
{
	int r = fields_append_line(&set->waiting, row, table);

	if (r < 0)
		return r;
	set->waiting_count++;
	set->bytes = size_add(set->bytes, bytes);
	return 0;
}

int row_set_write_waiting(struct row_set *set)
{
	const uint8_t *line = set->waiting.data;
	int r = 0;

	for (; r == 0 && set->waiting_count > 0; set->waiting_count--) {
		const uint8_t *end = (const uint8_t *)rawmemchr(line, '\n') + 1;

		r = add_line(set, line, (size_t)(end - line));
		line = end;
	}
	set->waiting.length = set->waiting_count = 0;
	return r;
}

/* ---- the manifest -------------------------------------------------------------------- */

/* Makes the manifest. Returns NULL if memory is short. */
static json_t *make_manifest(const struct row_set *set, const struct row_set_figures *figures)
{
	char created[CLOCK_TEXT_MAX];

	if (clock_format_utc(created, clock_now()) < 0)
		return NULL;
	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:s, s:O, s:o, s:o, s:o, s:o, s:o, s:O}",
			 "format", set->settings.format, "schema", SET_SCHEMA, "version",
			 TWINFS_VERSION, "host", set->settings.host, "index",
			 json_hex64(figures->index), "generation", json_number(set->generation),
			 "created", created, "sources", figures->sources, "min_size",
			 json_number(figures->min_size), "errors", json_number(figures->errors),
			 "pending", json_number(figures->pending), "rows", json_number(set->rows),
			 "bytes", json_number(set->bytes), "parts", set->parts);
}

/* Replaces the old manifest by the new one, when both names and parts are on the disk. */
static int replace_manifest(struct row_set *set, const json_t *manifest)
{
	CLEANUP_NEW_FILE struct new_file file = {.fd = -1};
	CLEANUP_BYTES struct bytes text = {0};
	int r = json_append_line(&text, manifest, JSON_INDENT(2));

	set->begun = true;
	if (r == 0 && set->generation_folder >= 0)
		r = sync_directory(set->generation_folder);
	if (r == 0)
		r = sync_directory(set->folder.fd);
	if (r == 0)
		r = new_file_begin(&file, set->folder.fd, SET_NEW_MANIFEST);
	if (r == 0)
		r = new_file_append(&file, text.data, text.length);
	if (r == 0) {
		r = new_file_commit(&file, SET_MANIFEST);
		set->committed = !file.temporary;
	}
	return r < 0 ? set_folder_explain(&set->folder, SET_MANIFEST, r) : 0;
}

int row_set_commit(struct row_set *set, const struct row_set_figures *figures)
{
	json_t *manifest;
	int r = set->part.fd >= 0 ? close_part(set) : 0;

	if (r < 0)
		return r;
	manifest = make_manifest(set, figures);
	r = manifest ? replace_manifest(set, manifest) : -ENOMEM;
	json_decref(manifest);
	if (r == 0)
		set_folder_remove_others(&set->folder, set->generation);
	return r;
}

void row_set_deinit(struct row_set *set)
{
	part_file_deinit(&set->part);
	cleanup_close(&set->generation_folder);
	if (set->begun && !set->committed)
		set_folder_remove_others(&set->folder, set->folder.current);
	if (set->folder.made && !set->committed)
		(void)rmdir(set->settings.folder);
	set_folder_deinit(&set->folder);
	bytes_free(&set->waiting);
	json_decref(set->parts);
	*set = (struct row_set){.folder = {.fd = -1}, .generation_folder = -1, .part.fd = -1};
}

/* ---- the folder of a set -------------------------------------------------------------------- */

/* Syncs the name of a new folder. */
static int sync_name(int folder)
{
	AUTO_CLOSE int parent = openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = parent < 0 ? -errno : sync_directory(parent);

	/* a parent that only can be searched and written to cannot be synced */
	return r == -EACCES ? 0 : r;
}

int output_folder_open(const char *path, bool *made)
{
	int fd, r = 0;

	*made = mkdir(path, 0700) == 0;
	if (!*made && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (*made)
		r = sync_name(fd);
	if (r == 0 && access_effective(fd, ".", W_OK | X_OK) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

const char *output_folder_remedy(int error)
{
	switch (-error) {
	case ENOSPC:
	case EDQUOT:
		return "free space there, or give --output=DIR another folder";
	case ENOENT:
		return "make the folder above it first";
	case EACCES:
	case ENOTDIR:
	case EPERM:
	case EROFS:
		return "give --output=DIR another folder";
	default:
		return NULL;
	}
}
