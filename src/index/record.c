/* SPDX-License-Identifier: MIT */
#include "index/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "twinfs/format.h"

/* ---- fields -------------------------------------------------------------------------- */

static void put_time(struct value *value, struct timespec time)
{
	value_put_signed(value, time.tv_sec);
	value_put(value, (uint64_t)time.tv_nsec);
}

static bool get_time(struct span *fields, struct timespec *time)
{
	int64_t seconds;
	uint64_t ns;

	if (!span_get_signed(fields, &seconds) || !span_get(fields, &ns) || ns >= SECOND_NS)
		return false;
	*time = (struct timespec){(time_t)seconds, (long)ns};
	return true;
}

static bool is_zero(struct timespec time)
{
	return time.tv_sec == 0 && time.tv_nsec == 0;
}

/* Greatest difference in seconds of two times that are near each other, so that their difference in
 * nanoseconds is a number of 63 bits. */
#define NEAR_SECONDS (INT64_C(1) << 32)

/* Precedes a time that is not near. */
#define TIME_FAR INT64_MIN

/* Sets *ns to the difference of two times. Returns false if they are not near each other. */
static bool subtract_near(struct timespec time, struct timespec near, int64_t *ns)
{
	int64_t seconds;

	if (__builtin_sub_overflow(time.tv_sec, near.tv_sec, &seconds) || seconds > NEAR_SECONDS ||
	    seconds < -NEAR_SECONDS)
		return false;
	*ns = seconds * (int64_t)SECOND_NS + (time.tv_nsec - near.tv_nsec);
	return true;
}

/* Encodes a time as its difference to another time in nanoseconds. Times of one file are often
 * equal, which takes a byte. */
static void put_time_near(struct value *value, struct timespec time, struct timespec near)
{
	int64_t ns;

	if (subtract_near(time, near, &ns)) {
		value_put_signed(value, ns);
		return;
	}
	value_put_signed(value, TIME_FAR);
	put_time(value, time);
}

/* Sets *time to a near time. Returns false if the difference is too large. */
static bool add_near(struct timespec near, int64_t ns, struct timespec *time)
{
	const int64_t second = (int64_t)SECOND_NS;
	int64_t seconds = ns / second, again;
	long rest = near.tv_nsec + (long)(ns % second), carry = 0;

	if (rest < 0)
		carry = -1;
	else if (rest >= second)
		carry = 1;
	if (__builtin_add_overflow(near.tv_sec, seconds + carry, &time->tv_sec))
		return false;
	time->tv_nsec = rest - carry * second;
	return subtract_near(*time, near, &again);
}

static bool get_time_near(struct span *fields, struct timespec *time, struct timespec near)
{
	int64_t ns;

	if (!span_get_signed(fields, &ns))
		return false;
	if (ns == 0) {
		*time = near;
		return true;
	}
	if (ns != TIME_FAR)
		return add_near(near, ns, time);
	return get_time(fields, time) && !subtract_near(*time, near, &ns);
}

/* Fields that a record has only if their value is not the usual one, as bits of its first number.
 */
enum optional_field {
	FIELD_BLOCKS = 1, /* unless usual_blocks() */
	FIELD_RDEV = 2, /* unless 0 */
	FIELD_GID = 4, /* unless equal to uid */
	FIELD_LINKS = 8, /* unless 1 */
	FIELD_NAMES = 16, /* unless 1 */
	FIELD_VERSION = 32, /* unless 0 */
	FIELD_NAME = 64, /* unless 0 */
	FIELD_COPY_MARK = 128, /* has no value: set if true */
	FIELD_KEPT_HASH = 256, /* unless zero; kept_until follows */
	FIELD_SHOWN_SINCE = 512, /* unless zero */
};

/* The usual mode, from which encoded modes differ in few bits. */
#define USUAL_MODE (S_IFREG | 0644)

/* Returns the blocks of a file without holes in blocks of 4 KiB. */
static uint64_t usual_blocks(uint64_t size)
{
	return (size / 4096 + (size % 4096 != 0)) * 8;
}

static uint32_t fields_of_attributes(const struct attributes *a)
{
	return (a->blocks != usual_blocks(a->size) ? FIELD_BLOCKS : 0U) |
	       (a->rdev ? FIELD_RDEV : 0U) | (a->gid != a->uid ? FIELD_GID : 0U) |
	       (a->links != 1 ? FIELD_LINKS : 0U);
}

