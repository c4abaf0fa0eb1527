/* SPDX-License-Identifier: MIT */
#include "fleet/set_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/directory.h"
#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/quote.h"
#include "fleet/output_folder.h"
#include "row/json_read.h"
#include "row/json_text.h"

/* Bound of the size of a manifest: 400,000 parts, which are 10^11 rows. */
#define MANIFEST_BYTES_MAX (64UL << 20)

/* Bound of the digits of a generation, so that JSON readers take its number for an integer. */
#define GENERATION_DIGITS_MAX 15

/* ---- messages ------------------------------------------------------------------------ */

void set_folder_complain(const struct set_folder *folder, const char *name, const char *cause)
{
	CLEANUP_BYTES struct bytes path = {0};
	int r = bytes_format(&path, *name ? "%s/%s" : "%s", folder->settings->folder, name);

	log_error("cannot write the %s to %s: %s", folder->settings->noun,
		  r == 0 ? quote_bytes((const char *)path.data, path.length)
			 : quote_path(folder->settings->folder),
		  cause);
}

int set_folder_explain(const struct set_folder *folder, const char *name, int error)
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

void set_folder_name(char name[static SET_NAME_MAX], uint64_t generation)
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

int set_folder_init(struct set_folder *folder, const struct row_set_settings *settings)
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

void set_folder_deinit(struct set_folder *folder)
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

static int remove_part(void *context, int directory, const struct dirent *entry)
{
	(void)context;
	return unlinkat(directory, entry->d_name, 0) < 0 ? -errno : 0;
}

static int remove_generation(int directory, const char *name)
{
	int r = directory_read(open_beneath_for_reading(directory, name, O_DIRECTORY, false),
			       remove_part, NULL);

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

void set_folder_remove_others(const struct set_folder *folder, uint64_t generation)
{
	struct set_removal removal = {folder, generation};
	int r = directory_visit(folder->fd, remove_other, &removal);

	if (r < 0)
		log_warning("cannot remove earlier files in %s: %s",
			    quote_path(folder->settings->folder), error_text(r));
}
