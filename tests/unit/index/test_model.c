/* SPDX-License-Identifier: MIT */

/* Makes thousands of random changes to an index and to a model of it. After each transaction the
 * two must agree, and the index must be consistent. */

#include "index/audit.h"
#include "index/known_folders.h"
#include "index/model.h"

struct case_state {
	struct fixture *f;
	struct model m;
	uint64_t next_inode;
	int version; /* of attributes, for ascending times */
	unsigned int next_text;
	unsigned int group_counter;
};

static bool one_in(int chances)
{
	return random() % chances == 0;
}

/* A random used (or free) position of an array; MODEL_NONE if no such position was found. */
#define PICK(array, want_used)                                                          \
	__extension__({                                                                 \
		int picked_ = MODEL_NONE;                                               \
                                                                                        \
		for (int tries_ = 0; tries_ < 200 && picked_ == MODEL_NONE; tries_++) { \
			int at_ = (int)((size_t)random() % ARRAY_SIZE(array));          \
                                                                                        \
			if ((array)[at_].used == (want_used))                           \
				picked_ = at_;                                          \
		}                                                                       \
		picked_;                                                                \
	})

/* ---- names --------------------------------------------------------------------------- */

static void random_removal(struct case_state *p)
{
	int name = PICK(p->m.names, true);

	if (name == MODEL_NONE || (p->m.names[name].kind == ENTRY_DIR && !one_in(8)))
		return;
	if (!id_at(p->f, p->m.dirs[p->m.names[name].dir].id, p->m.names[name].text))
		return; /* it moved in this batch */
	remove_name(p->f, p->m.dirs[p->m.names[name].dir].id, p->m.names[name].text);
	model_remove(&p->m, name);
}

static struct model_name *new_name(struct case_state *p, enum entry_kind kind, int child)
{
	int dir = PICK(p->m.dirs, true), at = PICK(p->m.names, false);
	struct model_name *name;

	if (dir == MODEL_NONE || at == MODEL_NONE)
		return NULL;
	name = &p->m.names[at];
	*name = (struct model_name){.used = true, .dir = dir, .kind = kind, .child = child};
	(void)snprintf(name->text, sizeof(name->text), "%x%s", p->next_text++ * 7919 % 65521,
		       one_in(4) ? "~" : "");
	return name;
}

/* How the examination of a directory ended. */
static void random_findings(struct name_change *change)
{
	change->error = one_in(4) ? EIO : 0;
	change->flags = one_in(4) ? DIR_NOT_SEARCHED : 0;
}

static void random_dir(struct case_state *p)
{
	struct name_change *change;
	int at = PICK(p->m.dirs, false);
	struct model_name *name = at == MODEL_NONE ? NULL : new_name(p, ENTRY_DIR, at);

	if (!name)
		return;
	p->m.dirs[at] = (struct model_dir){.used = true,
					   .parent = name->dir,
					   .source = p->m.dirs[name->dir].source};
	memcpy(p->m.dirs[at].name, name->text, sizeof(name->text));
	p->m.dirs[at].id = add_dir(p->f, p->m.dirs[name->dir].id, name->text);
	change = &p->f->changes[p->f->count - 1];
	change->source = (uint32_t)p->m.dirs[at].source;
	random_findings(change);
	model_examine(&p->m, at, change);
}

static void random_dir_update(struct case_state *p)
{
	int dir = PICK(p->m.dirs, true);
	struct name_change *change;

	if (dir == MODEL_NONE)
		return;
	change = fixture_change(p->f, NAME_UPDATE_DIR);
	change->id = p->m.dirs[dir].id;
	change->attributes = dir_of(200000 + (uint64_t)random() % 1000);
	random_findings(change);
	model_examine(&p->m, dir, change);
}

static void random_unknown(struct case_state *p)
{
	struct model_name *name = new_name(p, ENTRY_UNKNOWN, one_in(2) ? EACCES : EIO);

	if (name)
		add_unknown(p->f, p->m.dirs[name->dir].id, name->text, name->child);
}

/* Gives the inode number of a known file to a new one. */
static void take_number(struct case_state *p, struct attributes *attributes)
{
	int old = PICK(p->m.inodes, true);

	if (old == MODEL_NONE || !p->m.inodes[old].owner)
		return;
	attributes->inode = p->m.inodes[old].attributes.inode;
	p->m.inodes[old].owner = false;
}

