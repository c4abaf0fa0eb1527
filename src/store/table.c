/* SPDX-License-Identifier: MIT */
#include "store/table.h"

static const char *const table_names[TABLE_COUNT] = {
	[TABLE_META] = "meta",
	[TABLE_DIR] = "dir",
	[TABLE_ENTRY] = "entry",
	[TABLE_FILE] = "file",
	[TABLE_BYKEY] = "bykey",
	[TABLE_BYSIZE] = "bysize",
	[TABLE_CONTENT] = "content",
	[TABLE_GROUP] = "group",
	[TABLE_MEMBER] = "member",
	[TABLE_BYHASH] = "byhash",
	[TABLE_RANK] = "rank",
	[TABLE_LINK] = "link",
	[TABLE_ERROR] = "error",
	[TABLE_ORPHAN] = "orphan",
	[TABLE_REDUNDANT] = "redundant",
	[TABLE_PLACE] = "place",
	[TABLE_TARGET] = "target",
	[TABLE_FOLDER] = "folder",
	[TABLE_BYTREE] = "bytree",
	[TABLE_FOLDERS] = "folders",
	[TABLE_FOLDER_RANK] = "folderrank",
	[TABLE_EXTENT] = "extent",
	[TABLE_UNMAPPED] = "unmapped",
	[TABLE_BLOCKS] = "blocks",
	[TABLE_DIGEST] = "digest",
};

const char *table_name(enum table table)
{
	return table_names[table];
}
