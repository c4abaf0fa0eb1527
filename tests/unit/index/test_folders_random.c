/* SPDX-License-Identifier: MIT */

/* Random changes of few names and contents, so that many directories are equal. The check of the
 * index compares the folder groups with the trees after each transaction. */

#include "index/known_folders.h"

#define DIRS_MAX 24
#define NAMES 8
#define CONTENTS 2

struct case_state {
	struct fixture *f;
	uint64_t dirs[256]; /* of the index; the first is the root of the source */
	size_t dir_count;
	uint64_t groups[CONTENTS];
	uint64_t inode; /* the next one */
	struct attributes last; /* of the last file that was added */
	bool used[256][NAMES]; /* names that this batch changes, by the order of dirs */
	size_t with_bytes, implied; /* folder groups with bytes that were met */
};

static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static bool one_in(int n)
{
	return random() % n == 0;
}

/* ---- what the index has -------------------------------------------------------------- */

static void list_dirs(struct case_state *p)
{
	struct catalog_reader *reader = fixture_read(p->f);
	struct catalog_scan *scan = NULL;
	struct dir_record dir;

	p->dir_count = 0;
	p->dirs[p->dir_count++] = p->f->roots[0];
	assert_int_equal(catalog_scan_dirs(reader, 0, &scan), 0);
	while (catalog_next_dir(scan, &dir) == 0) {
		if (dir.parent != 0 && p->dir_count < ARRAY_SIZE(p->dirs))
			p->dirs[p->dir_count++] = dir.id;
	}
	catalog_scan_end(scan);
	catalog_read_end(reader);
}

/* Are the parents of all folders in one group? */
static bool is_implied(struct catalog_reader *reader, const struct folder_group *group)
{
	struct catalog_scan *scan = NULL;
	uint64_t id, parent, first = 0;
	struct dir_record dir;
	bool implied = true;

	assert_int_equal(catalog_scan_folders(reader, group, 0, &scan), 0);
	while (catalog_next_folder(scan, &id) == 0) {
		assert_int_equal(catalog_get_dir(reader, id, &dir), 0);
		assert_int_equal(catalog_find_folder_group(reader, dir.parent, &parent), 0);
		first = first ? first : parent;
		implied = implied && parent && parent == first;
	}
	catalog_scan_end(scan);
	return implied;
}

static void count_groups(struct case_state *p)
{
	struct catalog_reader *reader = fixture_read(p->f);
	struct catalog_scan *scan = NULL;
	struct folder_group group;
	bool implied;

	assert_int_equal(catalog_scan_folder_groups(reader, 0, &scan), 0);
	while (catalog_next_folder_group(scan, &group) == 0) {
		implied = is_implied(reader, &group);
		assert_true(group.bytes == 0 || implied == (group.ranked == 0));
		p->with_bytes += group.bytes > 0;
		p->implied += group.bytes > 0 && implied;
	}
	catalog_scan_end(scan);
	catalog_read_end(reader);
}

static bool is_dir(const struct case_state *p, uint64_t id)
{
	for (size_t i = 0; i < p->dir_count; i++) {
		if (p->dirs[i] == id)
			return true;
	}
	return false;
}

/* ---- contents ------------------------------------------------------------------------ */

/* Gives the file the content that its inode number stands for. */
static void learn(struct case_state *p, const struct file_record *file)
{
	size_t content = file->attributes.inode % CONTENTS;

	if (!p->groups[content] || set_content(p->f, file->id, p->groups[content]) == CONTENT_STALE)
		p->groups[content] =
			add_group(p->f, (struct hash128){content + 1, 1}, &file->id, 1);
}

static void learn_all(struct case_state *p)
{
	struct file_record files[512];
	struct catalog_reader *reader = fixture_read(p->f);
	struct catalog_scan *scan = NULL;
	size_t count = 0;

	assert_int_equal(catalog_scan_files(reader, 0, &scan), 0);
	while (count < ARRAY_SIZE(files) && catalog_next_file(scan, &files[count]) == 0)
		count += files[count].attributes.size == 100 && files[count].names > 0 &&
			 S_ISREG(files[count].attributes.mode) && !one_in(8);
	catalog_scan_end(scan);
	catalog_read_end(reader);
	for (size_t i = 0; i < count; i++) {
		if (content_of(p->f, files[i].id).group == 0)
			learn(p, &files[i]);
	}
}

/* ---- changes ------------------------------------------------------------------------- */

static struct attributes random_file(struct case_state *p, struct name *target)
{
	struct attributes file = file_of(p->inode++, one_in(3) ? 0 : 100, 0);

	*target = (struct name){0};
	if (p->last.inode && one_in(4))
		return p->last;
	if (one_in(5)) {
		file.mode = S_IFLNK | 0777;
		*target = name_of(one_in(3) ? "" : one_in(2) ? "x" : "y");
	} else if (one_in(6)) {
		file.mode = (one_in(2) ? S_IFIFO : S_IFCHR) | 0600;
		file.rdev = (uint64_t)random() % 2;
	}
	p->last = file;
	return file;
}

/* Adds a name, or replaces it. */
static void add_name(struct case_state *p, size_t at, size_t name)
{
	uint64_t dir = p->dirs[at];
	struct name target;

	if (id_at(p->f, dir, names[name]))
		remove_name(p->f, dir, names[name]);
	if (one_in(2) && p->dir_count < DIRS_MAX) {
		uint64_t new_id = add_dir(p->f, dir, names[name]);

		for (int i = 0; i < 2; i++) {
			if (one_in(2))
				continue;
			struct attributes file = random_file(p, &target);
			add_file(p->f, new_id, names[i], file);
			p->f->changes[p->f->count - 1].target = target;
		}
	} else if (one_in(20)) {
		add_unknown(p->f, dir, names[name], EIO);
	} else {
		struct attributes file = random_file(p, &target);

		add_file(p->f, dir, names[name], file);
		p->f->changes[p->f->count - 1].target = target;
	}
}

