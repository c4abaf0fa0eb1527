/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CATALOG_MODEL_H
#define TESTS_CATALOG_MODEL_H

/* The expected contents of an index in plain arrays: the rules of src/index, implemented a second
 * time as simply as possible. Things are identified by their positions in the arrays; unused
 * positions are free. */

#include "index/fixture.h"
#include "index/paths.h"

#define MODEL_DIRS 24
#define MODEL_INODES 200
#define MODEL_NAMES 300
#define MODEL_GROUPS 120
#define MODEL_NONE (-1)
#define MODEL_CLAIM_BYTES 600

struct model_dir {
	bool used;
	uint64_t id;
	int parent; /* MODEL_NONE: a source */
	int source;
	char name[16];
	uint64_t inode;
	uint32_t flags;
	int error;
};

struct model_inode {
	bool used; /* known to the index, perhaps as an orphan */
	bool owner; /* a later file does not have its inode number */
	uint64_t id; /* 0: not yet looked up in the index */
	struct attributes attributes;
	uint32_t first_seen;
	int names;
	bool touched; /* since the last check of the index */
	uint32_t content_version; /* the count in the index at the last check */
	uint64_t prefix;
	int group; /* its group, of which it is a member while it has names */
	uint64_t lost; /* model.comparisons when its last name was removed */
	struct hash128 kept_hash; /* as in struct file_record */
	uint64_t kept_until; /* model.commits when it left as the kept copy */
	int error;
};

struct model_name {
	bool used;
	int dir;
	char text[16];
	enum entry_kind kind;
	int child; /* a directory, an inode or an errno */
};

struct model_group {
	bool used;
	uint64_t id;
	struct hash128 hash;
	uint32_t ordinal;
	uint64_t size;
	int kept; /* an inode */
	/* within a transaction */
	bool touched, stays;
};

struct model {
	uint64_t comparisons; /* files that were read */
	uint64_t commits;
	struct model_dir dirs[MODEL_DIRS];
	struct model_inode inodes[MODEL_INODES];
	struct model_name names[MODEL_NAMES];
	struct model_group groups[MODEL_GROUPS];
	uint64_t min_size;
};

static inline bool model_is_member(const struct model *m, int inode, int group)
{
	const struct model_inode *i = &m->inodes[inode];

	return i->used && i->names > 0 && i->group == group;
}

static inline uint64_t model_members(const struct model *m, int group)
{
	uint64_t count = 0;

	for (int i = 0; i < MODEL_INODES; i++)
		count += model_is_member(m, i, group);
	return count;
}

/* ---- content ------------------------------------------------------------------------- */

static inline void model_leave(struct model *m, int inode, bool stays)
{
	int group = m->inodes[inode].group;

	if (group == MODEL_NONE)
		return;
	m->groups[group].touched = true;
	m->groups[group].stays = stays;
	if (m->groups[group].kept == inode)
		m->groups[group].kept = MODEL_NONE;
}

/* Returns whether the kept copy of the group left it as the kept copy before this commit. */
static inline bool model_was_kept_earlier(const struct model *m, int group, uint64_t commit)
{
	int kept = m->groups[group].kept;

	return kept != MODEL_NONE &&
	       hash128_equal(m->inodes[kept].kept_hash, m->groups[group].hash) &&
	       m->inodes[kept].kept_until < commit;
}

/* The kept copy that joins its group again is the kept copy again. */
static inline void model_join(struct model *m, int inode, int group)
{
	m->groups[group].touched = true;
	m->inodes[inode].group = group;
	if (hash128_equal(m->inodes[inode].kept_hash, m->groups[group].hash) &&
	    !model_was_kept_earlier(m, group, m->inodes[inode].kept_until))
		m->groups[group].kept = inode;
}