static int new_inode(struct case_state *p, struct attributes *attributes)
{
	static const uint64_t sizes[] = {0, 1, 10, 10, 10, 500, 500, 20000};
	int at = PICK(p->m.inodes, false);

	if (at == MODEL_NONE)
		return at;
	*attributes =
		file_of(p->next_inode++, sizes[(size_t)random() % ARRAY_SIZE(sizes)], p->version++);
	attributes->btime.tv_sec = p->version;
	if (one_in(10))
		attributes->mode = S_IFLNK | 0777;
	if (one_in(10))
		take_number(p, attributes);
	p->m.inodes[at] = (struct model_inode){.used = true,
					       .owner = true,
					       .attributes = *attributes,
					       .first_seen = p->f->scan,
					       .group = MODEL_NONE};
	return at;
}

/* Picks a known file for another name. It can be an orphan, and can have changed. */
static int known_inode(struct case_state *p, struct attributes *attributes)
{
	int at = PICK(p->m.inodes, true);

	if (at == MODEL_NONE || !p->m.inodes[at].owner)
		return MODEL_NONE;
	*attributes = p->m.inodes[at].attributes;
	if (one_in(5)) {
		attributes->ctime.tv_sec = 1000 + p->version++;
		attributes->size += one_in(2) ? 0 : 10;
	}
	return at;
}

static void random_file(struct case_state *p)
{
	struct model_name *name = new_name(p, ENTRY_FILE, MODEL_NONE);
	struct attributes attributes;
	int inode;

	if (!name)
		return;
	inode = one_in(2) ? new_inode(p, &attributes) : known_inode(p, &attributes);
	name->child = inode;
	name->used = inode != MODEL_NONE;
	if (!name->used)
		return;
	add_file(p->f, p->m.dirs[name->dir].id, name->text, attributes);
	model_gain_name(&p->m, inode, &attributes);
}

static void random_update(struct case_state *p)
{
	int inode = PICK(p->m.inodes, true);
	struct attributes attributes;

	if (inode == MODEL_NONE || p->m.inodes[inode].id == 0)
		return;
	attributes = p->m.inodes[inode].attributes;
	attributes.uid++;
	if (one_in(2)) {
		attributes.mtime.tv_sec = 1000 + p->version++;
		attributes.size = one_in(2) ? 10 : 500;
	}
	update_file(p->f, p->m.inodes[inode].id, attributes);
	model_update(&p->m, inode, &attributes);
}

/* Moves a directory, possibly for the second time in the batch: the last move counts. */
static void random_move(struct case_state *p)
{
	int name = PICK(p->m.names, true), dir = PICK(p->m.dirs, true);
	static char texts[8][16];
	char *text = texts[p->next_text % ARRAY_SIZE(texts)];

	if (name == MODEL_NONE || dir == MODEL_NONE || p->m.names[name].kind != ENTRY_DIR ||
	    p->m.dirs[dir].source != p->m.dirs[p->m.names[name].dir].source ||
	    model_is_in(&p->m, dir, p->m.names[name].child))
		return;
	(void)snprintf(text, sizeof(texts[0]), "%x", p->next_text++ * 7919 % 65521);
	move_dir(p->f, p->m.dirs[p->m.names[name].child].id, p->m.dirs[dir].id, text);
	p->f->changes[p->f->count - 1].source = (uint32_t)p->m.dirs[dir].source;
	model_move(&p->m, name, dir, text);
}

static void case_moves(struct case_state *p)
{
	for (long i = random() % 6; i > 0; i--)
		random_move(p);
	fixture_commit(p->f);
	model_commit(&p->m);
}

static void random_touch(struct case_state *p)
{
	int inode = PICK(p->m.inodes, true);

	if (inode == MODEL_NONE || p->m.inodes[inode].id == 0)
		return;
	touch_file(p->f, p->m.inodes[inode].id);
	model_touch(&p->m, inode);
}

static void shuffle_changes(struct fixture *f, size_t first)
{
	for (size_t left = f->count - first; left > 1; left--) {
		size_t last = first + left - 1, other = first + (size_t)random() % left;
		struct name_change swap = f->changes[last];

		f->changes[last] = f->changes[other];
		f->changes[other] = swap;
	}
}

