/* SPDX-License-Identifier: MIT */

/* Random directories whose numbers of names are near the limits of the search for a witness, with
 * names that equal nothing and come and go, and with names of one hash. After each transaction the
 * groups must be those that are computed here from the names alone.
 *
 * TWINFS_TEST_SEEDS is the number of random indexes, FIRST_SEED the seed of the first one. */

#include "index/colliding.h"
#include "index/equal_trees.h"
#include "index/known_folders.h"

#define BIG 7 /* directories that have many names */
#define COLLIDING 12
#define NAMES_MAX (620 + COLLIDING)
#define STEPS 20

struct case_state {
	struct fixture *f;
	uint64_t big[BIG];
	char texts[NAMES_MAX][8];
	struct colliding colliding[COLLIDING];
	struct name names[NAMES_MAX];
	size_t order[NAMES_MAX]; /* names by ascending cookie */
	uint64_t inode;
	uint64_t content; /* a group of files of 100 bytes */
};

static bool one_in(int n)
{
	return random() % n == 0;
}

static size_t below(size_t n)
{
	return (size_t)random() % n;
}

/* ---- names --------------------------------------------------------------------------- */

static struct case_state *sorted_for;

static int by_cookie(const void *a, const void *b)
{
	uint64_t seed = sorted_for->f->catalog->name_seed;

	return numbers_compare(name_cookie(seed, sorted_for->names[*(const size_t *)a]),
			       name_cookie(seed, sorted_for->names[*(const size_t *)b]));
}

static void make_names(struct case_state *p)
{
	for (size_t i = 0; i < NAMES_MAX; i++) {
		p->order[i] = i;
		if (i < COLLIDING) {
			p->names[i] = colliding_name(p->f, (unsigned int)i, &p->colliding[i]);
		} else {
			(void)snprintf(p->texts[i], sizeof(p->texts[i]), "%zu", i);
			p->names[i] = name_of(p->texts[i]);
		}
	}
	sorted_for = p;
	qsort(p->order, NAMES_MAX, sizeof(p->order[0]), by_cookie);
}

static void commit(struct case_state *p)
{
	int r = p->f->count || p->f->touched_count ? fixture_commit_code(p->f) : 0;

	assert_int_equal(r, 0);
}

static void check(struct case_state *p)
{
	commit(p);
	assert_consistent(p->f);
	assert_equal_trees_are_grouped(p->f);
}

/* ---- changes ------------------------------------------------------------------------- */

static bool get_entry(struct case_state *p, uint64_t dir, size_t name, struct entry_record *entry)
{
	struct catalog_reader *reader = fixture_read(p->f);
	int r = catalog_find_entry(reader, dir, p->names[name], entry);

	catalog_read_end(reader);
	return r == 0;
}

static void remove_at(struct case_state *p, uint64_t dir, size_t name)
{
	remove_this(p->f, dir, p->names[name]);
}

static void add_at(struct case_state *p, uint64_t dir, size_t name, struct attributes file)
{
	add_file(p->f, dir, "", file);
	p->f->changes[p->f->count - 1].name = p->names[name];
}

/* Room for one more pair of changes; else commits. */
static void make_room(struct case_state *p)
{
	if (p->f->count + 3 > FIXTURE_CHANGES_MAX)
		commit(p);
}

/* Adds a name with one of the equal tokens, which depends on the name only. */
static void add_equal(struct case_state *p, uint64_t dir, size_t name)
{
	struct attributes file = file_of(p->inode++, 0, 0);

	if (name % 31 == 5)
		file.mode = S_IFIFO | 0600;
	if (name % 31 == 7)
		file.mode = S_IFLNK | 0777;
	add_at(p, dir, name, file);
	if (name % 31 == 7)
		p->f->changes[p->f->count - 1].target = name_of("there");
}

/* A file of a size that no other has. */
static struct attributes lone_file(struct case_state *p)
{
	p->inode++;
	return file_of(p->inode, 300 + p->inode, 0);
}

