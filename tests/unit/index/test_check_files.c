/* SPDX-License-Identifier: MIT */
#include "index/plant.h"
#include "index/store/store.h"
#include "index/store/value.h"

/* ---- files --------------------------------------------------------------------------- */

static int file_without_record(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_FILE, key_number(s->alone));
}

static int orphan_without_record(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_FILE, key_number(s->gone));
}

static int file_without_name(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->symlink);

	file.id = s->unused;
	w->totals.others++;
	w->totals.names++;
	assert_int_equal(plant_totals(w), 0);
	return plant_file(w, file);
}

static int file_with_a_name_too_many(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->linked);

	file.names++;
	w->totals.names++;
	assert_int_equal(plant_totals(w), 0);
	return plant_file(w, file);
}

static int file_with_a_name_too_few(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->linked);

	file.names--;
	w->totals.names--;
	assert_int_equal(plant_totals(w), 0);
	return plant_file(w, file);
}

static int file_with_another_first_name(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->alone);

	file.cookie++;
	return plant_file(w, file);
}

static int file_of_a_later_scan(struct catalog_writer *w, const struct sample *s)
{
	struct file_record file = planted_file(w, s->alone);

	file.first_seen = (uint32_t)w->totals.scans + 1;
	return plant_file(w, file);
}

static int file_that_cannot_be_decoded(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_FILE, key_number(s->alone));
}

/* An inode number that no file of the sample has. */
#define UNUSED_INODE 7013

static int plant_inode(struct catalog_writer *w, uint64_t file)
{
	struct inode_block block = {0};

	block.files[UNUSED_INODE % INODE_BLOCK_NUMBERS] = file;
	return store_put(&w->store, TABLE_BYKEY, key_pair(1, UNUSED_INODE / INODE_BLOCK_NUMBERS),
			 encode_inodes(&block));
}

static int number_of_no_file(struct catalog_writer *w, const struct sample *s)
{
	return plant_inode(w, s->unused);
}

static int number_of_another_file(struct catalog_writer *w, const struct sample *s)
{
	return plant_inode(w, s->single);
}

static int number_that_cannot_be_decoded(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_nothing(w, TABLE_BYKEY, key_pair(1, UNUSED_INODE / INODE_BLOCK_NUMBERS));
}

static int error_of_no_file(struct catalog_writer *w, const struct sample *s)
{
	w->totals.errors++;
	assert_int_equal(plant_totals(w), 0);
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_FILE, s->unused), EIO);
}

static int error_of_an_orphan(struct catalog_writer *w, const struct sample *s)
{
	w->totals.errors++;
	assert_int_equal(plant_totals(w), 0);
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_FILE, s->gone), EIO);
}

static int error_without_errno(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_ERROR, key_pair(ERROR_FILE, s->broken), 0);
}

static int orphan_not_listed(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_ORPHAN, key_number(s->gone));
}

static int orphan_with_a_name(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_ORPHAN, key_number(s->alone));
}

static int record_with_a_wrong_checksum(struct catalog_writer *w, const struct sample *s)
{
	struct key key = key_number(s->gone);
	struct value value = encode_nothing();
	MDB_val k = store_key(&key), v;

	value_seal(&value, TABLE_CONTENT, &key);
	v = (MDB_val){.mv_size = value.length, .mv_data = value.data};
	return mdb_put(w->store.reader.txn, w->store.reader.store->tables[TABLE_ORPHAN], &k, &v, 0);
}

static void test_faults_in_files_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"without record", file_without_record},
		{"an orphan without record", orphan_without_record},
		{"without name", file_without_name},
		{"with a name too many", file_with_a_name_too_many},
		{"with a name too few", file_with_a_name_too_few},
		{"with another first name", file_with_another_first_name},
		{"of a later scan", file_of_a_later_scan},
		{"that cannot be decoded", file_that_cannot_be_decoded},
		{"an inode number of none", number_of_no_file},
		{"an inode number of another", number_of_another_file},
		{"an inode number that cannot be decoded", number_that_cannot_be_decoded},
		{"an error of none", error_of_no_file},
		{"an error of an orphan", error_of_an_orphan},
		{"an error without errno", error_without_errno},
		{"an orphan that is not listed", orphan_not_listed},
		{"an orphan with a name", orphan_with_a_name},
		{"a wrong checksum", record_with_a_wrong_checksum},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- content and candidates ---------------------------------------------------------- */

