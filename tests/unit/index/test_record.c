/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "index/record.h"
#include "index/store/value.h"
#include "unit_test.h"

/* ---- records at their extremes ------------------------------------------------------- */

static struct attributes attributes_of(uint64_t number, uint32_t word, time_t seconds, long ns)
{
	return (struct attributes){
		.inode = number,
		.size = number - 1,
		.blocks = number / 2,
		.rdev = number,
		.filesystem = word,
		.mode = word - 1,
		.uid = word,
		.gid = word / 2,
		.links = word,
		.mtime = {seconds, ns},
		.ctime = {seconds - 1, ns / 2},
		.atime = {seconds / 3, ns},
		.btime = {-seconds, 0},
	};
}

static struct attributes largest(void)
{
	return attributes_of(UINT64_MAX, UINT32_MAX, LONG_MAX, 999999999);
}

static struct attributes most_negative(void)
{
	return attributes_of(1, 1, LONG_MIN + 1, 1);
}

static void assert_same_attributes(const struct attributes *a, const struct attributes *b)
{
	assert_true(a->inode == b->inode);
	assert_true(attributes_equal(a, b));
	assert_true(attributes_digest(a) == attributes_digest(b));
	assert_true(a->atime.tv_sec == b->atime.tv_sec && a->atime.tv_nsec == b->atime.tv_nsec);
}

static struct span span_of(const struct value *value)
{
	return (struct span){value->data, value->length};
}

static struct span span_of_key(const struct key *key)
{
	return (struct span){key->data, key->length};
}

/* The fields of a value that was sealed for (table, key). */
static struct span opened(struct value *value, enum table table, struct key key)
{
	struct span fields = {0};

	value_seal(value, table, &key);
	assert_in_range(value->length, 4, RECORD_BYTES_MAX);
	assert_true(value_open(span_of(value), table, span_of_key(&key), &fields));
	return fields;
}

static void assert_dir_round_trip(const struct dir_record *dir)
{
	struct value value = encode_dir(dir);
	struct dir_record got = {.id = dir->id};

	assert_true(decode_dir(opened(&value, TABLE_DIR, key_number(dir->id)), &got));
	assert_true(got.parent == dir->parent);
	assert_int_equal(got.source, dir->source);
	assert_int_equal(got.flags, dir->flags);
	assert_int_equal(got.error, dir->error);
	assert_same_attributes(&got.attributes, &dir->attributes);
	assert_int_equal(got.name.length, dir->name.length);
	assert_memory_equal(got.name.bytes, dir->name.bytes, dir->name.length);
}

static void test_directories_are_decoded(void **state)
{
	char name[NAME_BYTES_MAX];

	(void)state;
	memset(name, 0xff, sizeof(name));
	assert_dir_round_trip(&(struct dir_record){.id = 1, .name = {"", 0}});
	assert_dir_round_trip(&(struct dir_record){.id = UINT64_MAX,
						   .parent = UINT64_MAX,
						   .source = UINT32_MAX,
						   .flags = UINT32_MAX,
						   .error = INT32_MAX,
						   .attributes = largest(),
						   .name = {name, sizeof(name)}});
	assert_dir_round_trip(&(struct dir_record){.id = 7,
						   .parent = 1,
						   .attributes = most_negative(),
						   .name = {"a\nb", 3}});
}

static void test_times_of_any_distance_are_decoded(void **state)
{
	static const struct timespec times[] = {{0, 0},
						{1, 999999999},
						{LONG_MAX, 0},
						{LONG_MIN, 999999999},
						{1700000000, 1},
						{1700000000 + (1L << 32), 0},
						{1700000000 + (1L << 32), 1},
						{1700000001 + (1L << 32), 1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times) * ARRAY_SIZE(times); i++) {
		const struct timespec first = times[i / ARRAY_SIZE(times)];
		const struct timespec other = times[i % ARRAY_SIZE(times)];

		assert_dir_round_trip(&(struct dir_record){.id = 1,
							   .attributes = {.mtime = first,
									  .ctime = other,
									  .btime = first},
							   .name = {"", 0}});
	}
}

static void test_equal_times_are_shorter(void **state)
{
	struct dir_record dir = {.attributes = attributes_of(1, 1, 1700000000, 999999999),
				 .name = {"", 0}};
	size_t apart, equal;

	(void)state;
	dir.attributes.ctime.tv_nsec = 999999998;
	apart = encode_dir(&dir).length;
	dir.attributes.ctime = dir.attributes.mtime;
	equal = encode_dir(&dir).length;
	assert_int_equal(apart - equal, 4);
}

