/* SPDX-License-Identifier: MIT */
#include "catalog/record.h"

#include <string.h>

#include "base/bytes.h"

/* Version of each record, its first byte; a record of another version is damage, because the
 * format of the index as a whole (include/twinfs/format.h) is checked first. */
#define RECORD_VERSION 1
#define CHECKSUM_BYTES 4
#define NANOSECONDS 1000000000

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool attributes_same_inode(const struct attributes *a, const struct attributes *b)
{
	return a->inode == b->inode && a->filesystem == b->filesystem &&
	       (a->mode & S_IFMT) == (b->mode & S_IFMT) && same_time(a->btime, b->btime);
}

bool attributes_same_signature(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_inode(a, b) && a->size == b->size && same_time(a->mtime, b->mtime) &&
	       same_time(a->ctime, b->ctime);
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
	uint64_t parts[] = {attributes_digest(&file->attributes), file->touches};

	return hash64(parts, sizeof(parts), 0);
}

bool attributes_equal(const struct attributes *a, const struct attributes *b)
{
	return attributes_same_signature(a, b) && a->mode == b->mode && a->uid == b->uid &&
	       a->gid == b->gid && a->links == b->links && a->blocks == b->blocks &&
	       a->rdev == b->rdev;
}

/* ---- keys ---------------------------------------------------------------------------- */

static void key_add(struct key *key, uint64_t number)
{
	key->length = (size_t)(varint_put(key->data + key->length, number) - key->data);
}

static void key_add_fixed(struct key *key, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		key->data[key->length++] = (uint8_t)(number >> shift);
}

struct key key_number(uint64_t number)
{
	struct key key = {0};

	key_add(&key, number);
	return key;
}

struct key key_pair(uint64_t first, uint64_t second)
{
	struct key key = {0};

	key_add(&key, first);
	key_add(&key, second);
	return key;
}

struct key key_triple(uint64_t first, uint64_t second, uint64_t third)
{
	struct key key = key_pair(first, second);

	key_add(&key, third);
	return key;
}

struct key key_quad(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth)
{
	struct key key = key_triple(first, second, third);

	key_add(&key, fourth);
	return key;
}

struct key key_hash(struct hash128 hash, uint32_t ordinal)
{
	struct key key = {0};

	key_add_fixed(&key, hash.high);
	key_add_fixed(&key, hash.low);
	key_add(&key, ordinal);
	return key;
}

struct key key_rank(uint64_t reclaimable, uint64_t group)
{
	struct key key = {0};

	key_add_fixed(&key, ~reclaimable);
	key_add(&key, group);
	return key;
}

static bool get_numbers(struct span span, uint64_t *numbers[], size_t count)
{
	const uint8_t *at = span.data, *end = span.data + span.length;

	for (size_t i = 0; i < count; i++) {
		if (!varint_get(&at, end, numbers[i]))
			return false;
	}
	return at == end;
}

bool key_get_number(struct span key, uint64_t *number)
{
	return get_numbers(key, (uint64_t *[]){number}, 1);
}

bool key_get_pair(struct span key, uint64_t *first, uint64_t *second)
{
	return get_numbers(key, (uint64_t *[]){first, second}, 2);
}

bool key_get_triple(struct span key, uint64_t *first, uint64_t *second, uint64_t *third)
{
	return get_numbers(key, (uint64_t *[]){first, second, third}, 3);
}

bool key_get_quad(struct span key, uint64_t *first, uint64_t *second, uint64_t *third,
		  uint64_t *fourth)
{
	return get_numbers(key, (uint64_t *[]){first, second, third, fourth}, 4);
}

bool key_get_rank(struct span key, uint64_t *reclaimable, uint64_t *group)
{
	uint64_t inverted = 0;

	if (key.length < sizeof(inverted))
		return false;
	for (size_t i = 0; i < sizeof(inverted); i++)
		inverted = inverted << 8 | key.data[i];
	*reclaimable = ~inverted;
	return key_get_number((struct span){key.data + sizeof(inverted),
					    key.length - sizeof(inverted)},
			      group);
}

/* ---- version and checksum ------------------------------------------------------------ */

static uint32_t checksum(enum table table, const uint8_t *key, size_t key_length,
			 const uint8_t *value, size_t value_length)
{
	return (uint32_t)hash64(value, value_length, hash64(key, key_length, (uint64_t)table));
}

static struct value value_begin(void)
{
	struct value value;

	value.length = 1;
	value.data[0] = RECORD_VERSION;
	return value;
}

void value_seal(struct value *value, enum table table, const struct key *key)
{
	uint32_t sum = checksum(table, key->data, key->length, value->data, value->length);

	memcpy(value->data + value->length, &sum, CHECKSUM_BYTES);
	value->length += CHECKSUM_BYTES;
}

