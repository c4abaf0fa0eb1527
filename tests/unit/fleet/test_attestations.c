/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "capture.h"
#include "fleet/attestations.h"
#include "fleet/file_list.h"
#include "folder.h"

#define PLAN "0123456789abcdef0123456789abcdef"
#define DIGEST "0100000000000000000000000000000000000000000000000000000000000000"
#define OTHER "0200000000000000000000000000000000000000000000000000000000000000"
#define HOUR 3600

static const uint8_t one[SHA256_BYTES] = {1}, two[SHA256_BYTES] = {2};
static const uint16_t numbers[] = {0, 1, 2};

static struct file_list_keeper keepers[] = {
	{.host = "alpha", .list = {1}},
	{.host = "gamma", .list = {1}},
	{.host = "delta", .list = {1}},
};

static struct listed_file rows[] = {
	{.size = 5, .sha256 = one, .keepers = numbers, .keeper_count = 3},
	{.size = 5, .sha256 = two, .keepers = numbers, .keeper_count = 2},
	{.size = 5, .sha256 = one, .keepers = numbers + 1, .keeper_count = 2},
};

static const struct file_list list = {
	.host = "beta",
	.plan = PLAN,
	.keep_replicas = 1,
	.keepers = keepers,
	.keeper_count = ARRAY_SIZE(keepers),
	.rows = rows,
	.count = ARRAY_SIZE(rows),
};

#define FILE_OF(inode) ",\"inode\":\"" inode "\",\"born\":\"00000000000000ff\""
#define ROW(digest, kept) ROW_OF(digest, kept, "000000000000000a")
#define ROW_OF(digest, kept, inode) \
	"{\"sha256\":\"" digest "\",\"size\":5,\"kept\":" kept FILE_OF(inode) "}\n"
#define NOT_KEPT "false,\"reason\":\"missing\""

/* An attestation and what differs from one that counts. */
struct attestation {
	const char *host, *plan, *list, *text;
	int64_t age_s;
	unsigned int rows;
};

#define WHOLE                                                             \
	{                                                                 \
		.host = "alpha", .plan = PLAN, .list = DIGEST, .rows = 1, \
		.text = ROW(DIGEST, "true"), .age_s = 60                  \
	}

/* Writes attested-NAME.jsonl. */
static void attest(const struct folder *folder, const char *name, struct attestation attestation)
{
	struct timespec begun = {.tv_sec = clock_now().tv_sec - attestation.age_s};
	CLEANUP_BYTES struct bytes text = {0};
	char time[CLOCK_TEXT_MAX], file[100];

	assert_int_equal(clock_format_utc(time, begun), 0);
	assert_int_equal(
		bytes_format(&text,
			     "{\"format\":\"twinfs-attestation\",\"schema\":1,\"plan\":\"%s\","
			     "\"host\":\"%s\",\"list\":\"%s\",\"begun\":\"%s\",\"created\":\"%s\","
			     "\"rows\":%u}\n%s",
			     attestation.plan, attestation.host, attestation.list, time, time,
			     attestation.rows, attestation.text),
		0);
	(void)snprintf(file, sizeof(file), "attested-%s.jsonl", name);
	(void)unlinkat(folder->fd, file, 0);
	make_file(folder->fd, file, text.data, text.length);
}

/* Reads the folder. Returns the result; *message is what was logged. */
static int read_folder(const struct folder *folder, struct attestations **found,
		       const char **message)
{
	static struct capture capture;
	int r;

	capture_begin(&capture, STDERR_FILENO);
	r = attestations_read(found, &list, folder->path, HOUR);
	*message = capture_end(&capture);
	assert_true((r == 0) == (*found != NULL));
	return r;
}