/* As model_leave(), but the inode possibly joins the group again. */
static inline void model_leave_awhile(struct model *m, int inode, bool stays)
{
	int group = m->inodes[inode].group;

	if (group != MODEL_NONE && m->groups[group].kept == inode) {
		m->inodes[inode].kept_hash = m->groups[group].hash;
		m->inodes[inode].kept_until = m->commits;
	}
	model_leave(m, inode, stays);
}

static inline void model_forget(struct model *m, int inode)
{
	model_leave_awhile(m, inode, false);
	m->inodes[inode].group = MODEL_NONE;
	m->inodes[inode].prefix = 0;
}

/* ---- names --------------------------------------------------------------------------- */

/* Notes the result of the examination of a directory. */
static inline void model_examine(struct model *m, int dir, const struct name_change *change)
{
	m->dirs[dir].inode = change->attributes.inode;
	m->dirs[dir].flags = change->flags;
	m->dirs[dir].error = change->error;
}

static inline void model_touch(struct model *m, int inode)
{
	model_forget(m, inode);
	m->inodes[inode].error = 0;
	m->inodes[inode].touched |= m->inodes[inode].id != 0;
}

static inline void model_update(struct model *m, int inode, const struct attributes *attributes)
{
	struct model_inode *i = &m->inodes[inode];

	if (!attributes_same_signature(&i->attributes, attributes))
		model_touch(m, inode);
	i->attributes = *attributes;
}

/* Gives an orphan a name again. Files that were read meanwhile were not compared with this orphan,
 * unless its group has another member. */
static inline void model_give_name_again(struct model *m, int inode,
					 const struct attributes *attributes)
{
	struct model_inode *i = &m->inodes[inode];
	bool stood_for = i->lost == m->comparisons ||
			 (i->group != MODEL_NONE && model_members(m, i->group) > 0);

	if (attributes->size < m->min_size || !stood_for)
		model_forget(m, inode);
	else if (i->group != MODEL_NONE)
		model_join(m, inode, i->group);
}

static inline void model_gain_name(struct model *m, int inode, const struct attributes *attributes)
{
	struct model_inode *i = &m->inodes[inode];

	if (i->names == 0)
		model_give_name_again(m, inode, attributes);
	model_update(m, inode, attributes);
	i->names++;
}

static inline void model_lose_name(struct model *m, int inode)
{
	struct model_inode *i = &m->inodes[inode];

	if (--i->names > 0)
		return;
	model_leave_awhile(m, inode, true);
	i->lost = m->comparisons;
	i->error = 0;
}

static inline void model_remove(struct model *m, int name)
{
	struct model_name removed = m->names[name];

	m->names[name].used = false;
	if (removed.kind == ENTRY_FILE)
		model_lose_name(m, removed.child);
	if (removed.kind != ENTRY_DIR)
		return;
	m->dirs[removed.child].used = false;
	for (int n = 0; n < MODEL_NAMES; n++) {
		if (m->names[n].used && m->names[n].dir == removed.child)
			model_remove(m, n);
	}
}

/* Returns whether the directory is the directory above, or is below it. */
static inline bool model_is_in(const struct model *m, int dir, int above)
{
	while (dir != above && m->dirs[dir].parent != MODEL_NONE)
		dir = m->dirs[dir].parent;
	return dir == above;
}

/* Moves the directory of a name to another name, which is free. */
static inline void model_move(struct model *m, int name, int dir, const char *text)
{
	int child = m->names[name].child;

	m->names[name].dir = m->dirs[child].parent = dir;
	m->dirs[child].inode = moved_dir(m->dirs[child].id).inode;
	(void)snprintf(m->names[name].text, sizeof(m->names[name].text), "%s", text);
	(void)snprintf(m->dirs[child].name, sizeof(m->dirs[child].name), "%s", text);
}

/* ---- the end of a transaction -------------------------------------------------------- */