/* Encodes a field if it is one of those in optional. */
static void put_optional(struct value *value, uint32_t optional, enum optional_field field,
			 uint64_t number)
{
	if (optional & field)
		value_put(value, number);
}

/* Decodes a field if it is one of those in optional. The caller has set *number to the usual value.
 */
static bool get_optional(struct span *fields, uint32_t optional, enum optional_field field,
			 uint64_t *number)
{
	return !(optional & field) || span_get(fields, number);
}

static bool get_optional32(struct span *fields, uint32_t optional, enum optional_field field,
			   uint32_t *number)
{
	return !(optional & field) || span_get32(fields, number);
}

static void put_attributes(struct value *value, uint32_t optional, const struct attributes *a)
{
	value_put(value, a->inode);
	value_put(value, a->size);
	value_put(value, a->filesystem);
	value_put(value, a->mode ^ USUAL_MODE);
	value_put(value, a->uid);
	put_optional(value, optional, FIELD_BLOCKS, a->blocks);
	put_optional(value, optional, FIELD_RDEV, a->rdev);
	put_optional(value, optional, FIELD_GID, a->gid);
	put_optional(value, optional, FIELD_LINKS, a->links);
	put_time(value, a->mtime);
	put_time_near(value, a->ctime, a->mtime);
	put_time_near(value, a->btime, a->ctime);
	put_time_near(value, a->atime, a->btime);
}

static bool get_attributes(struct span *fields, uint32_t optional, struct attributes *a)
{
	if (!span_get(fields, &a->inode) || !span_get(fields, &a->size) ||
	    !span_get32(fields, &a->filesystem) || !span_get32(fields, &a->mode) ||
	    !span_get32(fields, &a->uid))
		return false;
	a->mode ^= USUAL_MODE;
	a->blocks = usual_blocks(a->size);
	a->rdev = 0;
	a->gid = a->uid;
	a->links = 1;
	a->encrypted = false;
	return get_optional(fields, optional, FIELD_BLOCKS, &a->blocks) &&
	       get_optional(fields, optional, FIELD_RDEV, &a->rdev) &&
	       get_optional32(fields, optional, FIELD_GID, &a->gid) &&
	       get_optional32(fields, optional, FIELD_LINKS, &a->links) &&
	       get_time(fields, &a->mtime) && get_time_near(fields, &a->ctime, a->mtime) &&
	       get_time_near(fields, &a->btime, a->ctime) &&
	       get_time_near(fields, &a->atime, a->btime);
}

static bool get_name(struct span *fields, struct name *name)
{
	if (fields->length > NAME_BYTES_MAX)
		return false;
	*name = (struct name){(const char *)fields->data, (uint32_t)fields->length};
	fields->length = 0;
	return true;
}

struct value encode_dir(const struct dir_record *dir)
{
	uint32_t optional = fields_of_attributes(&dir->attributes);
	struct value value = value_begin();

	value_put(&value, optional);
	value_put(&value, dir->parent);
	value_put(&value, dir->source);
	value_put(&value, dir->flags);
	value_put(&value, (uint64_t)dir->error);
	put_attributes(&value, optional, &dir->attributes);
	value_put_bytes(&value, dir->name.bytes, dir->name.length);
	return value;
}

bool decode_dir(struct span fields, struct dir_record *dir)
{
	uint32_t optional, error;

	if (!span_get32(&fields, &optional) || !span_get(&fields, &dir->parent) ||
	    !span_get32(&fields, &dir->source) || !span_get32(&fields, &dir->flags) ||
	    !span_get32(&fields, &error) || error > INT32_MAX)
		return false;
	dir->error = (int32_t)error;
	return get_attributes(&fields, optional, &dir->attributes) && get_name(&fields, &dir->name);
}

static void put_hash(struct value *value, struct hash128 hash)
{
	value_put_fixed(value, hash.high);
	value_put_fixed(value, hash.low);
}

static bool get_hash(struct span *fields, struct hash128 *hash)
{
	return span_get_fixed(fields, &hash->high) && span_get_fixed(fields, &hash->low);
}

struct value encode_file(const struct file_record *file)
{
	uint32_t optional =
		fields_of_attributes(&file->attributes) | (file->names != 1 ? FIELD_NAMES : 0U) |
		(file->content_version ? FIELD_VERSION : 0U) | (file->name ? FIELD_NAME : 0U) |
		(file->copy_mark ? FIELD_COPY_MARK : 0U) |
		(file_was_kept(file) ? FIELD_KEPT_HASH : 0U) |
		(is_zero(file->shown_since) ? 0U : FIELD_SHOWN_SINCE);
	struct value value = value_begin();