bool value_open(struct span stored, enum table table, struct span key, struct span *fields)
{
	size_t length = stored.length - CHECKSUM_BYTES;
	uint32_t sum;

	if (stored.length < 1 + CHECKSUM_BYTES || stored.data[0] != RECORD_VERSION)
		return false;
	memcpy(&sum, stored.data + length, CHECKSUM_BYTES);
	if (sum != checksum(table, key.data, key.length, stored.data, length))
		return false;
	*fields = (struct span){stored.data + 1, length - 1};
	return true;
}

/* ---- fields -------------------------------------------------------------------------- */

static void put(struct value *value, uint64_t number)
{
	value->length = (size_t)(varint_put(value->data + value->length, number) - value->data);
}

static void put_bytes(struct value *value, const void *data, size_t length)
{
	memcpy(value->data + value->length, data, length);
	value->length += length;
}

static bool get(struct span *fields, uint64_t *number)
{
	const uint8_t *at = fields->data;

	if (!varint_get(&at, fields->data + fields->length, number))
		return false;
	fields->length -= (size_t)(at - fields->data);
	fields->data = at;
	return true;
}

static bool get32(struct span *fields, uint32_t *number)
{
	uint64_t wide;

	if (!get(fields, &wide) || wide > UINT32_MAX)
		return false;
	*number = (uint32_t)wide;
	return true;
}

static const struct timespec epoch;

/* As the difference to a time that it is often near or equal to: 2 bytes then, at most 15. */
static void put_time_near(struct value *value, struct timespec time, struct timespec near)
{
	uint64_t seconds = (uint64_t)time.tv_sec - (uint64_t)near.tv_sec;
	uint8_t *out = varint_put_signed(value->data + value->length, (int64_t)seconds);

	value->length = (size_t)(out - value->data);
	put(value, time.tv_nsec == near.tv_nsec ? 0 : (uint64_t)time.tv_nsec + 1);
}

static bool get_time_near(struct span *fields, struct timespec *time, struct timespec near)
{
	const uint8_t *at = fields->data;
	int64_t seconds;
	uint64_t code;

	if (!varint_get_signed(&at, fields->data + fields->length, &seconds))
		return false;
	fields->length -= (size_t)(at - fields->data);
	fields->data = at;
	if (!get(fields, &code) || code > NANOSECONDS)
		return false;
	time->tv_sec = (time_t)((uint64_t)seconds + (uint64_t)near.tv_sec);
	time->tv_nsec = code ? (long)code - 1 : near.tv_nsec;
	return true;
}

static void put_attributes(struct value *value, const struct attributes *a)
{
	put(value, a->inode);
	put(value, a->size);
	put(value, a->blocks);
	put(value, a->rdev);
	put(value, a->filesystem);
	put(value, a->mode);
	put(value, a->uid);
	put(value, a->gid);
	put(value, a->links);
	put_time_near(value, a->mtime, epoch);
	put_time_near(value, a->ctime, a->mtime);
	put_time_near(value, a->btime, a->ctime);
	put_time_near(value, a->atime, a->btime);
}

static bool get_attributes(struct span *fields, struct attributes *a)
{
	return get(fields, &a->inode) && get(fields, &a->size) && get(fields, &a->blocks) &&
	       get(fields, &a->rdev) && get32(fields, &a->filesystem) && get32(fields, &a->mode) &&
	       get32(fields, &a->uid) && get32(fields, &a->gid) && get32(fields, &a->links) &&
	       get_time_near(fields, &a->mtime, epoch) &&
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

	put(&value, dir->parent);
	put(&value, dir->source);
	put(&value, dir->flags);
	put(&value, (uint64_t)dir->error);
	put_attributes(&value, &dir->attributes);
	put_bytes(&value, dir->name.bytes, dir->name.length);
	return value;
}

bool decode_dir(struct span fields, struct dir_record *dir)
{
	uint32_t error;

	if (!get(&fields, &dir->parent) || !get32(&fields, &dir->source) ||
	    !get32(&fields, &dir->flags) || !get32(&fields, &error) || error > INT32_MAX)
		return false;
	dir->error = (int32_t)error;
	return get_attributes(&fields, &dir->attributes) && get_name(&fields, &dir->name);
}

struct value encode_file(const struct file_record *file)
{
	struct value value = value_begin();

	put(&value, file->dir);
	put(&value, file->cookie);
	put(&value, file->names);
	put(&value, file->first_seen);
	put(&value, file->touches);
	put(&value, file->name);
	put_attributes(&value, &file->attributes);
	return value;
}

bool decode_file(struct span fields, struct file_record *file)
{
	return get(&fields, &file->dir) && get(&fields, &file->cookie) &&
	       get32(&fields, &file->names) && get32(&fields, &file->first_seen) &&
	       get32(&fields, &file->touches) && get(&fields, &file->name) &&
	       get_attributes(&fields, &file->attributes) && fields.length == 0;
}

struct value encode_entry(const struct entry_record *entry)
{
	struct value value = value_begin();

	put(&value, (uint64_t)entry->kind);
	put(&value, entry->child);
	put_bytes(&value, entry->name.bytes, entry->name.length);
	return value;
}

