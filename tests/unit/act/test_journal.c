/* SPDX-License-Identifier: MIT */
#include "act/files.h"
#include "act/journal.h"

#define OTHER ".twinfs~0123456789abcdef"

/* The intents that were handled, in order. */
struct handled {
	uint64_t numbers[8];
	char path[256];
	char to[256];
	struct intent last;
	size_t count;
	bool leave;
};

static bool handle(void *context, const struct intent *intent)
{
	struct handled *handled = context;

	handled->numbers[handled->count++] = intent->number;
	handled->last = *intent;
	(void)snprintf(handled->path, sizeof(handled->path), "%s", intent->path);
	(void)snprintf(handled->to, sizeof(handled->to), "%s", intent->to ? intent->to : "");
	return !handled->leave;
}

static struct journal *open_journal(const struct folder *folder)
{
	struct journal *journal;

	assert_int_equal(journal_open(&journal, folder->path), 0);
	return journal;
}

static uint64_t intend(struct journal *journal, const char *path, const char *to)
{
	struct intent intent = {.kind = to ? INTENT_AWAY : INTENT_SYMLINK,
				.source = "/source",
				.path = path,
				.other = OTHER,
				.to = to,
				.target = to ? NULL : "../\xff target",
				.inode = UINT64_C(1) << 40,
				.born_ns = -5};

	assert_int_equal(journal_intend(journal, &intent), 0);
	return intent.number;
}

/* The open intents that another process finds. */
static struct handled resolve_journal(const struct folder *folder, bool leave)
{
	struct handled handled = {.leave = leave};
	struct journal *journal = open_journal(folder);

	assert_int_equal(journal_resolve(journal, handle, &handled), 0);
	journal_close(journal);
	return handled;
}

static void test_open_intents_are_handled_in_reverse_order(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);
	struct handled handled = {.count = 0};
	uint64_t numbers[3];

	assert_false(journal_has_intents(folder->path));
	numbers[0] = intend(journal, "a", NULL);
	numbers[1] = intend(journal, "b", NULL);
	numbers[2] = intend(journal, "c", NULL);
	assert_int_equal(journal_sync(journal), 0);
	assert_int_equal(journal_note_done(journal, numbers[1]), 0);
	assert_true(journal_has_intents(folder->path));
	assert_int_equal(journal_resolve(journal, handle, &handled), 0);
	journal_close(journal);
	assert_int_equal(handled.count, 2);
	assert_int_equal(handled.numbers[0], numbers[2]);
	assert_int_equal(handled.numbers[1], numbers[0]);
	assert_false(journal_has_intents(folder->path));
	assert_int_equal(resolve_journal(folder, false).count, 0);
}

/* If the end was synced before the act, a power cut in between would leave a file under its
 * temporary name forever. */
static void test_end_is_not_synced_before_the_act(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);

	assert_int_equal(journal_note_done(journal, intend(journal, "a", NULL)), 0);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	assert_int_equal(resolve_journal(folder, false).count, 1);
}

static void test_intent_that_was_not_handled_stays(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);

	(void)intend(journal, "a", NULL);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	assert_int_equal(resolve_journal(folder, true).count, 1);
	assert_int_equal(resolve_journal(folder, true).count, 1);
	assert_int_equal(resolve_journal(folder, false).count, 1);
	assert_int_equal(resolve_journal(folder, false).count, 0);
}

static void test_number_of_a_remaining_intent_is_not_used_again(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);
	struct handled handled = {.leave = true};
	uint64_t number;

	number = intend(journal, "stays", NULL);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	journal = open_journal(folder);
	assert_int_equal(journal_resolve(journal, handle, &handled), 0);
	assert_int_equal(journal_note_done(journal, intend(journal, "later", NULL)), 0);
	assert_int_equal(journal_resolve(journal, handle, &handled), 0);
	journal_close(journal);
	handled = resolve_journal(folder, false);
	assert_int_equal(handled.count, 1);
	assert_int_equal(handled.numbers[0], number);
	assert_string_equal(handled.path, "stays");
}

static void test_any_bytes_are_a_path(void **state)
{
	static const char path[] = "a \"b\"\n\\ \xff\xfe \x01/\xe2\x88\x95";
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);
	struct handled handled;

	(void)intend(journal, path, "/to/\xff");
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	handled = resolve_journal(folder, false);
	assert_string_equal(handled.path, path);
	assert_string_equal(handled.to, "/to/\xff");
	assert_int_equal(handled.last.kind, INTENT_AWAY);
	assert_int_equal(handled.last.inode, UINT64_C(1) << 40);
	assert_int_equal(handled.last.born_ns, -5);
}

