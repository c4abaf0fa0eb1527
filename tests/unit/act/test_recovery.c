/* SPDX-License-Identifier: MIT */
#include "act/files.h"
#include "act/recovery.h"

#define OTHER ".twinfs~0123456789abcdef"

/* Undoes an intent as the next start would. */
static struct recovery undo_intent(const struct folder *folder, struct intent *intent)
{
	struct journal *journal;
	struct recovery undone;

	intent->other = OTHER;
	assert_int_equal(journal_open(&journal, folder->path), 0);
	assert_int_equal(journal_intend(journal, intent), 0);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	assert_int_equal(recovery_run_of(folder->path, NULL, &undone), 0);
	assert_int_equal(journal_has_intents(folder->path), undone.left > 0);
	return undone;
}

/* Undoes the removal of "copy". */
static struct recovery undo(const struct folder *folder, ino_t inode, const char *to)
{
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "copy",
				.to = to,
				.inode = inode};

	return undo_intent(folder, &intent);
}

/* Undoes the replacement of "copy" by a link to "kept". */
static struct recovery undo_link(const struct folder *folder, ino_t inode)
{
	struct intent intent = {.kind = INTENT_LINK,
				.source = folder->path,
				.path = "copy",
				.inode = inode,
				.kept_inode = status_of(folder, "kept").st_ino};

	return undo_intent(folder, &intent);
}

/* Undoes the replacement of "copy" by a symbolic link. */
static struct recovery undo_symlink(const struct folder *folder, ino_t inode)
{
	struct intent intent = {.kind = INTENT_SYMLINK,
				.source = folder->path,
				.path = "copy",
				.inode = inode,
				.target = "/nowhere"};

	return undo_intent(folder, &intent);
}

static void move(const struct folder *folder, const char *from, const char *to, unsigned int flags)
{
	assert_int_equal(renameat2(folder->fd, from, folder->fd, to, flags), 0);
}

static ino_t put_copy(const struct folder *folder)
{
	put_file(folder, "copy", "content");
	return status_of(folder, "copy").st_ino;
}

static void test_act_that_was_not_begun_changes_nothing(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	assert_int_equal(undo(folder, inode, NULL).files, 0);
	assert_int_equal(undo_symlink(folder, inode).files, 0);
	assert_true(holds(folder, "copy", "content"));
}

static void test_copy_gets_its_name_back_from_the_temporary_one(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	move(folder, "copy", OTHER, 0);
	assert_int_equal(undo(folder, inode, NULL).files, 1);
	assert_true(holds(folder, "copy", "content"));
	assert_true(holds(folder, OTHER, NULL));
}

static void test_copy_gets_another_name_if_its_own_is_taken(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	move(folder, "copy", OTHER, 0);
	put_file(folder, "copy", "new");
	put_file(folder, "copy.kept-1", "taken");
	assert_int_equal(undo(folder, inode, NULL).files, 1);
	assert_true(holds(folder, "copy", "new"));
	assert_true(holds(folder, "copy.kept-1", "taken"));
	assert_true(holds(folder, "copy.kept-2", "content"));
}

static void test_copy_in_the_rescue_folder_gets_its_name_back(void **state)
{
	const struct folder *folder = *state;
	char saved[96];
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "copy",
				.saved = saved,
				.inode = 1};

	(void)snprintf(saved, sizeof(saved), "%s/saved", folder->path);
	put_file(folder, "saved", "content");
	put_file(folder, "saved.part", "cont");
	put_file(folder, OTHER ".part", "con");
	assert_int_equal(undo_intent(folder, &intent).files, 1);
	assert_true(holds(folder, "copy", "content"));
	assert_true(holds(folder, "saved", NULL));
	assert_true(holds(folder, "saved.part", NULL));
	assert_true(holds(folder, OTHER ".part", NULL));
	assert_true(holds(folder, OTHER, NULL));
}

