/* SPDX-License-Identifier: MIT */

/* Records and keys of the index. A decoded record is encoded to the same values in no more bytes.
 * Keys have the order of their numbers. The first byte of an input selects how the other bytes are
 * used. */

#include "fuzz.h"
#include "index/record.h"
#include "index/store/value.h"

static const uint64_t id = 7;

/* The fields of a sealed value. */
static struct span fields_of(struct value *value, enum table table)
{
	const struct key key = key_number(id);
	struct span fields = {0};

	value_seal(value, table, &key);
	REQUIRE(value->length <= RECORD_BYTES_MAX);
	REQUIRE(value_open((struct span){value->data, value->length}, table,
			   (struct span){key.data, key.length}, &fields));
	return fields;
}

static int same(struct span a, struct span b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

/* Defines the check of a kind of record. */
#define CHECK_OF(name, type, table, encode, decode)                \
	static void check_##name(struct span fields)               \
	{                                                          \
		type record = {0}, again = {0};                    \
		struct value value, second;                        \
		struct span written;                               \
                                                                   \
		if (!decode(fields, &record))                      \
			return;                                    \
		value = encode(&record);                           \
		written = fields_of(&value, table);                \
		REQUIRE(written.length <= fields.length);          \
		REQUIRE(decode(written, &again));                  \
		second = encode(&again);                           \
		REQUIRE(same(written, fields_of(&second, table))); \
	}                                                          \
	_Static_assert(1, "")

static struct value encode_number_at(const uint64_t *number)
{
	return encode_number(*number);
}

CHECK_OF(dir, struct dir_record, TABLE_DIR, encode_dir, decode_dir);
CHECK_OF(file, struct file_record, TABLE_FILE, encode_file, decode_file);
CHECK_OF(entry, struct entry_record, TABLE_ENTRY, encode_entry, decode_entry);
CHECK_OF(content, struct content_record, TABLE_CONTENT, encode_content, decode_content);
CHECK_OF(group, struct group_record, TABLE_GROUP, encode_group, decode_group);
CHECK_OF(inodes, struct inode_block, TABLE_BYKEY, encode_inodes, decode_inodes);
CHECK_OF(number, uint64_t, TABLE_ERROR, encode_number_at, decode_number);
CHECK_OF(totals, struct catalog_totals, TABLE_META, encode_totals, decode_totals);

/* Decodes a record that was encoded from the input. */
static void check_attributes(struct span fields)
{
	struct input input = {fields.data, fields.length};
	struct dir_record got = {0};
	struct dir_record dir = {
		.parent = take_number(&input, 8),
		.source = (uint32_t)take_number(&input, 4),
		.error = (int32_t)take_number(&input, 3),
	};
	struct attributes *a = &dir.attributes;
	struct timespec *times[] = {&a->mtime, &a->ctime, &a->btime, &a->atime};
	struct value value;

	a->inode = take_number(&input, 8);
	a->size = take_number(&input, 8);
	a->mode = (uint32_t)take_number(&input, 4);
	a->links = (uint32_t)take_number(&input, 4);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		times[i]->tv_sec = (time_t)take_number(&input, 8);
		times[i]->tv_nsec = (long)(take_number(&input, 4) % 1000000000);
	}
	dir.name = (struct name){(const char *)input.at,
				 (uint32_t)(input.left % (NAME_BYTES_MAX + 1))};
	value = encode_dir(&dir);
	REQUIRE(decode_dir(fields_of(&value, TABLE_DIR), &got));
	REQUIRE(got.parent == dir.parent && got.source == dir.source && got.error == dir.error);
	REQUIRE(attributes_equal(&got.attributes, a));
	REQUIRE(got.attributes.atime.tv_sec == a->atime.tv_sec &&
		got.attributes.atime.tv_nsec == a->atime.tv_nsec);
	REQUIRE(same((struct span){(const uint8_t *)got.name.bytes, got.name.length},
		     (struct span){(const uint8_t *)dir.name.bytes, dir.name.length}));
}

static int order_of_numbers(const uint64_t *a, const uint64_t *b)
{
	for (size_t i = 0; i < 4; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

/* The order of LMDB. */
static int order_of_keys(const struct key *a, const struct key *b)
{
	size_t length = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->data, b->data, length);

	if (order != 0)
		return order < 0 ? -1 : 1;
	return (a->length > length) - (b->length > length);
}

static void check_keys(struct span fields)
{
	struct input input = {fields.data, fields.length};
	uint64_t numbers[2][4], got[4] = {0};
	struct key keys[2];

	for (size_t i = 0; i < 8; i++) {
		size_t bytes = take_number(&input, 1) % 9;

		numbers[i / 4][i % 4] = take_number(&input, bytes);
	}
	for (size_t i = 0; i < 2; i++) {
		const uint64_t *n = numbers[i];

		keys[i] = key_quad(n[0], n[1], n[2], n[3]);
		REQUIRE(keys[i].length <= KEY_BYTES_MAX);
		REQUIRE(key_get_quad((struct span){keys[i].data, keys[i].length}, &got[0], &got[1],
				     &got[2], &got[3]));
		REQUIRE(order_of_numbers(n, got) == 0);
	}
	REQUIRE(order_of_keys(&keys[0], &keys[1]) == order_of_numbers(numbers[0], numbers[1]));
	keys[0] = key_rank(numbers[0][0], numbers[0][1]);
	REQUIRE(key_get_rank((struct span){keys[0].data, keys[0].length}, &got[0], &got[1]));
	REQUIRE(got[0] == numbers[0][0] && got[1] == numbers[0][1]);
}

/* Decodes any bytes as a key. */
static void check_strange_key(struct span key)
{
	uint64_t n[4] = {0};
	struct key again;

	if (key_get_quad(key, &n[0], &n[1], &n[2], &n[3])) {
		again = key_quad(n[0], n[1], n[2], n[3]);
		REQUIRE(again.length <= key.length);
	}
	if (key_get_triple(key, &n[0], &n[1], &n[2])) {
		again = key_triple(n[0], n[1], n[2]);
		REQUIRE(again.length <= key.length);
	}
	if (key_get_pair(key, &n[0], &n[1])) {
		again = key_pair(n[0], n[1]);
		REQUIRE(again.length <= key.length);
	}
	if (key_get_number(key, &n[0])) {
		again = key_number(n[0]);
		REQUIRE(again.length <= key.length);
	}
	if (key_get_rank(key, &n[0], &n[1])) {
		again = key_rank(n[0], n[1]);
		REQUIRE(again.length <= key.length);
	}
}

/* Opens any bytes as a record with its checksum. */
static void check_strange_value(struct span stored)
{
	const struct key key = key_number(id);
	struct span fields;

	if (value_open(stored, TABLE_FILE, (struct span){key.data, key.length}, &fields))
		REQUIRE(fields.data == stored.data && fields.length < stored.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct span) = {
		check_dir,   check_file,        check_entry,         check_content,
		check_group, check_number,      check_totals,        check_attributes,
		check_keys,  check_strange_key, check_strange_value, check_inodes,
	};

	if (size > 0)
		checks[data[0] % ARRAY_SIZE(checks)]((struct span){data + 1, size - 1});
	return 0;
}