/* Adds a file like that of the entry, but with another inode. */
static void add_like(struct case_state *p, uint64_t dir, size_t name, uint64_t file)
{
	struct attributes like = file_at(p->f, file).attributes;
	struct catalog_reader *reader = fixture_read(p->f);
	struct name target = {0};

	(void)!catalog_get_target(reader, file, &target);
	p->inode += (p->inode - like.inode) % CONTENTS;
	like.inode = p->inode++;
	like.btime.tv_nsec = (long)(like.inode % 1000);
	add_file(p->f, dir, names[name], like);
	if (target.length > 0)
		p->f->changes[p->f->count - 1].target = name_of(target.bytes[0] == 'x' ? "x" : "y");
	catalog_read_end(reader);
}

/* The kind and child of a name. All zero if the name does not exist. */
static struct entry_record entry_at(const struct case_state *p, uint64_t dir, size_t name)
{
	struct catalog_reader *reader = fixture_read(p->f);
	struct entry_record entry;
	int r = catalog_find_entry(reader, dir, name_of(names[name]), &entry);

	catalog_read_end(reader);
	assert_true(r == 0 || r == -ENOENT);
	if (r < 0)
		return (struct entry_record){0};
	return (struct entry_record){.kind = entry.kind, .child = entry.child};
}

/* Makes the names of one directory those of another. */
static void mirror(struct case_state *p, size_t from, size_t to)
{
	for (size_t i = 0; i < NAMES; i++) {
		struct entry_record entry = entry_at(p, p->dirs[from], i);

		if (p->used[to][i] || (is_dir(p, id_at(p->f, p->dirs[to], names[i])) && !one_in(4)))
			continue;
		p->used[to][i] = true;
		if (id_at(p->f, p->dirs[to], names[i]))
			remove_name(p->f, p->dirs[to], names[i]);
		if (entry.kind == ENTRY_FILE)
			add_like(p, p->dirs[to], i, entry.child);
		else if (entry.kind == ENTRY_DIR)
			(void)add_dir(p->f, p->dirs[to], names[i]);
	}
}

/* Copies all that is in a directory to a new one. */
static void copy_tree(struct case_state *p, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < NAMES; i++) {
		struct entry_record entry = entry_at(p, from, i);

		if (entry.kind == ENTRY_FILE)
			add_like(p, to, i, entry.child);
		else if (entry.kind == ENTRY_DIR)
			copy_tree(p, entry.child, add_dir(p->f, to, names[i]));
	}
}

static void change(struct case_state *p)
{
	size_t at = (size_t)random() % p->dir_count, name = (size_t)random() % (at ? 3 : NAMES);
	uint64_t child = id_at(p->f, p->dirs[at], names[name]);
	size_t other = (size_t)random() % p->dir_count;

	if (other > 0 && at > 0 && other != at && one_in(3)) {
		mirror(p, other, at);
		return;
	}
	if (one_in(12) && other > 0) {
		struct name_change *update = fixture_change(p->f, NAME_UPDATE_DIR);

		update->id = p->dirs[other];
		update->attributes = dir_of(p->dirs[other]);
		update->flags = one_in(8) ? DIR_PARTIAL : 0;
		return;
	}
	if (p->used[at][name] || (is_dir(p, child) && !one_in(8)))
		return;
	p->used[at][name] = true;
	if (!child && one_in(3) && other > 0 && p->dir_count < DIRS_MAX)
		copy_tree(p, p->dirs[other], add_dir(p->f, p->dirs[at], names[name]));
	else if (one_in(6) && other > 0)
		move_dir(p->f, p->dirs[other], p->dirs[at], names[name]);
	else if (child && one_in(4))
		remove_name(p->f, p->dirs[at], names[name]);
	else
		add_name(p, at, name);
}

static void step(struct case_state *p)
{
	int count = 1 + (int)(random() % 6), r;

	list_dirs(p);
	memset(p->used, 0, sizeof(p->used));
	for (int i = 0; i < count; i++)
		change(p);
	r = fixture_commit_code(p->f);
	assert_true(r == 0 || r == -ELOOP || r == -ESTALE);
	if (r < 0) /* the attributes of files that do not exist */
		p->last.inode = 0;
	assert_consistent(p->f);
	learn_all(p);
	assert_consistent(p->f);
	if (one_in(10))
		(void)purge_orphans(p->f, 100);
	count_groups(p);
}

static void run(void **state, unsigned int seed)
{
	struct case_state p = {.f = *state, .inode = 1000};

	srandom(seed);
	for (int i = 0; i < 400; i++) {
		if (i == 10)
			know_folders(p.f);
		step(&p);
	}
	assert_true(p.with_bytes > p.implied);
	assert_true(p.implied > 0);
}

static void test_random_folders_are_grouped(void **state)
{
	run(state, 1);
}

static void test_random_folders_are_grouped_in_a_growing_map(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_teardown(state);
	fixture_make_folder(f->folder);
	f->map_bytes = 65536;
	fixture_open(f);
	fixture_fill(f);
	*state = f;
	run(state, 2);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_random_folders_are_grouped),
		CASE(test_random_folders_are_grouped_in_a_growing_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