static void test_copy_in_the_rescue_folder_stays_if_its_directory_is_missing(void **state)
{
	const struct folder *folder = *state;
	char saved[96];
	struct recovery undone;
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "gone/copy",
				.saved = saved,
				.inode = 1};

	(void)snprintf(saved, sizeof(saved), "%s/saved", folder->path);
	put_file(folder, "saved", "content");
	undone = undo_intent(folder, &intent);
	assert_int_equal(undone.files, 0);
	assert_int_equal(undone.left, 1);
	assert_true(holds(folder, "saved", "content"));
	/* an incomplete file is of no use */
	put_file(folder, "saved.part", "cont");
	assert_int_equal(unlinkat(folder->fd, "saved", 0), 0);
	assert_int_equal(undo_intent(folder, &intent).left, 0);
	assert_true(holds(folder, "saved.part", NULL));
}

/* The link was made, and no name was changed yet. */
static void test_link_under_its_temporary_name_is_removed(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	put_file(folder, "kept", "content");
	assert_int_equal(linkat(folder->fd, "kept", folder->fd, OTHER, 0), 0);
	(void)undo_link(folder, inode);
	assert_true(holds(folder, OTHER, NULL));
	assert_int_equal(status_of(folder, "copy").st_ino, inode);
	assert_true(holds(folder, "kept", "content"));
}

static void test_link_is_exchanged_with_the_copy(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	put_file(folder, "kept", "content");
	assert_int_equal(linkat(folder->fd, "kept", folder->fd, OTHER, 0), 0);
	move(folder, OTHER, "copy", RENAME_EXCHANGE);
	assert_int_equal(undo_link(folder, inode).files, 1);
	assert_int_equal(status_of(folder, "copy").st_ino, inode);
	assert_true(holds(folder, OTHER, NULL));
	assert_int_equal(status_of(folder, "kept").st_nlink, 1);
}

static void test_symbolic_link_is_exchanged_with_the_copy(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	assert_int_equal(symlinkat("/nowhere", folder->fd, OTHER), 0);
	move(folder, OTHER, "copy", RENAME_EXCHANGE);
	assert_int_equal(undo_symlink(folder, inode).files, 1);
	assert_int_equal(status_of(folder, "copy").st_ino, inode);
	assert_true(holds(folder, OTHER, NULL));
}

/* The kept file lost its name meanwhile, so the link is the last name. */
static void test_last_name_of_a_content_is_not_removed(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	struct intent intent = {.kind = INTENT_LINK,
				.source = folder->path,
				.path = "copy",
				.inode = inode};

	put_file(folder, OTHER, "kept");
	intent.kept_inode = status_of(folder, OTHER).st_ino;
	(void)undo_intent(folder, &intent);
	assert_true(holds(folder, "copy", "kept") || holds(folder, "copy.kept-1", "kept"));
	assert_true(holds(folder, "copy", "content") || holds(folder, "copy.kept-1", "content"));
	assert_true(holds(folder, OTHER, NULL));
}

static void test_file_that_replaced_the_link_stays(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	put_file(folder, "kept", "content");
	assert_int_equal(linkat(folder->fd, "kept", folder->fd, OTHER, 0), 0);
	move(folder, OTHER, "copy", RENAME_EXCHANGE);
	put_file(folder, "new", "new");
	move(folder, "new", "copy", 0);
	assert_int_equal(undo_link(folder, inode).files, 1);
	assert_true(holds(folder, "copy", "new"));
	assert_true(holds(folder, "copy.kept-1", "content"));
}

static void test_foreign_links_that_replaced_the_link_stay(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	put_file(folder, "kept", "content");
	move(folder, "copy", OTHER, 0);
	put_file(folder, "new", "new");
	assert_int_equal(linkat(folder->fd, "new", folder->fd, "copy", 0), 0);
	assert_int_equal(undo_link(folder, inode).files, 1);
	assert_true(holds(folder, "copy", "new"));
	assert_int_equal(unlinkat(folder->fd, "copy", 0), 0);
	move(folder, "copy.kept-1", OTHER, 0);
	assert_int_equal(symlinkat("/elsewhere", folder->fd, "copy"), 0);
	assert_int_equal(undo_symlink(folder, inode).files, 1);
	assert_true(S_ISLNK(status_of(folder, "copy").st_mode));
	assert_true(holds(folder, "copy.kept-1", "content"));
}

