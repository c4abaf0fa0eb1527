/* SPDX-License-Identifier: MIT */
#ifndef FLEET_SET_FOLDER_H
#define FLEET_SET_FOLDER_H

/* The folder of a set of rows (row_set.h): its lock, and the generations in it. For one thread. The
 * functions log their failures, except -ENOMEM. */

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attributes.h"

#define SET_MANIFEST "manifest.json"
#define SET_NEW_MANIFEST "manifest.json.new"
#define SET_GENERATION "generation-"
#define SET_PART "part-"

/* Version of the format of manifests and rows. */
#define SET_SCHEMA 1

/* All pointers are borrowed until row_set_deinit(). */
struct row_set_settings {
	const char *folder; /* as the user gave it; made if missing */
	const char *format; /* of the manifest: "twinfs-inventory" */
	const char *noun; /* for messages: "inventory" */
	const char *host;
};

struct set_folder {
	const struct row_set_settings *settings; /* borrowed */
	int fd; /* locked; -1: none */
	bool made; /* this process made the folder */
	json_t *manifest; /* of the present set; NULL: there is none */
	uint64_t current; /* generation of the manifest; 0: there is no manifest */
	uint64_t highest; /* highest generation of the manifest and of all parts; 0: none */
};

/* Opens and locks the folder, and checks that everything in it belongs to a set of the same format
 * and host. Makes a missing folder. Returns 0, -EXDEV (logged) or -ENOMEM. The caller must call
 * set_folder_deinit() in all cases. */
MUST_CHECK int set_folder_init(struct set_folder *folder, const struct row_set_settings *settings);
void set_folder_deinit(struct set_folder *folder); /* unlocks the folder */

/* Removes all generations but one, and a new manifest that was not completed. Failures are only
 * logged, as warnings. */
void set_folder_remove_others(const struct set_folder *folder, uint64_t generation);

/* Room for the name of the folder of a generation. */
#define SET_NAME_MAX sizeof(SET_GENERATION "18446744073709551615")

void set_folder_name(char name[static SET_NAME_MAX], uint64_t generation);

/* Logs that a file or folder could not be written, with the cause and, if there is one, the remedy.
 *
 * name		below the folder; "": the folder itself
 */
void set_folder_complain(const struct set_folder *folder, const char *name, const char *cause);

/* Logs the failure of a system call. Returns -EXDEV, or -ENOMEM without a message for that error.
 *
 * name		as for set_folder_complain()
 * error	-errno
 */
MUST_CHECK int set_folder_explain(const struct set_folder *folder, const char *name, int error);

#endif
