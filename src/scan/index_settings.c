/* SPDX-License-Identifier: MIT */
#include "scan/index_settings.h"

#include "base/options.h"

/* Default of --min-size: only empty files are left out. */
#define MIN_SIZE_DEFAULT 1

static const char *const disk_words[] = {
	[INGEST_DISK_AUTO] = "auto",
	[INGEST_DISK_ROTATING] = "rotating",
	[INGEST_DISK_SOLID] = "solid",
};

void index_settings_init(struct index_settings *settings)
{
	*settings = (struct index_settings){.min_size = MIN_SIZE_DEFAULT};
}

void index_settings_deinit(struct index_settings *settings)
{
	text_list_free(&settings->excludes);
	text_list_free(&settings->listed_excludes);
}

int index_disk_parse(const char *word, enum ingest_disk *disk)
{
	int found = options_find_word(word, disk_words, ARRAY_SIZE(disk_words));

	if (found < 0)
		return found;
	*disk = (enum ingest_disk)found;
	return 0;
}

const char *index_disk_word(uint32_t disk)
{
	return disk < ARRAY_SIZE(disk_words) ? disk_words[disk] : "unknown";
}
