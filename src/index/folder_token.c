/* SPDX-License-Identifier: MIT */
#include "index/folder_token.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "index/paths.h"
#include "index/query.h"
#include "index/scan.h"
#include "index/store/store.h"

/* ---- tokens -------------------------------------------------------------------------- */

static int token_of_regular(struct catalog_reader *r, const struct file_record *file,
			    struct folder_token *token)
{
	struct group_record group;
	bool redundant;
	int result;

	token->files = 1;
	token->bytes = file->attributes.size;
	if (file->attributes.size == 0) {
		token->kind = TOKEN_EMPTY;
		return 0;
	}
	result = catalog_is_redundant(r, file->id, &redundant, &group);
	if (result < 0)
		return result == -ENOENT ? -EUCLEAN : result;
	if (group.id) {
		token->kind = TOKEN_CONTENT;
		token->id = group.id;
	} else if (file->names > 1) {
		token->kind = TOKEN_INODE;
		token->id = file->id;
	} else {
		*token = (struct folder_token){.kind = TOKEN_UNEQUAL};
	}
	return 0;
}

/* ---- tokens of all members of groups ------------------------------------------------- */

/* The greatest id in the table, which takes 4 bytes for each. */
#define FILE_ID_MAX (UINT64_C(4) << 20)

struct group_token {
	uint64_t id;
	uint64_t bytes; /* of each member */
};

struct group_tokens {
	uint32_t *numbers; /* by file id: position in groups, from 1 on; 0: not known */
	size_t files, file_capacity;
	struct group_token *groups;
	size_t count, capacity;
};

/* Sets the group of a file to the last one. */
static int add_member(struct group_tokens *tokens, uint64_t file)
{
	int r = 0;

	if (file > FILE_ID_MAX)
		return 0;
	if (file >= tokens->files) {
		r = array_reserve(&tokens->numbers, &tokens->file_capacity, file + 1,
				  sizeof(*tokens->numbers));
		if (r < 0)
			return r;
		memset(tokens->numbers + tokens->files, 0,
		       (file + 1 - tokens->files) * sizeof(*tokens->numbers));
		tokens->files = file + 1;
	}
	tokens->numbers[file] = (uint32_t)tokens->count;
	return 0;
}

static int add_group(struct group_tokens *tokens, struct catalog_reader *r,
		     const struct group_record *group)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	uint64_t file;
	int result;

	if (!group_is_visible(group) || tokens->count == UINT32_MAX)
		return 0;
	result = array_reserve(&tokens->groups, &tokens->capacity, tokens->count + 1,
			       sizeof(*tokens->groups));
	if (result < 0)
		return result;
	tokens->groups[tokens->count++] =
		(struct group_token){.id = group->id, .bytes = group->size};
	result = catalog_scan_members(r, group->id, 0, &scan);
	while (result == 0 && (result = catalog_next_member(scan, &file)) == 0)
		result = add_member(tokens, file);
	return result == -ENOENT ? 0 : result;
}

int group_tokens_read(struct catalog_reader *r, struct group_tokens **tokens)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	struct group_record group;
	int result;

	*tokens = calloc(1, sizeof(**tokens));
	result = *tokens ? catalog_scan_groups(r, 0, &scan) : -ENOMEM;
	while (result == 0 && (result = catalog_next_group(scan, &group)) == 0)
		result = add_group(*tokens, r, &group);
	if (result < 0 && result != -ENOENT)
		return result;
	r->group_tokens = *tokens;
	return 0;
}

void group_tokens_free(struct catalog_reader *r, struct group_tokens *tokens)
{
	r->group_tokens = NULL;
	if (tokens) {
		free(tokens->numbers);
		free(tokens->groups);
	}
	free(tokens);
}

/* Returns whether the token of a file is known; sets it. */
static bool find_token(const struct group_tokens *tokens, uint64_t file, struct folder_token *token)
{
	const struct group_token *group;

	if (!tokens || file >= tokens->files || !tokens->numbers[file])
		return false;
	group = &tokens->groups[tokens->numbers[file] - 1];
	*token = (struct folder_token){.kind = TOKEN_CONTENT,
				       .id = group->id,
				       .files = 1,
				       .bytes = group->bytes};
	return true;
}

/* ---- tokens of other names ----------------------------------------------------------- */

static int token_of_symlink(struct catalog_reader *r, uint64_t file, struct folder_token *token)
{
	struct name target;
	int result = catalog_get_target(r, file, &target);

	*token = (struct folder_token){.kind = result == 0 ? TOKEN_TARGET : TOKEN_UNEQUAL,
				       .id = result == 0 ? file : 0};
	return result == -ENOENT ? 0 : result;
}