/* Adds a name that equals nothing. */
static void add_witness(struct case_state *p, uint64_t dir, size_t name)
{
	struct name_change *change;

	switch (random() % 4) {
	case 0:
		add_unknown(p->f, dir, "", EIO);
		p->f->changes[p->f->count - 1].name = p->names[name];
		break;
	case 1: /* a directory that has an unequal name */
		change = fixture_change(p->f, NAME_ADD_DIR);
		change->dir = dir;
		change->name = p->names[name];
		change->id = catalog_new_id(p->f->catalog);
		change->attributes = dir_of(100000 + change->id);
		add_at(p, change->id, COLLIDING + 1, lone_file(p));
		break;
	default:
		add_at(p, dir, name, lone_file(p));
	}
}

static size_t wanted_count(void)
{
	static const size_t counts[] = {14,  15,  16,  17,  18,  250, 254, 255,
					256, 257, 258, 259, 260, 600, 600, 3};

	return counts[below(ARRAY_SIZE(counts))];
}

/* Adds this number of names to the directory, the first ones by cookie or by number. */
static void fill(struct case_state *p, uint64_t dir, size_t count)
{
	struct entry_record entry;

	size_t first = below(COLLIDING); /* names of one hash get another order */

	for (size_t n = 0; n < NAMES_MAX - 10; n++) {
		size_t i = n < COLLIDING ? (n + first) % COLLIDING : n;
		bool has = get_entry(p, dir, i, &entry);

		make_room(p);
		if (has && (i >= count || (entry.kind != ENTRY_FILE && one_in(3))))
			remove_at(p, dir, i);
		else if (!has && i < count)
			add_equal(p, dir, i);
	}
}

/* A name that the directory has or has not, with a low, high or any cookie. */
static size_t pick_name(struct case_state *p, uint64_t dir, bool has)
{
	struct entry_record entry;
	size_t start = one_in(3) ? 0 : below(NAMES_MAX);
	bool last = one_in(3);

	for (size_t i = 0; i < NAMES_MAX; i++) {
		size_t at = p->order[last ? NAMES_MAX - 1 - (start + i) % NAMES_MAX
					  : (start + i) % NAMES_MAX];

		if (get_entry(p, dir, at, &entry) == has)
			return at;
	}
	return NAMES_MAX;
}

static void change_witness(struct case_state *p, uint64_t dir)
{
	bool replace = one_in(2);
	size_t name = pick_name(p, dir, replace);

	if (name == NAMES_MAX)
		return;
	if (replace)
		remove_at(p, dir, name);
	add_witness(p, dir, name);
}

/* Removes unequal names, or makes them equal, in ascending or random order, some or all. */
static void heal(struct case_state *p, uint64_t dir, int part)
{
	struct entry_record entry;
	struct file_record file;

	for (size_t i = 0; i < NAMES_MAX; i++) {
		bool equal = false;

		if (!get_entry(p, dir, p->order[i], &entry) || !one_in(part))
			continue;
		if (entry.kind == ENTRY_FILE) {
			file = file_at(p->f, entry.child);
			equal = file.attributes.size == 0 || !S_ISREG(file.attributes.mode);
		}
		if (equal)
			continue;
		make_room(p);
		remove_at(p, dir, p->order[i]);
		if (one_in(2))
			add_equal(p, dir, p->order[i]);
	}
}

/* Makes the names of one directory those of another; files become hard links or equal ones. */
static void mirror(struct case_state *p, uint64_t from, uint64_t to, bool commits)
{
	struct entry_record theirs, ours;

	for (size_t i = 0; i < NAMES_MAX; i++) {
		bool has = get_entry(p, to, i, &ours), wanted = get_entry(p, from, i, &theirs);

		make_room(p);
		if (has && wanted && theirs.kind == ours.kind && theirs.child == ours.child)
			continue;
		if (has)
			remove_at(p, to, i);
		if (wanted && theirs.kind == ENTRY_FILE)
			add_at(p, to, i, file_at(p->f, theirs.child).attributes);
		else if (wanted)
			add_equal(p, to, i);
		if (wanted && theirs.kind == ENTRY_FILE &&
		    S_ISLNK(file_at(p->f, theirs.child).attributes.mode))
			p->f->changes[p->f->count - 1].target = name_of("there");
		if (commits && one_in(100))
			check(p);
	}
}

