/* SPDX-License-Identifier: MIT */
#include "catalog/record.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"

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

/* ---- fields -------------------------------------------------------------------------- */

static const struct timespec epoch;

/* Encodes a time as its difference to another time, which is often near or equal. An equal time
 * takes 2 bytes, others at most 14. */
static void put_time_near(struct value *value, struct timespec time, struct timespec near)
{
	value_put_signed(value, (int64_t)((uint64_t)time.tv_sec - (uint64_t)near.tv_sec));
	value_put(value, time.tv_nsec == near.tv_nsec ? 0 : (uint64_t)time.tv_nsec + 1);
}

static bool get_time_near(struct span *fields, struct timespec *time, struct timespec near)
{
	int64_t seconds;
	uint64_t code;

	if (!span_get_signed(fields, &seconds) || !span_get(fields, &code) || code > SECOND_NS)
		return false;
	time->tv_sec = (time_t)((uint64_t)seconds + (uint64_t)near.tv_sec);
	time->tv_nsec = code ? (long)code - 1 : near.tv_nsec;
	return true;
}

static void put_attributes(struct value *value, const struct attributes *a)
{
	value_put(value, a->inode);
	value_put(value, a->size);
	value_put(value, a->blocks);
	value_put(value, a->rdev);
	value_put(value, a->filesystem);
	value_put(value, a->mode);
	value_put(value, a->uid);
	value_put(value, a->gid);
	value_put(value, a->links);
	put_time_near(value, a->mtime, epoch);
	put_time_near(value, a->ctime, a->mtime);
	put_time_near(value, a->btime, a->ctime);
	put_time_near(value, a->atime, a->btime);
}

static bool get_attributes(struct span *fields, struct attributes *a)
{
	return span_get(fields, &a->inode) && span_get(fields, &a->size) &&
	       span_get(fields, &a->blocks) && span_get(fields, &a->rdev) &&
	       span_get32(fields, &a->filesystem) && span_get32(fields, &a->mode) &&
	       span_get32(fields, &a->uid) && span_get32(fields, &a->gid) &&
	       span_get32(fields, &a->links) && get_time_near(fields, &a->mtime, epoch) &&
	       get_time_near(fields, &a->ctime, a->mtime) &&
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
	struct value value = value_begin();

	value_put(&value, dir->parent);
	value_put(&value, dir->source);
	value_put(&value, dir->flags);
	value_put(&value, (uint64_t)dir->error);
	put_attributes(&value, &dir->attributes);
	value_put_bytes(&value, dir->name.bytes, dir->name.length);
	return value;
}

bool decode_dir(struct span fields, struct dir_record *dir)
{
	uint32_t error;

	if (!span_get(&fields, &dir->parent) || !span_get32(&fields, &dir->source) ||
	    !span_get32(&fields, &dir->flags) || !span_get32(&fields, &error) || error > INT32_MAX)
		return false;
	dir->error = (int32_t)error;
	return get_attributes(&fields, &dir->attributes) && get_name(&fields, &dir->name);
}

struct value encode_file(const struct file_record *file)
{
	struct value value = value_begin();

	value_put(&value, file->dir);
	value_put(&value, file->cookie);
	value_put(&value, file->names);
	value_put(&value, file->first_seen);
	value_put(&value, file->content_version);
	value_put(&value, file->name);
	put_attributes(&value, &file->attributes);
	return value;
}

/* Gets the fields before the attributes. */
static bool get_file_name(struct span *fields, struct file_record *file)
{
	return span_get(fields, &file->dir) && span_get(fields, &file->cookie) &&
	       span_get32(fields, &file->names) && span_get32(fields, &file->first_seen) &&
	       span_get32(fields, &file->content_version) && span_get(fields, &file->name);
}

bool decode_file(struct span fields, struct file_record *file)
{
	return get_file_name(&fields, file) && get_attributes(&fields, &file->attributes) &&
	       fields.length == 0;
}

bool decode_file_name(struct span fields, struct file_record *file)
{
	return get_file_name(&fields, file);
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
	if (content_has_hash(content)) {
		value_put_fixed(&value, content->hash.high);
		value_put_fixed(&value, content->hash.low);
	}
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
	return span_get_fixed(&fields, &content->hash.high) &&
	       span_get_fixed(&fields, &content->hash.low) && fields.length == 0 &&
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
	put_time_near(&value, group->changed, epoch);
	return value;
}

bool decode_group(struct span fields, struct group_record *group)
{
	return span_get(&fields, &group->hash.high) && span_get(&fields, &group->hash.low) &&
	       span_get32(&fields, &group->ordinal) && span_get(&fields, &group->size) &&
	       span_get(&fields, &group->inodes) && span_get(&fields, &group->kept) &&
	       get_time_near(&fields, &group->changed, epoch) && fields.length == 0;
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

struct value encode_totals(const struct catalog_totals *t)
{
	struct value value = value_begin();

	value_put(&value, t->generation);
	value_put(&value, t->scans);
	value_put(&value, t->comparisons);
	value_put(&value, t->directories);
	value_put(&value, t->files);
	put_sum(&value, &t->bytes);
	value_put(&value, t->blocks);
	value_put(&value, t->names);
	value_put(&value, t->groups);
	value_put(&value, t->redundant_files);
	put_sum(&value, &t->redundant_bytes);
	value_put(&value, t->errors);
	value_put(&value, t->unlisted);
	value_put(&value, t->order);
	put_time_near(&value, t->changed, epoch);
	return value;
}

bool decode_totals(struct span fields, struct catalog_totals *t)
{
	return span_get(&fields, &t->generation) && span_get(&fields, &t->scans) &&
	       span_get(&fields, &t->comparisons) && span_get(&fields, &t->directories) &&
	       span_get(&fields, &t->files) && get_sum(&fields, &t->bytes) &&
	       span_get(&fields, &t->blocks) && span_get(&fields, &t->names) &&
	       span_get(&fields, &t->groups) && span_get(&fields, &t->redundant_files) &&
	       get_sum(&fields, &t->redundant_bytes) && span_get(&fields, &t->errors) &&
	       span_get(&fields, &t->unlisted) && span_get(&fields, &t->order) &&
	       get_time_near(&fields, &t->changed, epoch) && fields.length == 0;
}

uint64_t name_cookie(uint64_t seed, struct name name)
{
	uint64_t cookie = hash64(name.bytes, name.length, seed) << 4 & (UINT64_MAX >> 1);

	return cookie ? cookie : ENTRY_COOKIE_MIN;
}

bool names_equal(struct name a, struct name b)
{
	return a.length == b.length && memcmp(a.bytes, b.bytes, a.length) == 0;
}