static int size_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_BYSIZE, key_quad(5, 0, 0, s->alone));
}

static int stale_size(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_BYSIZE, key_quad(6, 0, 0, s->alone));
}

static int size_of_no_file(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_BYSIZE, key_quad(5, 0, 0, s->unused));
}

static int size_of_an_orphan(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_BYSIZE, key_quad(20, 77, 0, s->gone));
}

static int size_of_a_symlink(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_BYSIZE, key_quad(30, 0, 0, s->symlink));
}

static int size_with_another_prefix(struct catalog_writer *w, const struct sample *s)
{
	assert_int_equal(size_lost(w, s), 0);
	return plant_nothing(w, TABLE_BYSIZE, key_quad(5, 77, 0, s->alone));
}

static int size_with_fields(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_BYSIZE, key_quad(5, 0, 0, s->alone), 1);
}

static int content_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_CONTENT, key_number(s->single));
}

static int content_of_no_file(struct catalog_writer *w, const struct sample *s)
{
	return plant_content(w, s->unused, 77, 0);
}

static int content_of_a_symlink(struct catalog_writer *w, const struct sample *s)
{
	return plant_content(w, s->symlink, 77, 0);
}

static int content_with_another_prefix(struct catalog_writer *w, const struct sample *s)
{
	return plant_content(w, s->single, 78, 0);
}

static int content_that_cannot_be_decoded(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_CONTENT, key_number(s->gone));
}

static int content_out_of_its_group(struct catalog_writer *w, const struct sample *s)
{
	return plant_content(w, s->copy, 77, 0);
}

static int content_in_another_group(struct catalog_writer *w, const struct sample *s)
{
	return plant_content(w, s->copy, 77, s->empty_group);
}

static int content_in_no_group(struct catalog_writer *w, const struct sample *s)
{
	assert_int_equal(plant_nothing(w, TABLE_MEMBER, key_pair(s->unused, s->single)), 0);
	return plant_content(w, s->single, 77, s->unused);
}

static void test_faults_in_contents_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"a size is lost", size_lost},
		{"a size of old", stale_size},
		{"a size of none", size_of_no_file},
		{"a size of an orphan", size_of_an_orphan},
		{"a size of a symlink", size_of_a_symlink},
		{"a size with another prefix", size_with_another_prefix},
		{"a size with fields", size_with_fields},
		{"lost", content_lost},
		{"of none", content_of_no_file},
		{"of a symlink", content_of_a_symlink},
		{"with another prefix", content_with_another_prefix},
		{"that cannot be decoded", content_that_cannot_be_decoded},
		{"out of its group", content_out_of_its_group},
		{"in another group", content_in_another_group},
		{"in no group", content_in_no_group},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- groups -------------------------------------------------------------------------- */

static int group_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_GROUP, key_number(s->small_group));
}

/* Only the hash table still refers to the lost group. */
static int empty_group_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_GROUP, key_number(s->empty_group));
}

static int group_of_another_size(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->small_group);

	group.size++;
	return plant_group(w, group);
}

static int group_with_an_inode_too_many(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->empty_group);

	group.inodes++;
	group.kept = s->awaited;
	return plant_group(w, group);
}

static int group_with_an_inode_too_few(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->small_group);

	group.inodes = group.kept = 0;
	return plant_group(w, group);
}

static int group_that_keeps_another(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->group);

	group.kept = s->single;
	return plant_group(w, group);
}

static int group_that_keeps_none(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->group);

	group.kept = 0;
	return plant_group(w, group);
}

static int group_that_keeps_an_orphan(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->empty_group);

	group.kept = s->awaited;
	return plant_group(w, group);
}

static int group_of_another_hash(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->small_group);

	group.hash.low += 100;
	return plant_group(w, group);
}

static int group_of_another_ordinal(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->small_group);

	group.ordinal++;
	return plant_group(w, group);
}

static int member_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_MEMBER, key_pair(s->group, s->copy));
}

/* Plants a member whose content record does not refer to the group. The group record agrees with
 * the table of members. */
static int member_with_content_of_no_group(struct catalog_writer *w, const struct sample *s)
{
	struct group_record group = planted_group(w, s->empty_group);

	group.inodes = 1;
	group.kept = s->single;
	assert_int_equal(plant_group(w, group), 0);
	return plant_nothing(w, TABLE_MEMBER, key_pair(s->empty_group, s->single));
}