static void assert_file_round_trip(const struct file_record *file)
{
	struct value value = encode_file(file);
	struct file_record got = {.id = file->id};

	assert_true(decode_file(opened(&value, TABLE_FILE, key_number(file->id)), &got));
	assert_true(got.dir == file->dir);
	assert_true(got.cookie == file->cookie);
	assert_int_equal(got.names, file->names);
	assert_int_equal(got.first_seen, file->first_seen);
	assert_int_equal(got.content_version, file->content_version);
	assert_true(got.name == file->name);
	assert_true(clock_equal(got.shown_since, file->shown_since));
	assert_same_attributes(&got.attributes, &file->attributes);
}

static void test_files_are_decoded(void **state)
{
	(void)state;
	assert_file_round_trip(&(struct file_record){.id = 1});
	assert_file_round_trip(&(struct file_record){.id = 2,
						     .dir = UINT64_MAX,
						     .cookie = UINT64_MAX,
						     .names = UINT32_MAX,
						     .first_seen = UINT32_MAX,
						     .content_version = UINT32_MAX,
						     .name = UINT64_MAX,
						     .shown_since = {LONG_MIN, 1},
						     .attributes = largest()});
	assert_file_round_trip(&(struct file_record){.id = 3, .attributes = most_negative()});
}

static void test_places_are_decoded(void **state)
{
	const struct file_name places[] = {{.id = 1}, {1, UINT64_MAX, UINT64_MAX, UINT64_MAX}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct value value = encode_place(&places[i]);
		struct file_name got = {.id = 1};

		assert_true(decode_place(opened(&value, TABLE_PLACE, key_pair(2, 1)), &got));
		assert_memory_equal(&got, &places[i], sizeof(got));
	}
}

static void assert_entry_round_trip(const struct entry_record *entry)
{
	struct value value = encode_entry(entry);
	struct entry_record got = {.dir = entry->dir, .cookie = entry->cookie};
	struct key key = key_pair(entry->dir, entry->cookie);

	assert_true(decode_entry(opened(&value, TABLE_ENTRY, key), &got));
	assert_int_equal(got.kind, entry->kind);
	assert_true(got.child == entry->child);
	assert_int_equal(got.name.length, entry->name.length);
	assert_memory_equal(got.name.bytes, entry->name.bytes, entry->name.length);
}

static void test_entries_are_decoded(void **state)
{
	char name[NAME_BYTES_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(name); i++)
		name[i] = (char)(i + 1);
	for (uint32_t length = 1; length <= sizeof(name); length++) {
		for (int kind = ENTRY_DIR; kind <= ENTRY_UNKNOWN; kind++)
			assert_entry_round_trip(&(struct entry_record){
				.dir = UINT64_MAX >> length % 64,
				.cookie = INT64_MAX,
				.kind = (enum entry_kind)kind,
				.child = UINT64_MAX >> (length + 1) % 64,
				.name = {name, length},
			});
	}
}

static void test_contents_and_groups_are_decoded(void **state)
{
	struct content_record content = {.prefix = UINT64_MAX, .group = UINT64_MAX}, got_content;
	struct group_record group = {.id = 5,
				     .hash = {UINT64_MAX, 0},
				     .ordinal = UINT32_MAX,
				     .size = UINT64_MAX,
				     .inodes = UINT64_MAX,
				     .kept = UINT64_MAX,
				     .changed = {-1, 999999999}},
			    got;
	struct value value = encode_content(&content);

	(void)state;
	assert_true(decode_content(opened(&value, TABLE_CONTENT, key_number(1)), &got_content));
	assert_true(got_content.prefix == content.prefix && got_content.group == content.group);
	assert_false(content_has_hash(&got_content));
	content = (struct content_record){.prefix = 7, .hash = {.high = UINT64_MAX, .low = 1}};
	value = encode_content(&content);
	assert_true(decode_content(opened(&value, TABLE_CONTENT, key_number(1)), &got_content));
	assert_true(hash128_equal(got_content.hash, content.hash) && got_content.group == 0);
	value = encode_group(&group);
	got.id = group.id;
	assert_true(decode_group(opened(&value, TABLE_GROUP, key_number(5)), &got));
	assert_true(got.hash.high == group.hash.high && got.hash.low == group.hash.low);
	assert_int_equal(got.ordinal, group.ordinal);
	assert_true(got.size == group.size && got.inodes == group.inodes && got.kept == group.kept);
	assert_true(got.changed.tv_sec == -1 && got.changed.tv_nsec == 999999999);
	assert_true(!got.maps && got.retained == 0);
	group.maps = true;
	group.retained = UINT64_MAX - 1;
	value = encode_group(&group);
	assert_true(decode_group(opened(&value, TABLE_GROUP, key_number(5)), &got));
	assert_true(got.maps && got.retained == UINT64_MAX - 1);
}