static inline void model_path(const struct model *m, const struct model_name *name, char *path)
{
	char above[512] = "";

	(void)snprintf(path, 512, "%s", name->text);
	for (int d = name->dir; m->dirs[d].parent != MODEL_NONE; d = m->dirs[d].parent) {
		memcpy(above, path, sizeof(above));
		(void)snprintf(path, 512, "%s/%.480s", m->dirs[d].name, above);
	}
}

static inline int model_count(const char *path, char c)
{
	int count = 0;

	for (; *path != '\0'; path++)
		count += *path == c;
	return count;
}

/* Writes the least text "source first-seen mtime marks birth depth path" of the inode's names. Of a
 * group, the inode with the least text is the kept copy. A name has a mark if it has a '~'. */
static inline void model_claim(const struct model *m, int inode, char *least)
{
	char path[512], claim[MODEL_CLAIM_BYTES];

	*least = '\0';
	for (int n = 0; n < MODEL_NAMES; n++) {
		const struct model_name *name = &m->names[n];

		if (!name->used || name->kind != ENTRY_FILE || name->child != inode)
			continue;
		model_path(m, name, path);
		(void)snprintf(claim, sizeof(claim), "%d %010u %010ld %03d %010ld %03d %s",
			       m->dirs[name->dir].source, m->inodes[inode].first_seen,
			       m->inodes[inode].attributes.mtime.tv_sec / 2, model_count(path, '~'),
			       m->inodes[inode].attributes.btime.tv_sec, model_count(path, '/'),
			       path);
		if (!*least || strcmp(claim, least) < 0)
			(void)snprintf(least, MODEL_CLAIM_BYTES, "%s", claim);
	}
}

static inline int model_choose_kept(const struct model *m, int group)
{
	char claim[MODEL_CLAIM_BYTES], best[MODEL_CLAIM_BYTES] = "";
	int kept = MODEL_NONE;

	for (int i = 0; i < MODEL_INODES; i++) {
		if (!model_is_member(m, i, group))
			continue;
		model_claim(m, i, claim);
		if (kept == MODEL_NONE || strcmp(claim, best) < 0) {
			memcpy(best, claim, sizeof(best));
			kept = i;
		}
	}
	return kept;
}

static inline void model_drop_group(struct model *m, int group)
{
	m->groups[group].used = false;
	for (int i = 0; i < MODEL_INODES; i++) {
		/* the index forgets the content of an orphan only when the orphan gets a name;
		 * until then, the difference is not visible */
		if (m->inodes[i].used && m->inodes[i].group == group) {
			m->inodes[i].group = MODEL_NONE;
			m->inodes[i].prefix = 0;
		}
	}
}

static inline void model_commit(struct model *m)
{
	m->commits++;
	for (int g = 0; g < MODEL_GROUPS; g++) {
		struct model_group *group = &m->groups[g];

		if (!group->used)
			continue;
		if (group->touched && !group->stays && model_members(m, g) == 0)
			model_drop_group(m, g);
		else if (group->kept == MODEL_NONE)
			group->kept = model_choose_kept(m, g);
		group->touched = group->stays = false;
	}
}

/* ---- comparison with the index ------------------------------------------------------- */

static inline void model_check_inode(struct model *m, int inode, struct catalog_reader *r)
{
	struct model_inode *i = &m->inodes[inode];
	struct content_record content = {0};
	struct file_record file;
	uint64_t owner;
	int code, error;

	assert_int_equal(catalog_get_file(r, i->id, &file), 0);
	assert_true(attributes_equal(&file.attributes, &i->attributes));
	assert_int_equal(file.names, i->names);
	assert_int_equal(file.first_seen, i->first_seen);
	/* names with several signatures in one batch count as one change */
	assert_int_equal(file.content_version > i->content_version, i->touched);
	i->content_version = file.content_version;
	i->touched = false;
	assert_int_equal(catalog_get_error(r, ERROR_FILE, i->id, &error), 0);
	assert_int_equal(error, i->error);
	if (i->owner) {
		assert_int_equal(catalog_find_inode(r, i->attributes.filesystem,
						    i->attributes.inode, &owner),
				 0);
		assert_int_equal(owner, i->id);
	}
	if (i->names == 0)
		return;
	code = catalog_get_content(r, i->id, &content);
	assert_int_equal(code, i->prefix ? 0 : -ENOENT);
	assert_int_equal(content.prefix, i->prefix);
	assert_int_equal(content.group, i->group == MODEL_NONE ? 0 : m->groups[i->group].id);
}