/* Empties directories in a directory, so that they are equal. */
static void empty_subdirs(struct case_state *p, uint64_t dir)
{
	struct entry_record entry, inner;

	for (size_t i = 0; i < NAMES_MAX; i++) {
		if (!get_entry(p, dir, i, &entry) || entry.kind != ENTRY_DIR ||
		    !get_entry(p, entry.child, COLLIDING + 1, &inner))
			continue;
		make_room(p);
		remove_at(p, entry.child, COLLIDING + 1);
	}
}

/* Gives one content to the files of a name in two directories, or takes it. */
static void change_content(struct case_state *p)
{
	uint64_t a = p->big[below(BIG)], b = p->big[below(BIG)], ids[2];
	size_t name = pick_name(p, a, true);
	struct attributes one = file_of(p->inode++, 100, 0), two = file_of(p->inode++, 100, 0);
	struct entry_record entry;

	if (name == NAMES_MAX || a == b)
		return;
	remove_at(p, a, name);
	if (get_entry(p, b, name, &entry))
		remove_at(p, b, name);
	add_at(p, a, name, one);
	add_at(p, b, name, two);
	check(p);
	ids[0] = id_of_name(p->f, a, p->names[name]);
	ids[1] = id_of_name(p->f, b, p->names[name]);
	(void)add_group(p->f, (struct hash128){p->inode, 1}, ids, 2);
	check(p);
	if (one_in(2))
		touch_file(p->f, ids[below(2)]);
}

static void set_flags(struct case_state *p)
{
	struct name_change *update = fixture_change(p->f, NAME_UPDATE_DIR);

	update->id = p->big[below(BIG)];
	update->attributes = dir_of(update->id);
	update->flags = one_in(3) ? DIR_PARTIAL : 0;
	update->error = one_in(5) ? EIO : 0;
}

/* Moves a directory out of another one to the root, if it is there. */
static void move_back(struct case_state *p, size_t at, uint64_t from)
{
	static char texts[BIG][8];
	struct catalog_reader *reader = fixture_read(p->f);
	struct dir_record dir;

	assert_int_equal(catalog_get_dir(reader, p->big[at], &dir), 0);
	catalog_read_end(reader);
	(void)snprintf(texts[at], sizeof(texts[at]), "D%zu", at);
	if (dir.parent == from)
		move_dir(p->f, p->big[at], p->f->roots[0], texts[at]);
}

/* Removes a directory and makes an empty one of its name, in the same transaction or later. Returns
 * its number, or BIG if it is not in the root. */
static size_t replace_dir(struct case_state *p, bool later)
{
	static char texts[BIG][8];
	size_t at = below(BIG);
	struct catalog_reader *reader = fixture_read(p->f);
	struct dir_record dir;

	assert_int_equal(catalog_get_dir(reader, p->big[at], &dir), 0);
	catalog_read_end(reader);
	(void)snprintf(texts[at], sizeof(texts[at]), "D%zu", at);
	if (dir.parent != p->f->roots[0])
		return BIG;
	for (size_t i = 0; i < BIG; i++)
		move_back(p, i, p->big[at]);
	remove_name(p->f, p->f->roots[0], texts[at]);
	if (later)
		check(p);
	p->big[at] = add_dir(p->f, p->f->roots[0], texts[at]);
	return at;
}

/* Removes a directory and makes it again. */
static void make_again(struct case_state *p)
{
	size_t at = replace_dir(p, one_in(2));

	if (at == BIG)
		return;
	for (size_t i = 0; i < 17 + below(3); i++)
		add_equal(p, p->big[at], i);
	if (one_in(2))
		add_witness(p, p->big[at], p->order[below(NAMES_MAX)] % 20 + 30);
}

/* Makes a directory again with two unequal names, and takes one of them: the search ends at the
 * second one, or continues from the place of the last one. */