static void test_totals_and_numbers_are_decoded(void **state)
{
	struct catalog_totals totals = {UINT64_MAX, 1,    15,   10,   2,  3,       20,
					{4, 13},    5,    6,    7,    8,  {9, 14}, {21, 22},
					UINT64_MAX, 11,   16,   true, 12, 17,      18,
					{-5, 6},    true, true, 19,   20},
			      got;
	struct key key = key_number(0);
	struct value value = encode_totals(&totals);
	uint64_t number = 0;

	(void)state;
	assert_true(decode_totals(opened(&value, TABLE_META, key), &got));
	assert_true(got.generation == totals.generation && got.scans == 1 && got.directories == 2);
	assert_true(got.unended == 15 && got.comparisons == 10 && got.files == 3 &&
		    got.bytes.low == 4 && got.bytes.high == 13 && got.blocks == 5 &&
		    got.names == 6);
	assert_true(got.groups == 7 && got.redundant_files == 8);
	assert_true(got.redundant_bytes.low == 9 && got.redundant_bytes.high == 14 &&
		    got.reclaimable_bytes.low == 21 && got.reclaimable_bytes.high == 22);
	assert_true(got.errors == UINT64_MAX && got.unlisted == 11 && got.order == 12 &&
		    got.choose_from == 16 && got.choose_anew);
	assert_true(got.changed.tv_sec == -5 && got.changed.tv_nsec == 6 && got.none_pending);
	assert_true(got.folders_known && got.folder_groups == 17 && got.folder_order == 18);
	assert_true(got.folder_changes == 19 && got.viewed == 20);
	value = encode_number(UINT64_MAX);
	assert_true(decode_number(opened(&value, TABLE_ORPHAN, key), &number));
	assert_true(number == UINT64_MAX);
}

/* ---- keys ---------------------------------------------------------------------------- */

static uint64_t any_number(void)
{
	return ((uint64_t)random() << 42 ^ (uint64_t)random() << 21 ^ (uint64_t)random()) >>
	       random() % 64;
}

static int compare_keys(struct key a, struct key b)
{
	int order = memcmp(a.data, b.data, a.length < b.length ? a.length : b.length);

	return order ? order : (a.length > b.length) - (a.length < b.length);
}