static int hash_lost(struct catalog_writer *w, const struct sample *s)
{
	(void)s;
	return plant_loss(w, TABLE_BYHASH, key_hash((struct hash128){1, 3}, 1));
}

static int hash_of_another_group(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_BYHASH, key_hash((struct hash128){1, 3}, 1), s->group);
}

static int stale_hash(struct catalog_writer *w, const struct sample *s)
{
	return plant_number(w, TABLE_BYHASH, key_hash((struct hash128){1, 4}, 1), s->group);
}

static int rank_lost(struct catalog_writer *w, const struct sample *s)
{
	return plant_loss(w, TABLE_RANK, key_rank(2000, s->group));
}

static int stale_rank(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_RANK, key_rank(1000, s->group));
}

static int rank_of_a_group_of_one(struct catalog_writer *w, const struct sample *s)
{
	return plant_nothing(w, TABLE_RANK, key_rank(0, s->small_group));
}

static void test_faults_in_groups_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"lost", group_lost},
		{"lost, and empty", empty_group_lost},
		{"of another size", group_of_another_size},
		{"with an inode too many", group_with_an_inode_too_many},
		{"with an inode too few", group_with_an_inode_too_few},
		{"that keeps another file", group_that_keeps_another},
		{"that keeps none", group_that_keeps_none},
		{"that keeps an orphan", group_that_keeps_an_orphan},
		{"of another hash", group_of_another_hash},
		{"of another ordinal", group_of_another_ordinal},
		{"a member is lost", member_lost},
		{"a member does not know it", member_with_content_of_no_group},
		{"a hash is lost", hash_lost},
		{"a hash of another", hash_of_another_group},
		{"a hash of old", stale_hash},
		{"a rank is lost", rank_lost},
		{"a rank of old", stale_rank},
		{"a rank of a group of one", rank_of_a_group_of_one},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

/* ---- totals -------------------------------------------------------------------------- */

#define TOTAL_PLANT(field) TOTAL_MEMBER_PLANT(field, field)

#define TOTAL_MEMBER_PLANT(name, member)                                          \
	static int wrong_##name(struct catalog_writer *w, const struct sample *s) \
	{                                                                         \
		(void)s;                                                          \
		w->totals.member--;                                               \
		return plant_totals(w);                                           \
	}

TOTAL_PLANT(scans)
TOTAL_PLANT(directories)
TOTAL_PLANT(files)
TOTAL_MEMBER_PLANT(bytes, bytes.low)
TOTAL_MEMBER_PLANT(bytes_above, bytes.high)
TOTAL_PLANT(blocks)
TOTAL_PLANT(names)
TOTAL_PLANT(groups)
TOTAL_PLANT(redundant_files)
TOTAL_MEMBER_PLANT(redundant_bytes, redundant_bytes.low)
TOTAL_MEMBER_PLANT(redundant_bytes_above, redundant_bytes.high)
TOTAL_MEMBER_PLANT(reclaimable_bytes, reclaimable_bytes.low)
TOTAL_MEMBER_PLANT(reclaimable_bytes_above, reclaimable_bytes.high)
TOTAL_PLANT(errors)

static int wrong_none_pending(struct catalog_writer *w, const struct sample *s)
{
	w->none_pending = true;
	return catalog_forget_contents(w, &s->copy, 1);
}

static void test_wrong_totals_are_detected(void **state)
{
	static const struct plant plants[] = {
		{"scans", wrong_scans},
		{"directories", wrong_directories},
		{"files", wrong_files},
		{"bytes", wrong_bytes},
		{"bytes above 2^64", wrong_bytes_above},
		{"blocks", wrong_blocks},
		{"names", wrong_names},
		{"groups", wrong_groups},
		{"redundant files", wrong_redundant_files},
		{"redundant bytes", wrong_redundant_bytes},
		{"redundant bytes above 2^64", wrong_redundant_bytes_above},
		{"reclaimable bytes", wrong_reclaimable_bytes},
		{"reclaimable bytes above 2^64", wrong_reclaimable_bytes_above},
		{"errors", wrong_errors},
		{"none pending", wrong_none_pending},
	};

	assert_plants_are_found(*state, plants, ARRAY_SIZE(plants));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLANT_CASE(test_faults_in_files_are_detected),
		PLANT_CASE(test_faults_in_contents_are_detected),
		PLANT_CASE(test_faults_in_groups_are_detected),
		PLANT_CASE(test_wrong_totals_are_detected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