/* Looks up the ids of new files. */
static void learn_ids(struct case_state *p)
{
	for (int n = 0; n < MODEL_NAMES; n++) {
		struct model_name *name = &p->m.names[n];

		if (name->used && name->kind == ENTRY_FILE && !p->m.inodes[name->child].id)
			p->m.inodes[name->child].id =
				id_at(p->f, p->m.dirs[name->dir].id, name->text);
	}
}

static void case_names(struct case_state *p)
{
	size_t moves;

	if (one_in(3))
		random_move(p);
	/* moves keep their order, because the last move of a directory counts */
	moves = p->f->count;
	for (long i = random() % 3; i > 0; i--)
		random_touch(p);
	for (long i = random() % 12; i > 0; i--)
		random_removal(p);
	for (long i = random() % 12; i > 0; i--) {
		if (one_in(8))
			random_dir(p);
		else if (one_in(20))
			random_unknown(p);
		else
			random_file(p);
	}
	shuffle_changes(p->f, moves);
	for (long i = random() % 4; i > 0; i--)
		random_update(p);
	if (one_in(3))
		random_dir_update(p);
	fixture_commit(p->f);
	model_commit(&p->m);
	learn_ids(p);
}

/* ---- content ------------------------------------------------------------------------- */

static bool is_readable(const struct model_inode *inode, uint64_t size)
{
	return inode->used && inode->names > 0 && S_ISREG(inode->attributes.mode) &&
	       inode->attributes.size == size;
}

/* The first group of this hash without members, or MODEL_NONE. */
static int left_group(const struct model *m, struct hash128 hash)
{
	int left = MODEL_NONE;

	for (int g = 0; g < MODEL_GROUPS; g++) {
		if (m->groups[g].used && m->groups[g].hash.low == hash.low &&
		    model_members(m, g) == 0 &&
		    (left == MODEL_NONE || m->groups[g].ordinal < m->groups[left].ordinal))
			left = g;
	}
	return left;
}

/* The number of a new group. If a group of the hash has no members, the new group replaces it. */
static uint32_t take_ordinal(struct model *m, struct hash128 hash)
{
	int left = left_group(m, hash);
	uint32_t ordinal = 1;

	if (left != MODEL_NONE) {
		model_drop_group(m, left);
		return m->groups[left].ordinal;
	}
	for (int g = 0; g < MODEL_GROUPS; g++) {
		if (m->groups[g].used && m->groups[g].hash.low == hash.low &&
		    m->groups[g].ordinal >= ordinal)
			ordinal = m->groups[g].ordinal + 1;
	}
	return ordinal;
}

/* Puts random files of one size into a new or an existing group. */
static void case_content(struct case_state *p)
{
	static const uint64_t sizes[] = {10, 500};
	uint64_t size = sizes[random() % 2], ids[MODEL_INODES];
	int files[MODEL_INODES], count = 0, group = PICK(p->m.groups, one_in(2));
	struct fixture_contents contents = {.files = ids, .prefix = 70 + (uint64_t)random() % 5};
	bool old = group != MODEL_NONE && p->m.groups[group].used;

	if (group == MODEL_NONE || (old && p->m.groups[group].size != size))
		return;
	for (int i = 0; i < MODEL_INODES; i++) {
		if (is_readable(&p->m.inodes[i], size) && one_in(4)) {
			files[count] = i;
			ids[count++] = p->m.inodes[i].id;
		}
	}
	contents.count = (size_t)count;
	contents.group = old ? p->m.groups[group].id : 0;
	contents.add_group = !old && count > 0;
	contents.hash = (struct hash128){5, (uint64_t)random() % 4};
	if (contents.add_group)
		p->m.groups[group] =
			(struct model_group){.used = true,
					     .hash = contents.hash,
					     .ordinal = take_ordinal(&p->m, contents.hash),
					     .size = size,
					     .kept = MODEL_NONE,
					     .touched = true};
	assert_int_equal(catalog_write(p->f->catalog, fixture_contents_body, &contents), 0);
	for (int i = 0; i < count; i++) {
		if (p->m.inodes[files[i]].group != group) {
			model_leave(&p->m, files[i], false);
			model_join(&p->m, files[i], group);
		}
		p->m.inodes[files[i]].prefix = contents.prefix;
		p->m.comparisons++;
	}
	if (count > 0)
		p->m.groups[group].id = contents.group;
	model_commit(&p->m);
}