	value_put(&value, optional);
	value_put(&value, file->dir);
	value_put(&value, file->cookie);
	value_put(&value, file->first_seen);
	put_optional(&value, optional, FIELD_NAMES, file->names);
	put_optional(&value, optional, FIELD_VERSION, file->content_version);
	put_optional(&value, optional, FIELD_NAME, file->name);
	if (optional & FIELD_KEPT_HASH) {
		put_hash(&value, file->kept_hash);
		value_put(&value, file->kept_until);
	}
	if (optional & FIELD_SHOWN_SINCE)
		put_time(&value, file->shown_since);
	put_attributes(&value, optional, &file->attributes);
	return value;
}

/* Gets the fields before the attributes. */
static bool get_file_name(struct span *fields, uint32_t *optional, struct file_record *file)
{
	file->names = 1;
	file->content_version = 0;
	file->name = 0;
	file->kept_hash = (struct hash128){0};
	file->kept_until = 0;
	file->shown_since = (struct timespec){0};
	if (!span_get32(fields, optional))
		return false;
	file->copy_mark = *optional & FIELD_COPY_MARK;
	return span_get(fields, &file->dir) && span_get(fields, &file->cookie) &&
	       span_get32(fields, &file->first_seen) &&
	       get_optional32(fields, *optional, FIELD_NAMES, &file->names) &&
	       get_optional32(fields, *optional, FIELD_VERSION, &file->content_version) &&
	       get_optional(fields, *optional, FIELD_NAME, &file->name) &&
	       (!(*optional & FIELD_KEPT_HASH) ||
		(get_hash(fields, &file->kept_hash) && span_get(fields, &file->kept_until))) &&
	       (!(*optional & FIELD_SHOWN_SINCE) || get_time(fields, &file->shown_since));
}

bool decode_file(struct span fields, struct file_record *file)
{
	uint32_t optional;

	return get_file_name(&fields, &optional, file) &&
	       get_attributes(&fields, optional, &file->attributes) && fields.length == 0;
}

bool decode_file_name(struct span fields, struct file_record *file)
{
	uint32_t optional;

	return get_file_name(&fields, &optional, file);
}

/* A bit for each number with a file, then the id of each file, as the difference to the one before.
 */
struct value encode_inodes(const struct inode_block *inodes)
{
	struct value value = value_begin();
	uint64_t last = 0;
	uint32_t used = 0;

	for (uint32_t i = 0; i < INODE_BLOCK_NUMBERS; i++)
		used |= (uint32_t)(inodes->files[i] != 0) << i;
	value_put(&value, used);
	for (uint32_t i = 0; i < INODE_BLOCK_NUMBERS; i++) {
		if (inodes->files[i] == 0)
			continue;
		value_put_signed(&value, (int64_t)(inodes->files[i] - last));
		last = inodes->files[i];
	}
	return value;
}

bool decode_inodes(struct span fields, struct inode_block *inodes)
{
	uint64_t last = 0;
	uint32_t used;
	int64_t step;

	*inodes = (struct inode_block){0};
	if (!span_get32(&fields, &used) || used == 0)
		return false;
	for (uint32_t i = 0; i < INODE_BLOCK_NUMBERS; i++) {
		if (!(used >> i & 1))
			continue;
		if (!span_get_signed(&fields, &step))
			return false;
		last += (uint64_t)step;
		if (last == 0)
			return false;
		inodes->files[i] = last;
	}
	return fields.length == 0;
}

struct value encode_entry(const struct entry_record *entry)
{
	struct value value = value_begin();

	value_put(&value, (uint64_t)entry->kind);
	value_put(&value, entry->child);
	value_put_bytes(&value, entry->name.bytes, entry->name.length);
	return value;
}

bool decode_entry(struct span fields, struct entry_record *entry)
{
	uint32_t kind;

	if (!span_get32(&fields, &kind) || kind < ENTRY_DIR || kind > ENTRY_UNKNOWN ||
	    !span_get(&fields, &entry->child))
		return false;
	entry->kind = (enum entry_kind)kind;
	return get_name(&fields, &entry->name) && entry->name.length > 0;
}