static void pass_on_witness(struct case_state *p)
{
	size_t first = below(60), second = first + 1 + below(24), end = second + 1 + below(30);
	size_t at = replace_dir(p, false), taken = one_in(3) ? second : first;

	if (at == BIG)
		return;
	for (size_t i = 0; i < end; i++) {
		if (i == first || i == second)
			add_witness(p, p->big[at], p->order[i]);
		else
			add_equal(p, p->big[at], p->order[i]);
	}
	check(p);
	remove_at(p, p->big[at], p->order[taken]);
	if (one_in(3))
		add_equal(p, p->big[at], p->order[taken]);
	check(p);
	if (one_in(2))
		add_witness(p, p->big[at], p->order[end + below(20)]);
	else
		remove_at(p, p->big[at], p->order[taken == first ? second : first]);
}

/* Moves a directory out of the index's root into another one, and back at another time. */
static void move(struct case_state *p)
{
	static char texts[BIG][8];
	size_t at = 1 + below(BIG - 1), into = below(at);
	struct catalog_reader *reader = fixture_read(p->f);
	struct dir_record dir, above;

	assert_int_equal(catalog_get_dir(reader, p->big[at], &dir), 0);
	assert_int_equal(catalog_get_dir(reader, p->big[into], &above), 0);
	catalog_read_end(reader);
	(void)snprintf(texts[at], sizeof(texts[at]), "D%zu", at);
	if (dir.parent != p->f->roots[0])
		move_dir(p->f, p->big[at], p->f->roots[0], texts[at]);
	else if (above.parent == p->f->roots[0])
		move_dir(p->f, p->big[at], p->big[into], texts[at]);
}

static void step(struct case_state *p)
{
	uint64_t a = p->big[below(BIG)], b = p->big[below(BIG)];
	int count = 1 + (int)below(3);

	switch (random() % 13) {
	case 0:
		fill(p, a, wanted_count());
		break;
	case 1:
		if (a != b)
			mirror(p, a, b, one_in(2));
		break;
	case 2:
		heal(p, a, 1);
		break;
	case 3:
		heal(p, a, 2);
		break;
	case 4:
		change_content(p);
		break;
	case 5:
		set_flags(p);
		break;
	case 6:
		make_again(p);
		break;
	case 7:
		move(p);
		break;
	case 8:
	case 9:
		pass_on_witness(p);
		break;
	case 10:
		for (size_t i = 0; i < BIG; i++)
			empty_subdirs(p, p->big[i]);
		break;
	case 11:
		heal(p, a, 1);
		check(p);
		if (a != b)
			mirror(p, a, b, false);
		break;
	default:
		for (int i = 0; i < count; i++) {
			change_witness(p, p->big[below(BIG)]);
			if (one_in(2))
				commit(p);
			else
				check(p);
		}
	}
	check(p);
	if (one_in(20))
		fixture_reopen(p->f);
	if (one_in(10))
		(void)purge_orphans(p->f, 100);
}

static void run(struct fixture *f, unsigned int seed)
{
	struct case_state *p = calloc(1, sizeof(*p));
	size_t count;
	char text[8];

	assert_non_null(p);
	srandom(seed);
	p->f = f;
	p->inode = 1000;
	make_names(p);
	if (one_in(2))
		know_folders(f);
	count = wanted_count();
	for (size_t i = 0; i < BIG; i++) {
		(void)snprintf(text, sizeof(text), "D%zu", i);
		p->big[i] = new_dir(f, f->roots[0], text);
		fill(p, p->big[i], one_in(2) ? count : wanted_count());
		for (size_t n = below(3); n > 0; n--) {
			commit(p);
			change_witness(p, p->big[i]);
		}
		commit(p);
	}
	know_folders(f);
	for (int i = 0; i < STEPS; i++)
		step(p);
	free(p);
}

static unsigned int number_of(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 10) : otherwise;
}

static void test_folders_near_the_limits_are_grouped(void **state)
{
	unsigned int first = number_of("FIRST_SEED", 1), count = number_of("TWINFS_TEST_SEEDS", 3);

	for (unsigned int seed = first; seed < first + count; seed++) {
		fixture_teardown(state);
		fixture_setup(state);
		print_message("# seed %u\n", seed);
		run(*state, seed);
	}
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_folders_near_the_limits_are_grouped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