bool decode_entry(struct span fields, struct entry_record *entry)
{
	uint32_t kind;

	if (!get32(&fields, &kind) || kind < ENTRY_DIR || kind > ENTRY_UNKNOWN ||
	    !get(&fields, &entry->child))
		return false;
	entry->kind = (enum entry_kind)kind;
	return get_name(&fields, &entry->name) && entry->name.length > 0;
}

struct value encode_place(const struct file_name *place)
{
	struct value value = value_begin();

	put(&value, place->file);
	put(&value, place->dir);
	put(&value, place->cookie);
	return value;
}

bool decode_place(struct span fields, struct file_name *place)
{
	return get(&fields, &place->file) && get(&fields, &place->dir) &&
	       get(&fields, &place->cookie) && fields.length == 0;
}

/* 8 bytes, the upper ones first: a hash as a varint would take more. */
static void put_fixed(struct value *value, uint64_t number)
{
	for (int shift = 56; shift >= 0; shift -= 8)
		value->data[value->length++] = (uint8_t)(number >> shift);
}

static bool get_fixed(struct span *fields, uint64_t *number)
{
	if (fields->length < sizeof(*number))
		return false;
	*number = 0;
	for (size_t i = 0; i < sizeof(*number); i++)
		*number = *number << 8 | fields->data[i];
	fields->data += sizeof(*number);
	fields->length -= sizeof(*number);
	return true;
}

struct value encode_content(const struct content_record *content)
{
	struct value value = value_begin();

	put(&value, content->head);
	put(&value, content->group);
	if (content_has_hash(content)) {
		put_fixed(&value, content->hash.high);
		put_fixed(&value, content->hash.low);
	}
	return value;
}

bool decode_content(struct span fields, struct content_record *content)
{
	content->hash = (struct hash128){0};
	if (!get(&fields, &content->head) || !get(&fields, &content->group) || content->head == 0)
		return false;
	if (fields.length == 0)
		return true;
	return get_fixed(&fields, &content->hash.high) && get_fixed(&fields, &content->hash.low) &&
	       fields.length == 0 && content_has_hash(content) && content->group == 0;
}

struct value encode_group(const struct group_record *group)
{
	struct value value = value_begin();

	put(&value, group->hash.high);
	put(&value, group->hash.low);
	put(&value, group->ordinal);
	put(&value, group->size);
	put(&value, group->inodes);
	put(&value, group->kept);
	put_time_near(&value, group->changed, epoch);
	return value;
}

bool decode_group(struct span fields, struct group_record *group)
{
	return get(&fields, &group->hash.high) && get(&fields, &group->hash.low) &&
	       get32(&fields, &group->ordinal) && get(&fields, &group->size) &&
	       get(&fields, &group->inodes) && get(&fields, &group->kept) &&
	       get_time_near(&fields, &group->changed, epoch) && fields.length == 0;
}

struct value encode_number(uint64_t number)
{
	struct value value = value_begin();

	put(&value, number);
	return value;
}

bool decode_number(struct span fields, uint64_t *number)
{
	return get(&fields, number) && fields.length == 0;
}

struct value encode_text(const char *text, size_t length)
{
	struct value value = value_begin();

	put_bytes(&value, text, length);
	return value;
}

struct value encode_nothing(void)
{
	return value_begin();
}

static void put_sum(struct value *value, const struct size_sum *sum)
{
	put(value, sum->low);
	put(value, sum->high);
}

static bool get_sum(struct span *fields, struct size_sum *sum)
{
	return get(fields, &sum->low) && get(fields, &sum->high);
}

struct value encode_totals(const struct catalog_totals *t)
{
	struct value value = value_begin();

	put(&value, t->generation);
	put(&value, t->scans);
	put(&value, t->comparisons);
	put(&value, t->directories);
	put(&value, t->files);
	put_sum(&value, &t->bytes);
	put(&value, t->blocks);
	put(&value, t->names);
	put(&value, t->groups);
	put(&value, t->redundant_files);
	put_sum(&value, &t->redundant_bytes);
	put(&value, t->errors);
	put(&value, t->unlisted);
	put(&value, t->order);
	put_time_near(&value, t->changed, epoch);
	return value;
}

bool decode_totals(struct span fields, struct catalog_totals *t)
{
	return get(&fields, &t->generation) && get(&fields, &t->scans) &&
	       get(&fields, &t->comparisons) && get(&fields, &t->directories) &&
	       get(&fields, &t->files) && get_sum(&fields, &t->bytes) && get(&fields, &t->blocks) &&
	       get(&fields, &t->names) && get(&fields, &t->groups) &&
	       get(&fields, &t->redundant_files) && get_sum(&fields, &t->redundant_bytes) &&
	       get(&fields, &t->errors) && get(&fields, &t->unlisted) && get(&fields, &t->order) &&
	       get_time_near(&fields, &t->changed, epoch) && fields.length == 0;
}