struct value encode_place(const struct file_name *place)
{
	struct value value = value_begin();

	value_put(&value, place->file);
	value_put(&value, place->dir);
	value_put(&value, place->cookie);
	return value;
}

bool decode_place(struct span fields, struct file_name *place)
{
	return span_get(&fields, &place->file) && span_get(&fields, &place->dir) &&
	       span_get(&fields, &place->cookie) && fields.length == 0;
}

struct value encode_content(const struct content_record *content)
{
	struct value value = value_begin();

	value_put(&value, content->prefix);
	value_put(&value, content->group);
	if (content_has_hash(content))
		put_hash(&value, content->hash);
	return value;
}

bool decode_content(struct span fields, struct content_record *content)
{
	content->hash = (struct hash128){0};
	if (!span_get(&fields, &content->prefix) || !span_get(&fields, &content->group) ||
	    content->prefix == 0)
		return false;
	if (fields.length == 0)
		return true;
	return get_hash(&fields, &content->hash) && fields.length == 0 &&
	       content_has_hash(content) && content->group == 0;
}

struct value encode_group(const struct group_record *group)
{
	struct value value = value_begin();

	value_put(&value, group->hash.high);
	value_put(&value, group->hash.low);
	value_put(&value, group->ordinal);
	value_put(&value, group->size);
	value_put(&value, group->inodes);
	value_put(&value, group->kept);
	put_time(&value, group->changed);
	/* one byte, if the file system has no shared extents */
	value_put(&value, group->maps ? group->retained + 1 : 0);
	return value;
}

bool decode_group(struct span fields, struct group_record *group)
{
	uint64_t retained = 0;
	bool decoded = span_get(&fields, &group->hash.high) &&
		       span_get(&fields, &group->hash.low) &&
		       span_get32(&fields, &group->ordinal) && span_get(&fields, &group->size) &&
		       span_get(&fields, &group->inodes) && span_get(&fields, &group->kept) &&
		       get_time(&fields, &group->changed) && span_get(&fields, &retained) &&
		       fields.length == 0;

	group->maps = retained > 0;
	group->retained = retained > 0 ? retained - 1 : 0;
	return decoded;
}

/* A count only, or also both times, which are often equal. */
struct value encode_redundant(const struct redundant_record *redundant)
{
	struct value value = value_begin();

	value_put(&value, redundant->count);
	if (is_zero(redundant->in_redundant))
		return value;
	put_time(&value, redundant->in_redundant);
	put_time_near(&value, redundant->in_uniques, redundant->in_redundant);
	return value;
}

bool decode_redundant(struct span fields, struct redundant_record *redundant)
{
	*redundant = (struct redundant_record){0};
	if (!span_get(&fields, &redundant->count))
		return false;
	if (fields.length == 0)
		return redundant->count > 0;
	return get_time(&fields, &redundant->in_redundant) &&
	       get_time_near(&fields, &redundant->in_uniques, redundant->in_redundant) &&
	       fields.length == 0 && !is_zero(redundant->in_redundant) &&
	       !clock_is_earlier(redundant->in_redundant, redundant->in_uniques);
}

struct value encode_extents(const struct extent_record *extents)
{
	struct value value = value_begin();

	value_put(&value, extents->own);
	value_put(&value, extents->sharing);
	value_put(&value, extents->sharers);
	value_put(&value, extents->joint);
	return value;
}

bool decode_extents(struct span fields, struct extent_record *extents)
{
	return span_get(&fields, &extents->own) && span_get(&fields, &extents->sharing) &&
	       span_get(&fields, &extents->sharers) && span_get(&fields, &extents->joint) &&
	       fields.length == 0;
}

enum folder_flag {
	FOLDER_COUNTED = 1,
	FOLDER_LISTED = 2,
};

struct value encode_folder(const struct folder_record *folder)
{
	struct value value = value_begin();

	value_put(&value,
		  (folder->counted ? FOLDER_COUNTED : 0) | (folder->listed ? FOLDER_LISTED : 0));
	if (!folder->counted) {
		value_put(&value, folder->witness);
		return value;
	}
	value_put(&value, folder->unequal);
	value_put(&value, folder->subfolders);
	put_hash(&value, folder->sum);
	value_put(&value, folder->files);
	value_put(&value, folder->bytes);
	value_put(&value, folder->group);
	return value;
}

