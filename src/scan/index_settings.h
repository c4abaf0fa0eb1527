/* SPDX-License-Identifier: MIT */
#ifndef SCAN_INDEX_SETTINGS_H
#define SCAN_INDEX_SETTINGS_H

/* Settings of a command: its index, and the scan that updates it. The options of the command line
 * set these fields (cli/common_options.h). For the main thread. */

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/progress.h"
#include "base/text.h"
#include "scan/ingest.h"

struct index_settings {
	const char *folder; /* as given, borrowed; NULL: the default folder of the sources */
	uint64_t min_size; /* bytes */
	bool min_size_given;
	struct text_list excludes; /* globs */
	/* those of them that were read from a file or from the index */
	struct text_list listed_excludes;
	bool cross_file_systems;
	bool file_systems_given; /* --one-file-system or --cross-file-systems */
	enum ingest_disk disk;
	bool disk_given;
	bool accept_changed_source;
	/* The index is printed as it is: the sources are not examined, and can be absent. */
	bool no_scan;
	bool names_only; /* names are updated, but no contents are compared */
	bool takes_files; /* operands can be files */
	/* File with the names of the operands, as given, borrowed. NULL: the command line has
	 * them. */
	const char *names_from;
	enum progress_when progress;
};

/* Sets the defaults. */
void index_settings_init(struct index_settings *settings);

/* Frees what the settings own. */
void index_settings_deinit(struct index_settings *settings);

/* Parses a word of --disk. Returns 0 or -EINVAL. */
MUST_CHECK int index_disk_parse(const char *word, enum ingest_disk *disk);

/* Returns the word of an enum ingest_disk. For a value from an index of another version, returns
 * "unknown". */
const char *index_disk_word(uint32_t disk);

#endif