/* Finds one file to be unique. */
static void case_single(struct case_state *p)
{
	int inode = PICK(p->m.inodes, true);

	if (inode == MODEL_NONE || !is_readable(&p->m.inodes[inode], 10))
		return;
	assert_int_equal(set_content(p->f, p->m.inodes[inode].id, 0), 0);
	model_leave(&p->m, inode, false);
	p->m.inodes[inode].group = MODEL_NONE;
	p->m.inodes[inode].prefix = 77;
	p->m.comparisons++;
	model_commit(&p->m);
}

/* ---- other steps --------------------------------------------------------------------- */

static void case_purge(struct case_state *p)
{
	size_t limit = (size_t)random() % 6;
	bool left = purge_orphans(p->f, limit);

	for (; limit > 0; limit--) {
		int oldest = MODEL_NONE;

		for (int i = 0; i < MODEL_INODES; i++) {
			if (p->m.inodes[i].used && p->m.inodes[i].names == 0 &&
			    (oldest == MODEL_NONE || p->m.inodes[i].id < p->m.inodes[oldest].id))
				oldest = i;
		}
		if (oldest == MODEL_NONE)
			break;
		model_forget(&p->m, oldest);
		p->m.inodes[oldest].used = false;
	}
	assert_int_equal(left, limit == 0); /* whether it ended before all were purged */
	model_commit(&p->m);
}

static void case_scan(struct case_state *p)
{
	uint64_t before = p->m.min_size;

	p->m.min_size = one_in(4) ? 100 : 1;
	(void)begin_scan(p->f, p->m.min_size);
	for (int i = 0; i < MODEL_INODES; i++) {
		const struct model_inode *inode = &p->m.inodes[i];

		if (p->m.min_size > before && inode->used && inode->names > 0 && inode->prefix &&
		    inode->attributes.size < p->m.min_size)
			model_forget(&p->m, i);
	}
	model_commit(&p->m);
}

static void case_error(struct case_state *p)
{
	int inode = PICK(p->m.inodes, true), error = one_in(2) ? EIO : 0;

	if (inode == MODEL_NONE)
		return;
	set_error(p->f, ERROR_FILE, p->m.inodes[inode].id, error);
	if (p->m.inodes[inode].names > 0)
		p->m.inodes[inode].error = error;
}

static void case_step(struct case_state *p)
{
	switch (random() % 18) {
	case 0:
		case_purge(p);
		break;
	case 1:
		case_error(p);
		break;
	case 2:
		case_single(p);
		break;
	case 3:
		if (one_in(3))
			case_scan(p);
		break;
	case 4:
		if (one_in(10))
			fixture_reopen(p->f);
		break;
	case 16:
	case 17:
		case_moves(p);
		break;
	case 5:
	case 6:
	case 7:
		case_content(p);
		break;
	default:
		case_names(p);
	}
}

/* The step after which folder groups are known. assert_consistent() then counts them again. */
#define FOLDERS_STEP 20

static void run_steps(struct fixture *f, unsigned int seed, int steps)
{
	struct case_state *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	srandom(seed);
	p->f = f;
	p->next_inode = 10;
	p->m.min_size = 1;
	for (int i = 0; i < 2; i++)
		p->m.dirs[i] = (struct model_dir){.used = true,
						  .id = f->roots[i],
						  .parent = MODEL_NONE,
						  .inode = 2,
						  .source = i};
	for (int i = 0; i < steps; i++) {
		case_step(p);
		if (i == FOLDERS_STEP)
			know_folders(f);
		model_check(&p->m, f->catalog);
		audit_index(f->catalog);
		assert_consistent(f);
	}
	free(p);
}

static void test_random_changes_agree_with_the_model(void **state)
{
	run_steps(*state, 1, 600);
}

static void test_other_random_changes_agree_with_the_model(void **state)
{
	run_steps(*state, 2, 600);
}

static void test_random_changes_in_a_growing_map_agree_with_the_model(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fixture_teardown(state);
	fixture_make_folder(f->folder);
	f->map_bytes = 65536;
	fixture_open(f);
	fixture_fill(f);
	assert_int_equal(catalog_begin_view(f->catalog), 0); /* so it has times, too */
	*state = f;
	run_steps(f, 3, 300);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_random_changes_agree_with_the_model),
		CASE(test_other_random_changes_agree_with_the_model),
		CASE(test_random_changes_in_a_growing_map_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