bool decode_folder(struct span fields, struct folder_record *folder)
{
	uint32_t flags;

	*folder = (struct folder_record){0};
	if (!span_get32(&fields, &flags) || flags > (FOLDER_COUNTED | FOLDER_LISTED))
		return false;
	folder->counted = flags & FOLDER_COUNTED;
	folder->listed = flags & FOLDER_LISTED;
	if (!folder->counted)
		return !folder->listed && span_get(&fields, &folder->witness) && fields.length == 0;
	return span_get(&fields, &folder->unequal) && span_get(&fields, &folder->subfolders) &&
	       get_hash(&fields, &folder->sum) && span_get(&fields, &folder->files) &&
	       span_get(&fields, &folder->bytes) && span_get(&fields, &folder->group) &&
	       fields.length == 0;
}

struct value encode_folder_group(const struct folder_group *group)
{
	struct value value = value_begin();

	value_put(&value, group->folders);
	value_put(&value, group->files);
	value_put(&value, group->bytes);
	value_put(&value, group->ranked);
	put_hash(&value, group->sum);
	return value;
}

bool decode_folder_group(struct span fields, struct folder_group *group)
{
	return span_get(&fields, &group->folders) && span_get(&fields, &group->files) &&
	       span_get(&fields, &group->bytes) && span_get(&fields, &group->ranked) &&
	       get_hash(&fields, &group->sum) && fields.length == 0;
}

static void put_sum(struct value *value, const struct size_sum *sum)
{
	value_put(value, sum->low);
	value_put(value, sum->high);
}

static bool get_sum(struct span *fields, struct size_sum *sum)
{
	return span_get(fields, &sum->low) && span_get(fields, &sum->high);
}

enum totals_flag {
	TOTALS_NONE_PENDING = 1,
	TOTALS_CHOOSE_ANEW = 2,
	TOTALS_FOLDERS_KNOWN = 4,
	TOTALS_FLAGS = 7,
};

struct value encode_totals(const struct catalog_totals *t)
{
	struct value value = value_begin();

	value_put(&value, t->generation);
	value_put(&value, t->scans);
	value_put(&value, t->unended);
	value_put(&value, t->comparisons);
	value_put(&value, t->directories);
	value_put(&value, t->files);
	value_put(&value, t->others);
	put_sum(&value, &t->bytes);
	value_put(&value, t->blocks);
	value_put(&value, t->names);
	value_put(&value, t->groups);
	value_put(&value, t->redundant_files);
	put_sum(&value, &t->redundant_bytes);
	put_sum(&value, &t->reclaimable_bytes);
	value_put(&value, t->errors);
	value_put(&value, t->unlisted);
	value_put(&value, t->choose_from);
	value_put(&value, t->order);
	value_put(&value, t->folder_groups);
	value_put(&value, t->folder_order);
	put_time(&value, t->changed);
	value_put(&value, (t->none_pending ? TOTALS_NONE_PENDING : 0) |
				  (t->choose_anew ? TOTALS_CHOOSE_ANEW : 0) |
				  (t->folders_known ? TOTALS_FOLDERS_KNOWN : 0));
	value_put(&value, t->folder_changes);
	if (t->viewed != TWINFS_ID_MAX)
		value_put(&value, t->viewed);
	return value;
}

/* An index of the format before has no such field: views possibly showed all. */
static bool get_viewed(struct span *fields, uint64_t *viewed)
{
	*viewed = TWINFS_ID_MAX;
	return fields->length == 0 || span_get(fields, viewed);
}

bool decode_totals(struct span fields, struct catalog_totals *t)
{
	uint32_t flags;
	bool decoded = span_get(&fields, &t->generation) && span_get(&fields, &t->scans) &&
		       span_get(&fields, &t->unended) && span_get(&fields, &t->comparisons) &&
		       span_get(&fields, &t->directories) && span_get(&fields, &t->files) &&
		       span_get(&fields, &t->others) && get_sum(&fields, &t->bytes) &&
		       span_get(&fields, &t->blocks) && span_get(&fields, &t->names) &&
		       span_get(&fields, &t->groups) && span_get(&fields, &t->redundant_files) &&
		       get_sum(&fields, &t->redundant_bytes) &&
		       get_sum(&fields, &t->reclaimable_bytes) && span_get(&fields, &t->errors) &&
		       span_get(&fields, &t->unlisted) && span_get(&fields, &t->choose_from) &&
		       span_get(&fields, &t->order) && span_get(&fields, &t->folder_groups) &&
		       span_get(&fields, &t->folder_order) && get_time(&fields, &t->changed) &&
		       span_get32(&fields, &flags) && flags <= TOTALS_FLAGS &&
		       span_get(&fields, &t->folder_changes) && get_viewed(&fields, &t->viewed) &&
		       fields.length == 0;

	t->none_pending = decoded && flags & TOTALS_NONE_PENDING;
	t->choose_anew = decoded && flags & TOTALS_CHOOSE_ANEW;
	t->folders_known = decoded && flags & TOTALS_FOLDERS_KNOWN;
	return decoded;
}