static void test_folder_that_replaced_the_link_stays(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);

	move(folder, "copy", OTHER, 0);
	assert_int_equal(mkdirat(folder->fd, "copy", 0700), 0);
	put_file(folder, "copy/new", "new");
	assert_int_equal(undo_symlink(folder, inode).files, 1);
	assert_true(holds(folder, "copy/new", "new"));
	assert_true(holds(folder, "copy.kept-1", "content"));
}

static void test_move_that_arrived_is_completed(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);
	char to[96];
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "copy",
				.to = to,
				.inode = inode};

	(void)snprintf(to, sizeof(to), "%s/there", folder->path);
	move(folder, "copy", OTHER, 0);
	put_file(folder, "there", "content");
	intent.made_inode = status_of(folder, "there").st_ino;
	assert_int_equal(undo_intent(folder, &intent).completed, 1);
	assert_true(holds(folder, "there", "content"));
	assert_true(holds(folder, OTHER, NULL));
	assert_true(holds(folder, "copy", NULL));
}

static void test_move_to_a_foreign_file_is_undone(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);
	char to[96];

	(void)snprintf(to, sizeof(to), "%s/there", folder->path);
	move(folder, "copy", OTHER, 0);
	put_file(folder, "there", "content");
	assert_int_equal(undo(folder, inode, to).completed, 0);
	assert_true(holds(folder, "there", "content"));
	assert_true(holds(folder, "copy", "content"));
}

static void test_move_to_other_bytes_is_undone(void **state)
{
	const struct folder *folder = *state;
	ino_t inode = put_copy(folder);
	char to[96];

	(void)snprintf(to, sizeof(to), "%s/there", folder->path);
	move(folder, "copy", OTHER, 0);
	put_file(folder, "there", "other text");
	assert_int_equal(undo(folder, inode, to).completed, 0);
	assert_true(holds(folder, "there", "other text"));
	assert_true(holds(folder, "copy", "content"));
}

static void test_intent_of_a_missing_source_stays(void **state)
{
	const struct folder *folder = *state;
	struct intent intent = {.kind = INTENT_AWAY,
				.source = "/nowhere",
				.path = "copy",
				.inode = 1};

	assert_int_equal(undo_intent(folder, &intent).left, 1);
}

static void test_intent_of_a_replaced_source_stays(void **state)
{
	const struct folder *folder = *state;
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "copy",
				.inode = 1,
				.root = {.inode = 1}};

	assert_int_equal(undo_intent(folder, &intent).left, 1);
}

static void test_intent_in_a_removed_folder_ends(void **state)
{
	const struct folder *folder = *state;
	struct intent intent = {.kind = INTENT_AWAY,
				.source = folder->path,
				.path = "gone/copy",
				.inode = 1};

	assert_int_equal(undo_intent(folder, &intent).left, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_act_that_was_not_begun_changes_nothing),
		CASE(test_copy_gets_its_name_back_from_the_temporary_one),
		CASE(test_copy_in_the_rescue_folder_gets_its_name_back),
		CASE(test_copy_in_the_rescue_folder_stays_if_its_directory_is_missing),
		CASE(test_copy_gets_another_name_if_its_own_is_taken),
		CASE(test_link_under_its_temporary_name_is_removed),
		CASE(test_link_is_exchanged_with_the_copy),
		CASE(test_symbolic_link_is_exchanged_with_the_copy),
		CASE(test_last_name_of_a_content_is_not_removed),
		CASE(test_file_that_replaced_the_link_stays),
		CASE(test_foreign_links_that_replaced_the_link_stay),
		CASE(test_folder_that_replaced_the_link_stays),
		CASE(test_move_that_arrived_is_completed),
		CASE(test_move_to_a_foreign_file_is_undone),
		CASE(test_move_to_other_bytes_is_undone),
		CASE(test_intent_of_a_missing_source_stays),
		CASE(test_intent_of_a_replaced_source_stays),
		CASE(test_intent_in_a_removed_folder_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