static inline void model_check_dir(const struct model *m, const struct model_dir *d,
				   struct catalog_reader *r)
{
	struct dir_record dir;
	int noted;

	assert_int_equal(catalog_get_dir(r, d->id, &dir), 0);
	assert_int_equal(dir.parent, d->parent == MODEL_NONE ? 0 : m->dirs[d->parent].id);
	assert_int_equal(dir.source, d->source);
	assert_int_equal(dir.attributes.inode, d->inode);
	assert_int_equal(dir.flags, d->flags);
	assert_int_equal(dir.error, d->error);
	assert_int_equal(catalog_get_error(r, ERROR_DIR, d->id, &noted), 0);
	assert_int_equal(noted, d->error);
}

static inline void model_check_name(const struct model *m, const struct model_name *name,
				    struct catalog_reader *r)
{
	struct entry_record entry;
	uint64_t child = (uint64_t)name->child;

	if (name->kind == ENTRY_FILE)
		child = m->inodes[name->child].id;
	else if (name->kind == ENTRY_DIR)
		child = m->dirs[name->child].id;
	assert_int_equal(catalog_find_entry(r, m->dirs[name->dir].id, name_of(name->text), &entry),
			 0);
	assert_int_equal(entry.kind, name->kind);
	assert_int_equal(entry.child, child);
}

static inline void model_check_group(const struct model *m, int group, struct catalog_reader *r)
{
	const struct model_group *g = &m->groups[group];
	struct group_record record;

	assert_int_equal(catalog_find_group(r, g->hash, g->ordinal, &record), 0);
	assert_int_equal(record.id, g->id);
	assert_int_equal(record.size, g->size);
	assert_int_equal(record.inodes, model_members(m, group));
	assert_int_equal(record.kept, g->kept == MODEL_NONE ? 0 : m->inodes[g->kept].id);
}

static inline void model_check(struct model *m, struct catalog *catalog)
{
	struct catalog_totals totals, expected = {0};
	struct catalog_reader *r = NULL;

	assert_int_equal(catalog_read_begin(catalog, &r), 0);
	for (int i = 0; i < MODEL_INODES; i++) {
		if (m->inodes[i].used)
			model_check_inode(m, i, r);
		if (m->inodes[i].used && m->inodes[i].names > 0)
			(*(S_ISREG(m->inodes[i].attributes.mode) ? &expected.files
								 : &expected.others))++;
	}
	for (int n = 0; n < MODEL_NAMES; n++) {
		if (m->names[n].used)
			model_check_name(m, &m->names[n], r);
		expected.names += m->names[n].used && m->names[n].kind == ENTRY_FILE;
	}
	for (int g = 0; g < MODEL_GROUPS; g++) {
		if (m->groups[g].used)
			model_check_group(m, g, r);
		expected.groups += m->groups[g].used && model_members(m, g) > 1;
	}
	for (int d = 0; d < MODEL_DIRS; d++) {
		if (m->dirs[d].used)
			model_check_dir(m, &m->dirs[d], r);
		expected.directories += m->dirs[d].used;
	}
	assert_int_equal(catalog_get_totals(r, &totals), 0);
	assert_int_equal(totals.files, expected.files);
	assert_int_equal(totals.others, expected.others);
	assert_int_equal(totals.names, expected.names);
	assert_int_equal(totals.groups, expected.groups);
	assert_int_equal(totals.directories, expected.directories);
	catalog_read_end(r);
}

#endif