int folder_token_of_file(struct catalog_reader *r, uint64_t id, struct folder_token *token)
{
	struct file_record file;
	int result;

	if (find_token(r->group_tokens, id, token))
		return 0;
	result = catalog_get_file(r, id, &file);
	*token = (struct folder_token){.kind = TOKEN_NONE};
	if (result < 0 || file.names == 0)
		return result == -ENOENT ? 0 : result;
	if (S_ISREG(file.attributes.mode))
		return token_of_regular(r, &file, token);
	if (S_ISLNK(file.attributes.mode))
		return token_of_symlink(r, id, token);
	*token = (struct folder_token){.kind = TOKEN_SPECIAL,
				       .type = file.attributes.mode & S_IFMT,
				       .id = file.attributes.rdev};
	return 0;
}

/* Sets the hash of the token, which is in a directory under this name. */
static int set_hash(struct catalog_reader *r, struct name name, struct folder_token *token)
{
	uint64_t id = token->kind == TOKEN_TARGET ? 0 : token->id;
	uint32_t numbers[] = {(uint32_t)token->kind, token->type, name.length};
	uint8_t text[sizeof(numbers) + sizeof(id) + NAME_BYTES_MAX + TARGET_BYTES_MAX];
	struct name target = {0};
	size_t length = 0;
	int result = 0;

	token->hash = (struct hash128){0};
	if (token->kind == TOKEN_NONE || token->kind == TOKEN_UNEQUAL)
		return 0;
	if (token->kind == TOKEN_TARGET)
		result = catalog_get_target(r, token->id, &target);
	if (result < 0 || name.length > NAME_BYTES_MAX || target.length > TARGET_BYTES_MAX)
		return result < 0 && result != -ENOENT ? result : -EUCLEAN;
	memcpy(text, numbers, sizeof(numbers));
	length += sizeof(numbers);
	memcpy(text + length, &id, sizeof(id));
	length += sizeof(id);
	memcpy(text + length, name.bytes, name.length);
	length += name.length;
	if (target.length > 0)
		memcpy(text + length, target.bytes, target.length);
	length += target.length;
	token->hash = hash128_seeded(text, length, r->name_seed);
	return 0;
}

/* As folder_token_of_dir(), without the hash. */
static struct folder_token token_of_dir(const struct folder_record *folder)
{
	if (!folder->group)
		return (struct folder_token){.kind = TOKEN_UNEQUAL};
	return (struct folder_token){.kind = TOKEN_FOLDER,
				     .id = folder->group,
				     .files = folder->files,
				     .bytes = folder->bytes};
}

int folder_token_of_dir(struct catalog_reader *r, struct name name,
			const struct folder_record *folder, struct folder_token *token)
{
	*token = token_of_dir(folder);
	return set_hash(r, name, token);
}

/* As folder_token_of_entry(), without the hash. */
static int token_of_entry(struct catalog_reader *r, const struct entry_record *entry,
			  struct folder_token *token)
{
	struct folder_record folder = {0};
	int result = 0;

	*token = (struct folder_token){.kind = TOKEN_UNEQUAL};
	if (entry->kind == ENTRY_DIR) {
		result = catalog_get_folder(r, entry->child, &folder);
		*token = token_of_dir(&folder);
		return result == -ENOENT ? 0 : result;
	}
	if (entry->kind == ENTRY_FILE)
		result = folder_token_of_file(r, entry->child, token);
	return result == 0 && token->kind == TOKEN_NONE ? -EUCLEAN : result;
}

int folder_token_of_entry(struct catalog_reader *r, const struct entry_record *entry,
			  struct folder_token *token)
{
	int result = token_of_entry(r, entry, token);

	return result < 0 ? result : set_hash(r, entry->name, token);
}

int folder_token_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
		    struct folder_token *token)
{
	struct entry_record entry;
	int result = catalog_entry_at(r, dir, cookie, &entry);

	*token = (struct folder_token){.kind = TOKEN_NONE};
	if (result < 0)
		return result == -ENOENT ? 0 : result;
	return folder_token_of_entry(r, &entry, token);
}

bool folder_tokens_same(const struct folder_token *a, const struct folder_token *b)
{
	return a->kind == b->kind && a->type == b->type && a->id == b->id && a->files == b->files &&
	       a->bytes == b->bytes;
}

/* ---- comparing directories ------------------------------------------------------------ */

static int targets_equal(struct catalog_reader *r, uint64_t a, uint64_t b, bool *equal)
{
	struct name first, second;
	int result = catalog_get_target(r, a, &first);

	if (result == 0)
		result = catalog_get_target(r, b, &second);
	*equal = result == 0 && names_equal(first, second);
	return result == -ENOENT ? -EUCLEAN : result;
}

/* Sets *equal to whether two entries with one name have equal trees. */
static int entries_equal(struct catalog_reader *r, const struct entry_record *a,
			 const struct entry_record *b, bool *equal)
{
	struct folder_token first, second = {0};
	int result = token_of_entry(r, a, &first);

	*equal = false;
	if (result == 0 && first.kind != TOKEN_UNEQUAL)
		result = token_of_entry(r, b, &second);
	if (result < 0)
		return result;
	if (first.kind == TOKEN_TARGET && second.kind == TOKEN_TARGET)
		return targets_equal(r, first.id, second.id, equal);
	*equal = first.kind != TOKEN_UNEQUAL && folder_tokens_same(&first, &second);
	return 0;
}