static void test_attested_contents_are_counted_by_host(void **state)
{
	const struct attestation both = {
		.host = "gamma",
		.plan = PLAN,
		.list = DIGEST,
		.text = ROW_OF(OTHER, "true", "000000000000000c")
			ROW_OF(DIGEST, "true", "000000000000000b"),
		.rows = 2,
	};
	struct attestation alpha = WHOLE;
	CLEANUP_BYTES struct bytes text = {0};
	struct attestations *found;
	const char *message;

	alpha.text = ROW(DIGEST, "true") ROW(OTHER, NOT_KEPT);
	alpha.rows = 2;
	attest(*state, "alpha", alpha);
	attest(*state, "gamma", both);
	assert_int_equal(read_folder(*state, &found, &message), 0);
	assert_non_null(strstr(message, "the attestation of delta in"));
	assert_null(strstr(message, "the attestation of alpha in"));
	assert_int_equal(attestations_count(found, &rows[0]), 2);
	assert_int_equal(attestations_count(found, &rows[1]), 1);
	assert_int_equal(attestations_count(found, &rows[2]), 1); /* alpha does not keep it */
	assert_int_equal(attestations_hosts(found, &rows[0], &text), 0);
	assert_string_equal(bytes_text(&text), "alpha, gamma");
	assert_true(attestations_have_file(found, 10, 255));
	assert_true(attestations_have_file(found, 12, 255));
	assert_false(attestations_have_file(found, 10, 0));
	assert_false(attestations_have_file(found, 13, 255));
	attestations_free(found);
}

static void test_hosts_that_attest_one_file_count_as_one(void **state)
{
	struct attestation alpha = WHOLE, gamma = WHOLE, delta = WHOLE;
	struct attestations *found;
	const char *message;

	gamma.host = "gamma";
	delta.host = "delta";
	delta.text = ROW_OF(DIGEST, "true", "000000000000000b");
	attest(*state, "alpha", alpha);
	attest(*state, "gamma", gamma);
	assert_int_equal(read_folder(*state, &found, &message), 0);
	assert_int_equal(attestations_count(found, &rows[0]), 1);
	attestations_free(found);
	attest(*state, "delta", delta);
	assert_int_equal(read_folder(*state, &found, &message), 0);
	assert_int_equal(attestations_count(found, &rows[0]), 2);
	assert_int_equal(attestations_count(found, &rows[2]), 2);
	attestations_free(found);
}

static void test_content_of_another_size_is_not_counted(void **state)
{
	struct attestation other = WHOLE;
	struct attestations *found;
	const char *message;

	other.text = "{\"sha256\":\"" DIGEST
		     "\",\"size\":6,\"kept\":true" FILE_OF("000000000000000a") "}\n";
	attest(*state, "alpha", other);
	assert_int_equal(read_folder(*state, &found, &message), 0);
	assert_int_equal(attestations_count(found, &rows[0]), 0);
	attestations_free(found);
}

static void test_attestations_that_do_not_count_are_named(void **state)
{
	const struct {
		struct attestation attestation;
		const char *message;
	} cases[] = {
		{{"alpha", "f123456789abcdef0123456789abcdef", DIGEST, ROW(DIGEST, "true"), 60, 1},
		 "it is of another plan"},
		{{"alpha", PLAN, OTHER, ROW(DIGEST, "true"), 60, 1},
		 "it is of another keep list than the remove list names"},
		{{"alpha", PLAN, DIGEST, ROW(DIGEST, "true"), HOUR + 60, 1},
		 "it is older than --max-age allows"},
		{{"alpha", PLAN, DIGEST, ROW(DIGEST, "true"), -360, 1},
		 "it was begun in the future"},
	};
	struct attestations *found;
	const char *message;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		attest(*state, "alpha", cases[i].attestation);
		assert_int_equal(read_folder(*state, &found, &message), 0);
		assert_non_null(strstr(message, cases[i].message));
		assert_int_equal(attestations_count(found, &rows[0]), 0);
		attestations_free(found);
	}
}

static void test_clocks_can_differ_by_minutes(void **state)
{
	static const int64_t ages[] = {HOUR - 60, 0, -240};
	struct attestation attestation = WHOLE;
	struct attestations *found;
	const char *message;

	for (size_t i = 0; i < ARRAY_SIZE(ages); i++) {
		attestation.age_s = ages[i];
		attest(*state, "alpha", attestation);
		assert_int_equal(read_folder(*state, &found, &message), 0);
		assert_int_equal(attestations_count(found, &rows[0]), 1);
		attestations_free(found);
	}
}