static int compare_numbers(const uint64_t *a, const uint64_t *b)
{
	for (size_t i = 0; i < 4; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

static int sign(int number)
{
	return (number > 0) - (number < 0);
}

static void test_keys_are_in_the_order_of_their_numbers(void **state)
{
	uint64_t a[4], b[4];

	(void)state;
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		for (size_t n = 0; n < 4; n++) {
			a[n] = any_number();
			b[n] = random() % 2 ? a[n] : any_number();
		}
		assert_int_equal(sign(compare_keys(key_quad(a[0], a[1], a[2], a[3]),
						   key_quad(b[0], b[1], b[2], b[3]))),
				 compare_numbers(a, b));
		a[3] = b[3] = 0;
		assert_int_equal(sign(compare_keys(key_triple(a[0], a[1], a[2]),
						   key_triple(b[0], b[1], b[2]))),
				 compare_numbers(a, b));
		assert_int_equal(sign(compare_keys(key_rank(a[0], a[1]), key_rank(b[0], a[1]))),
				 (a[0] < b[0]) - (a[0] > b[0]));
	}
}

static void test_keys_are_decoded(void **state)
{
	struct key triple = key_triple(1, UINT64_MAX, 1000), pair = key_pair(248, 247);
	struct key rank = key_rank(12345, UINT64_MAX), number = key_number(3);
	struct key quad = key_quad(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - 1);
	uint64_t a, b, c, d;

	(void)state;
	assert_true(quad.length <= KEY_BYTES_MAX);
	assert_true(key_get_quad(span_of_key(&quad), &a, &b, &c, &d));
	assert_true(a == UINT64_MAX && c == UINT64_MAX && d == UINT64_MAX - 1);
	assert_true(key_get_triple(span_of_key(&triple), &a, &b, &c));
	assert_true(a == 1 && b == UINT64_MAX && c == 1000);
	assert_true(key_get_pair(span_of_key(&pair), &a, &b));
	assert_true(a == 248 && b == 247);
	assert_true(key_get_rank(span_of_key(&rank), &a, &b));
	assert_true(a == 12345 && b == UINT64_MAX);
	assert_true(key_get_number(span_of_key(&number), &a));
	assert_true(a == 3);
}

static void test_keys_of_another_shape_are_refused(void **state)
{
	struct key triple = key_triple(1, 2, 3), pair = key_pair(300, 2), rank = key_rank(9, 300);
	uint64_t a, b, c, d;

	(void)state;
	assert_false(key_get_quad(span_of_key(&triple), &a, &b, &c, &d));
	assert_false(key_get_pair(span_of_key(&triple), &a, &b));
	assert_false(key_get_triple(span_of_key(&pair), &a, &b, &c));
	assert_false(key_get_number(span_of_key(&pair), &a));
	assert_false(key_get_number((struct span){pair.data, 0}, &a));
	for (size_t length = 0; length < rank.length; length++)
		assert_false(key_get_rank((struct span){rank.data, length}, &a, &b));
	rank.data[rank.length++] = 0;
	assert_false(key_get_rank(span_of_key(&rank), &a, &b));
}

/* ---- damage -------------------------------------------------------------------------- */

static struct value sealed_example(enum table table, struct key key)
{
	char name[NAME_BYTES_MAX];
	struct value value;

	memset(name, 'n', sizeof(name));
	if (table == TABLE_DIR)
		value = encode_dir(&(struct dir_record){.parent = 3,
							.attributes = largest(),
							.name = {name, sizeof(name)}});
	else if (table == TABLE_ENTRY)
		value = encode_entry(
			&(struct entry_record){.kind = ENTRY_FILE, .child = 9, .name = {name, 30}});
	else if (table == TABLE_FILE)
		value = encode_file(&(struct file_record){.dir = 4, .attributes = most_negative()});
	else
		value = encode_nothing();
	value_seal(&value, table, &key);
	return value;
}

static const enum table examples[] = {TABLE_DIR, TABLE_ENTRY, TABLE_FILE, TABLE_ORPHAN};

static void test_every_flipped_bit_is_detected(void **state)
{
	struct key key = key_pair(17, 40000);
	struct span fields;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct value value = sealed_example(examples[i], key);

		for (size_t bit = 0; bit < value.length * 8; bit++) {
			value.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			assert_false(value_open(span_of(&value), examples[i], span_of_key(&key),
						&fields));
			value.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		assert_true(value_open(span_of(&value), examples[i], span_of_key(&key), &fields));
	}
}

static void test_every_truncation_is_detected(void **state)
{
	struct key key = key_pair(17, 40000);
	struct span fields;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		struct value value = sealed_example(examples[i], key);

		for (size_t length = 0; length < value.length; length++) {
			/* allocated with exactly this length, so that a sanitizer detects reads
			 * beyond it */
			uint8_t *cut = malloc(length ? length : 1);

			assert_non_null(cut);
			memcpy(cut, value.data, length);
			assert_false(value_open((struct span){cut, length}, examples[i],
						span_of_key(&key), &fields));
			free(cut);
		}
	}
}

static void test_record_under_another_key_or_in_another_table_is_refused(void **state)
{
	struct key key = key_pair(17, 40000), other = key_pair(17, 40001), longer = key;
	struct value value = sealed_example(TABLE_ENTRY, key);
	struct span fields;

	(void)state;
	longer.data[longer.length++] = 0;
	assert_true(value_open(span_of(&value), TABLE_ENTRY, span_of_key(&key), &fields));
	assert_false(value_open(span_of(&value), TABLE_ENTRY, span_of_key(&other), &fields));
	assert_false(value_open(span_of(&value), TABLE_ENTRY, span_of_key(&longer), &fields));
	for (int table = 0; table < TABLE_COUNT; table++) {
		if (table != TABLE_ENTRY)
			assert_false(value_open(span_of(&value), (enum table)table,
						span_of_key(&key), &fields));
	}
}

/* Whether fields can be decoded as a record of each kind; what they mean does not matter. */
static unsigned int decode_as_anything(struct span fields)
{
	struct dir_record dir;
	struct file_record file;
	struct entry_record entry;
	struct content_record content;
	struct group_record group;
	struct catalog_totals totals;
	uint64_t number;

	return decode_dir(fields, &dir) + 2U * decode_file(fields, &file) +
	       4U * decode_entry(fields, &entry) + 8U * decode_content(fields, &content) +
	       16U * decode_group(fields, &group) + 32U * decode_totals(fields, &totals) +
	       64U * decode_number(fields, &number);
}