static void test_truncated_line_is_ignored(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder);
	off_t whole;
	int fd;

	(void)intend(journal, "a", NULL);
	assert_int_equal(journal_sync(journal), 0);
	whole = status_of(folder, "acts").st_size;
	(void)intend(journal, "b", NULL);
	assert_int_equal(journal_sync(journal), 0);
	journal_close(journal);
	fd = openat(folder->fd, "acts", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, whole + 20), 0);
	close(fd);
	assert_int_equal(resolve_journal(folder, true).count, 1);
}

/* A power cut leaves half a line or zeros. */
static void test_truncated_line_hides_no_later_intent(void **state)
{
	static const struct {
		const char bytes[32];
		size_t length;
	} tails[] = {{"{\"intent\":2,\"ki", 16}, {"", 24}, {"{\"done\":1}", 10}};
	const struct folder *folder = *state;

	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		struct journal *journal = open_journal(folder);
		struct handled handled = {.leave = true};
		int fd;

		(void)intend(journal, "before", NULL);
		assert_int_equal(journal_sync(journal), 0);
		journal_close(journal);
		fd = openat(folder->fd, "acts", O_WRONLY | O_APPEND | O_CLOEXEC);
		assert_int_equal(write_fully(fd, tails[i].bytes, tails[i].length), 0);
		close(fd);

		journal = open_journal(folder);
		assert_int_equal(journal_resolve(journal, handle, &handled), 0);
		(void)intend(journal, "behind", NULL);
		assert_int_equal(journal_sync(journal), 0);
		journal_close(journal);
		handled = resolve_journal(folder, false);
		assert_int_equal(handled.count, 2);
		assert_string_equal(handled.path, "before");
	}
}

static void test_invalid_lines_are_ignored(void **state)
{
	static const char *const lines[] = {
		"\n",
		"{}\n",
		"[]\n",
		"null\n",
		"{\"intent\":1}\n",
		"{\"intent\":\"1\"}\n",
		"{\"intent\":1,\"kind\":\"away\",\"source\":\"/"
		"\",\"path\":\"a\",\"other\":\"b\"}\n",
		"{\"intent\":1,\"kind\":\"away\",\"source\":\"/\",\"path\":\"a\","
		"\"other\":\".twinfs~/../../etc/passwd\"}\n",
		"{\"intent\":1,\"kind\":\"eat\",\"source\":\"/\",\"path\":\"a\","
		"\"other\":\".twinfs~b\"}\n",
		"{\"intent\":-1,\"kind\":\"away\",\"source\":\"/\",\"path\":\"a\","
		"\"other\":\".twinfs~b\"}\n",
		"{\"done\":true}\n",
	};
	const struct folder *folder = *state;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		put_file(folder, "acts", lines[i]);
		assert_int_equal(resolve_journal(folder, false).count, 0);
	}
}

static void test_second_process_is_refused(void **state)
{
	const struct folder *folder = *state;
	struct journal *journal = open_journal(folder), *second;

	assert_int_equal(journal_open(&second, folder->path), -EWOULDBLOCK);
	assert_null(second);
	journal_close(journal);
	journal_close(open_journal(folder));
}

static void test_temporary_names_are_complete_and_differ(void **state)
{
	char one[OTHER_NAME_SIZE], two[OTHER_NAME_SIZE];

	(void)state;
	journal_other_name(one);
	journal_other_name(two);
	assert_int_equal(strlen(one), OTHER_NAME_SIZE - 1);
	assert_string_not_equal(one, two);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_open_intents_are_handled_in_reverse_order),
		CASE(test_end_is_not_synced_before_the_act),
		CASE(test_intent_that_was_not_handled_stays),
		CASE(test_number_of_a_remaining_intent_is_not_used_again),
		CASE(test_any_bytes_are_a_path),
		CASE(test_truncated_line_is_ignored),
		CASE(test_truncated_line_hides_no_later_intent),
		CASE(test_invalid_lines_are_ignored),
		CASE(test_second_process_is_refused),
		CASE(test_temporary_names_are_complete_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