static void test_malformed_file_is_refused(void **state)
{
	static const struct {
		const char *name;
		struct attestation attestation;
		const char *message;
	} cases[] = {
		{"alpha", {"beta", PLAN, DIGEST, "", 60, 0}, "line 1: it is of another host"},
		{"alpha", {"../x", PLAN, DIGEST, "", 60, 0}, "line 1: it has no valid host"},
		{"x", {"x", "12", DIGEST, "", 60, 0}, "line 1: it has no valid plan"},
		{"x", {"x", PLAN, "12", "", 60, 0}, "line 1: it does not name its keep list"},
		{"alpha", {"alpha", PLAN, DIGEST, "", 60, 1}, "there are fewer rows"},
		{"alpha",
		 {"alpha", PLAN, DIGEST, ROW(DIGEST, "true"), 60, 0},
		 "line 2: there are more rows"},
		{"alpha",
		 {"alpha", PLAN, DIGEST, ROW(DIGEST, "true") ROW(DIGEST, NOT_KEPT), 60, 2},
		 "line 3: an earlier line has the same content"},
		{"alpha",
		 {"alpha", PLAN, DIGEST, ROW(DIGEST, "1"), 60, 1},
		 "line 2: it does not say whether the content is kept"},
		{"alpha",
		 {"alpha", PLAN, DIGEST, ROW(DIGEST, "false"), 60, 1},
		 "line 2: it has no reason"},
		{"alpha",
		 {"alpha", PLAN, DIGEST, ROW("12", "true"), 60, 1},
		 "line 2: it has no valid sha256"},
		{"alpha", {"alpha", PLAN, DIGEST, "{\"sha256\":", 60, 1}, "line 2: it has no end"},
		{"alpha", {"alpha", PLAN, DIGEST, "[]\n", 60, 1}, "line 2: it is no JSON object"},
	};
	const struct folder *folder = *state;
	struct attestations *found;
	const char *message;
	char file[100];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		attest(folder, cases[i].name, cases[i].attestation);
		assert_int_equal(read_folder(folder, &found, &message), -EPROTO);
		assert_non_null(strstr(message, cases[i].message));
		assert_non_null(strstr(message, "nothing was removed"));
		(void)snprintf(file, sizeof(file), "attested-%s.jsonl", cases[i].name);
		assert_int_equal(unlinkat(folder->fd, file, 0), 0);
	}
}

static void test_only_regular_files_are_read(void **state)
{
	const struct folder *folder = *state;
	struct attestation whole = WHOLE;
	struct attestations *found;
	const char *message;

	attest(folder, "alpha", whole);
	make_file(folder->fd, "attested-gamma.jsonl.new", "torn", 4);
	make_file(folder->fd, "keep-gamma.jsonl", "other", 5);
	assert_int_equal(read_folder(folder, &found, &message), 0);
	attestations_free(found);
	assert_int_equal(mkfifoat(folder->fd, "attested-gamma.jsonl", 0600), 0);
	assert_int_equal(read_folder(folder, &found, &message), -EPROTO);
	assert_non_null(strstr(message, "it is no regular file"));
	assert_int_equal(unlinkat(folder->fd, "attested-gamma.jsonl", 0), 0);
	assert_int_equal(symlinkat("attested-alpha.jsonl", folder->fd, "attested-gamma.jsonl"), 0);
	assert_int_equal(read_folder(folder, &found, &message), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST_IN_FOLDER(test_attested_contents_are_counted_by_host),
		TEST_IN_FOLDER(test_hosts_that_attest_one_file_count_as_one),
		TEST_IN_FOLDER(test_content_of_another_size_is_not_counted),
		TEST_IN_FOLDER(test_attestations_that_do_not_count_are_named),
		TEST_IN_FOLDER(test_clocks_can_differ_by_minutes),
		TEST_IN_FOLDER(test_malformed_file_is_refused),
		TEST_IN_FOLDER(test_only_regular_files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