struct value encode_blocks_state(const struct blocks_state *state)
{
	struct value value = value_begin();

	value_put_fixed(&value, state->digest);
	value_put(&value, state->block_bits);
	return value;
}

bool decode_blocks_state(struct span fields, struct blocks_state *state)
{
	return span_get_fixed(&fields, &state->digest) && span_get32(&fields, &state->block_bits) &&
	       state->block_bits >= BLOCKS_BITS_MIN && state->block_bits <= BLOCKS_BITS_MAX &&
	       fields.length == 0;
}

struct value encode_blocks_part(const struct blocks_part *part)
{
	struct value value = value_begin();

	for (uint32_t i = 0; i < part->count; i++)
		value_put_fixed(&value, part->hashes[i]);
	return value;
}

bool decode_blocks_part(struct span fields, struct blocks_part *part)
{
	if (fields.length == 0 || fields.length % sizeof(part->hashes[0]) != 0 ||
	    fields.length / sizeof(part->hashes[0]) > BLOCKS_PART)
		return false;
	part->count = (uint32_t)(fields.length / sizeof(part->hashes[0]));
	for (uint32_t i = 0; i < part->count; i++) {
		if (!span_get_fixed(&fields, &part->hashes[i]))
			return false;
	}
	return true;
}

struct value encode_digest(const struct digest_record *digest)
{
	struct value value = value_begin();

	value_put_fixed(&value, digest->state);
	value_put_bytes(&value, digest->bytes, sizeof(digest->bytes));
	return value;
}

bool decode_digest(struct span fields, struct digest_record *digest)
{
	if (!span_get_fixed(&fields, &digest->state) || fields.length != sizeof(digest->bytes))
		return false;
	memcpy(digest->bytes, fields.data, sizeof(digest->bytes));
	return true;
}

uint64_t name_cookie(uint64_t seed, struct name name)
{
	uint64_t hash = hash64(name.bytes, name.length, seed) >> (64 - ENTRY_HASH_BITS);
	uint64_t cookie = hash * ENTRY_COOKIE_SLOTS;

	return cookie ? cookie : ENTRY_COOKIE_MIN;
}

bool names_equal(struct name a, struct name b)
{
	return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}

/* ---- attributes --------------------------------------------------------------------- */

bool attributes_same_inode(const struct attributes *a, const struct attributes *b)
{
	return a->inode == b->inode && a->filesystem == b->filesystem &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT) && clock_equal(a->btime, b->btime);
}

bool attributes_same_signature(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_inode(a, b) && a->size == b->size &&
	       clock_equal(a->mtime, b->mtime) && clock_equal(a->ctime, b->ctime);
}

uint64_t attributes_digest(const struct attributes *a)
{
	uint64_t parts[] = {
		a->filesystem,
		a->inode,
		a->mode & S_IFMT,
		(uint64_t)a->btime.tv_sec,
		(uint64_t)a->btime.tv_nsec,
		a->size,
		(uint64_t)a->mtime.tv_sec,
		(uint64_t)a->mtime.tv_nsec,
		(uint64_t)a->ctime.tv_sec,
		(uint64_t)a->ctime.tv_nsec,
	};

	return hash64(parts, sizeof(parts), 0);
}

void file_set_shown(struct file_record *file, struct timespec now)
{
	file->shown_since =
		clock_after(now, clock_latest(file->attributes.ctime, file->shown_since));
}

uint64_t file_digest(const struct file_record *file)
{
	uint64_t parts[] = {attributes_digest(&file->attributes), file->content_version};

	return hash64(parts, sizeof(parts), 0);
}

bool attributes_equal(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_signature(a, b) && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && a->links == b->links && a->blocks == b->blocks &&
	       a->rdev == b->rdev;
}
