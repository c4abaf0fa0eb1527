/* SPDX-License-Identifier: MIT */
#ifndef INDEX_FOLDER_TOKEN_H
#define INDEX_FOLDER_TOKEN_H

/* What a name means for the equality of the directory that has it. Two directories are equal if
 * they have the same names with equal tokens. Only index includes this.
 *
 * Files have equal tokens if they are members of one visible group, or of no bytes, or one inode;
 * symlinks, if they have the same target; devices, FIFOs and sockets, if they have the same type
 * and number; directories, if they are in one folder group. Everything else equals nothing: files
 * of unknown or unique content, directories without an equal one, names that could not be examined,
 * symlinks of unknown target.
 *
 * All functions read in the snapshot or transaction of the reader, on any thread, and return 0,
 * -EUCLEAN or another -errno. */

#include "index/catalog.h"

enum folder_token_kind {
	TOKEN_NONE = 0, /* there is no such name */
	TOKEN_UNEQUAL,
	TOKEN_EMPTY,
	TOKEN_CONTENT, /* id: group */
	TOKEN_INODE, /* id: file, which has several names */
	TOKEN_TARGET, /* id: file, whose target counts */
	TOKEN_SPECIAL, /* id: device number */
	TOKEN_FOLDER, /* id: folder group */
};

struct folder_token {
	enum folder_token_kind kind;
	uint32_t type; /* of a special file: mode & S_IFMT; else 0 */
	uint64_t id;
	uint64_t files; /* regular files of the tree of the name; 0 if TOKEN_UNEQUAL */
	uint64_t bytes; /* their sizes */
	/* depends on name, token and the secret of the index; zero if the kind is TOKEN_NONE or
	 * TOKEN_UNEQUAL */
	struct hash128 hash;
};

/* The tokens of all members of visible groups, in a transaction that changes no group. A file of
 * them needs no look-up: four look-ups a name were two thirds of the time for the folders of a new
 * index. */
struct group_tokens;

/* Reads the tokens, which the reader then uses until group_tokens_free(). Files with ids above a
 * limit are left out, so that the memory is bounded. */
MUST_CHECK int group_tokens_read(struct catalog_reader *r, struct group_tokens **tokens);
void group_tokens_free(struct catalog_reader *r, struct group_tokens *tokens);

/* Gets the token of a file, without the hash. kind is TOKEN_NONE if the file has no name. */
MUST_CHECK int folder_token_of_file(struct catalog_reader *r, uint64_t file,
				    struct folder_token *token);

/* Gets the token of an entry, which can be void after the next change. */
MUST_CHECK int folder_token_of_entry(struct catalog_reader *r, const struct entry_record *entry,
				     struct folder_token *token);

/* Gets the token of a name. kind is TOKEN_NONE if the directory has no such entry. */
MUST_CHECK int folder_token_at(struct catalog_reader *r, uint64_t dir, uint64_t cookie,
			       struct folder_token *token);

/* Gets the token that a directory of this name has while its tree is as in *folder, and it is in
 * folder->group. */
MUST_CHECK int folder_token_of_dir(struct catalog_reader *r, struct name name,
				   const struct folder_record *folder, struct folder_token *token);

/* Returns whether two tokens are the same, without the hashes and without comparing targets. */
bool folder_tokens_same(const struct folder_token *a, const struct folder_token *b);

/* Sets *equal to whether two directories have the same names with equal tokens. Linear in the
 * names. */
MUST_CHECK int folder_trees_equal(struct catalog_reader *r, uint64_t a, uint64_t b, bool *equal);

/* Sets *ranked to what it has to be in the record of the group (struct folder_group). Linear in the
 * folders of an implied group if several of them are in one parent; ends early for other groups.
 * The folder groups must be current. Returns 0 or -errno. */
MUST_CHECK int folder_group_rank(struct catalog_reader *r, const struct folder_group *group,
				 uint64_t *ranked);

/* Adds the token of one entry to the counts of a directory, or subtracts it. */
void folder_count(struct folder_record *folder, const struct folder_token *token, bool add);

#endif