/* Sets *equal to whether the directory has an entry with the name of this one that equals it. near
 * is an entry of the directory that mostly has this name. */
static int has_equal_entry(struct catalog_reader *r, const struct entry_record *entry,
			   const struct entry_record *near, bool *equal)
{
	struct entry_record other = *near;
	int result = 0;

	*equal = false;
	if (!names_equal(entry->name, near->name))
		result = catalog_find_entry(r, near->dir, entry->name, &other);
	if (result == 0)
		result = entries_equal(r, entry, &other, equal);
	return result == -ENOENT ? 0 : result;
}

/* Equal names have equal cookies, unless other names have the same hash. So both directories list
 * them in the same order. */
int folder_trees_equal(struct catalog_reader *r, uint64_t a, uint64_t b, bool *equal)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL, *other_scan = NULL;
	struct entry_record entry, other;
	int result = catalog_scan_entries(r, a, 0, &scan);

	*equal = true;
	if (result == 0)
		result = catalog_scan_entries(r, b, 0, &other_scan);
	while (result == 0 && *equal) {
		int first = catalog_next_entry(scan, &entry);
		int second = catalog_next_entry(other_scan, &other);

		if (first == 0 && second == 0) {
			result = has_equal_entry(r, &entry, &other, equal);
		} else {
			*equal = first == second;
			result = first == 0 || first == -ENOENT ? second : first;
		}
	}
	return result == -ENOENT ? 0 : result;
}

/* How many folders of a group have a parent in the group of the first one's parent. */
enum implied {
	IMPLIED_NO,
	IMPLIED_YES, /* all: the group is implied */
	IMPLIED_UNKNOWN,
};

/* Equal parents have equally many folders of the group each. So the numbers of folders mostly show
 * whether the group is implied. Only several equal folders in one parent have to be counted. */
static int is_implied(struct catalog_reader *r, const struct folder_group *group, uint64_t parent,
		      enum implied *implied)
{
	struct folder_group above;
	int result;

	*implied = IMPLIED_NO;
	if (!parent)
		return 0;
	result = catalog_get_folder_group(r, parent, &above);
	if (result < 0)
		return result == -ENOENT ? -EUCLEAN : result;
	if (above.folders == group->folders)
		*implied = IMPLIED_YES;
	else if (above.folders > 0 && group->folders % above.folders == 0)
		*implied = IMPLIED_UNKNOWN;
	return 0;
}

int folder_group_rank(struct catalog_reader *r, const struct folder_group *group, uint64_t *ranked)
{
	CLEANUP_SCAN struct catalog_scan *scan = NULL;
	enum implied implied = IMPLIED_UNKNOWN;
	bool one_dir = true, first = true;
	uint64_t id = 0, parent = 0, first_parent = 0;
	struct attributes attributes = {0};
	struct dir_record dir;
	int result;

	*ranked = 0;
	if (group->bytes == 0)
		return 0;
	result = catalog_scan_folders(r, group, 0, &scan);
	while (result == 0 && (implied == IMPLIED_UNKNOWN || (one_dir && implied == IMPLIED_NO))) {
		result = catalog_next_folder(scan, &id);
		if (result == 0)
			result = catalog_get_dir(r, id, &dir);
		if (result == 0)
			result = catalog_find_folder_group(r, dir.parent, &parent);
		if (result == 0 && first)
			result = is_implied(r, group, parent, &implied);
		if (result < 0)
			break;
		if (first) {
			first_parent = parent;
			attributes = dir.attributes;
		}
		first = false;
		if (parent != first_parent)
			implied = IMPLIED_NO;
		one_dir = one_dir && attributes_same_inode(&attributes, &dir.attributes);
	}
	if (implied == IMPLIED_NO && !one_dir)
		*ranked = folder_group_reclaimable(group);
	return result == -ENOENT ? 0 : result;
}

void folder_count(struct folder_record *folder, const struct folder_token *token, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;
	struct hash128 *sum = &folder->sum;
	bool carry;

	if (token->kind == TOKEN_NONE)
		return;
	if (token->kind == TOKEN_UNEQUAL) {
		folder->unequal += sign;
		return;
	}
	if (add)
		carry = __builtin_add_overflow(sum->low, token->hash.low, &sum->low);
	else
		carry = __builtin_sub_overflow(sum->low, token->hash.low, &sum->low);
	sum->high += sign * (token->hash.high + carry);
	folder->subfolders += token->kind == TOKEN_FOLDER ? sign : 0;
	folder->files += sign * token->files;
	folder->bytes += sign * token->bytes;
}