/* A checksum can match by chance, so fields with a valid checksum are not trusted. */
static void test_any_fields_are_decoded_without_harm(void **state)
{
	unsigned int seen = 0;

	(void)state;
	srandom(4);
	for (int i = 0; i < 100000; i++) {
		size_t length = (size_t)random() % 80;
		uint8_t *data = malloc(length ? length : 1);

		assert_non_null(data);
		for (size_t at = 0; at < length; at++)
			data[at] = (uint8_t)(random() % 3 ? random() % 248 : random());
		seen |= decode_as_anything((struct span){data, length});
		free(data);
	}
	assert_int_equal(seen, 127);
}

static void test_fields_out_of_their_range_are_refused(void **state)
{
	struct content_record content = {.prefix = 0, .group = 1};
	struct entry_record entry = {.kind = ENTRY_FILE, .child = 1, .name = {"", 0}};
	struct value value = encode_content(&content);

	(void)state;
	assert_false(decode_content(opened(&value, TABLE_CONTENT, key_number(1)), &content));
	value = encode_entry(&entry);
	assert_false(decode_entry(opened(&value, TABLE_ENTRY, key_pair(1, 16)), &entry));
	entry.name = (struct name){"x", 1};
	entry.kind = (enum entry_kind)4;
	value = encode_entry(&entry);
	assert_false(decode_entry(opened(&value, TABLE_ENTRY, key_pair(1, 16)), &entry));
	value = encode_group(&(struct group_record){.ordinal = 1, .changed = {1, 1000000000}});
	assert_false(decode_group(opened(&value, TABLE_GROUP, key_number(1)),
				  &(struct group_record){0}));
}

/* ---- signatures ---------------------------------------------------------------------- */

static void test_every_part_of_a_signature_counts(void **state)
{
	const struct attributes base = {.inode = 1,
					.size = 2,
					.filesystem = 3,
					.mode = 0100644,
					.mtime = {4, 5},
					.ctime = {6, 7},
					.btime = {8, 9}};
	struct attributes other[] = {base, base, base, base, base, base, base, base, base, base};

	(void)state;
	other[0].inode++;
	other[1].size++;
	other[2].filesystem++;
	other[3].mode = 0040644;
	other[4].mtime.tv_sec++;
	other[5].mtime.tv_nsec++;
	other[6].ctime.tv_sec++;
	other[7].ctime.tv_nsec++;
	other[8].btime.tv_sec++;
	other[9].btime.tv_nsec++;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++) {
		assert_false(attributes_same_signature(&base, &other[i]));
		assert_false(attributes_equal(&base, &other[i]));
		assert_true(attributes_digest(&base) != attributes_digest(&other[i]));
	}
	other[0] = base;
	other[0].uid++;
	other[0].mode = 0100600;
	other[0].links = 9;
	other[0].atime.tv_sec = 9;
	assert_true(attributes_same_signature(&base, &other[0]));
	assert_true(attributes_digest(&base) == attributes_digest(&other[0]));
	assert_false(attributes_equal(&base, &other[0]));
}

static void test_digest_of_a_file_depends_on_signature_and_content_version(void **state)
{
	struct file_record file = {.id = 1, .names = 1, .attributes = largest()}, other = file;

	(void)state;
	other.id = 2; /* if the file is read again under another name, the signature is the same */
	other.names = 2;
	other.attributes.uid--;
	assert_true(file_digest(&file) == file_digest(&other));
	other.content_version++;
	assert_true(file_digest(&file) != file_digest(&other));
	other.content_version = file.content_version;
	other.attributes.ctime.tv_nsec--;
	assert_true(file_digest(&file) != file_digest(&other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directories_are_decoded),
		cmocka_unit_test(test_times_of_any_distance_are_decoded),
		cmocka_unit_test(test_equal_times_are_shorter),
		cmocka_unit_test(test_files_are_decoded),
		cmocka_unit_test(test_places_are_decoded),
		cmocka_unit_test(test_entries_are_decoded),
		cmocka_unit_test(test_contents_and_groups_are_decoded),
		cmocka_unit_test(test_totals_and_numbers_are_decoded),
		cmocka_unit_test(test_keys_are_in_the_order_of_their_numbers),
		cmocka_unit_test(test_keys_are_decoded),
		cmocka_unit_test(test_keys_of_another_shape_are_refused),
		cmocka_unit_test(test_every_flipped_bit_is_detected),
		cmocka_unit_test(test_every_truncation_is_detected),
		cmocka_unit_test(test_record_under_another_key_or_in_another_table_is_refused),
		cmocka_unit_test(test_any_fields_are_decoded_without_harm),
		cmocka_unit_test(test_fields_out_of_their_range_are_refused),
		cmocka_unit_test(test_every_part_of_a_signature_counts),
		cmocka_unit_test(test_digest_of_a_file_depends_on_signature_and_content_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
