/* SPDX-License-Identifier: MIT */

/* Runs a fuzz target without libFuzzer: with the inputs in files and folders, then with inputs
 * that are generated from them. The generated inputs depend only on the seed.
 *
 *	TARGET [--inputs N | --seconds N] [--seed N] [--findings FOLDER] FILE|FOLDER...
 *
 *	parent ── fork ──► child: runs the target, one input after the other
 *	   │                 │
 *	   │                 ├─ the current input ──► shared memory
 *	   │                 └─ its output ─────────► a file in memory
 *	   └─ waits; if the child fails, shows the output and saves the input
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define INPUT_MAX ((size_t)64 << 10)
#define OUTPUT_MAX ((size_t)64 << 10)

/* An input that runs longer is reported as hanging. */
#define INPUT_SECONDS_MAX 60

/* The output of earlier inputs is dropped after this many inputs. */
#define FORGET_AFTER 256

struct settings {
	const char *target;
	const char *findings;
	uint64_t inputs;
	uint64_t seconds;
	uint64_t seed;
};

struct sample {
	char *path;
	uint8_t *data;
	size_t length;
};

struct samples {
	struct sample *list;
	size_t count;
};

/* The memory that parent and child share. */
struct shared {
	uint64_t done; /* inputs */
	bool at_end; /* all inputs ran; later output belongs to no single input */
	const char *path; /* path of the current sample; NULL: the input was generated */
	size_t length;
	uint8_t data[INPUT_MAX];
};

/* ---- samples ------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what, const char *path)
{
	(void)fprintf(stderr, "%s: %s\n", path, what);
	_exit(2);
}

static void add_file(struct samples *samples, const char *path)
{
	struct sample sample = {.path = strdup(path), .data = malloc(INPUT_MAX)};
	FILE *file = fopen(path, "re");

	samples->list = realloc(samples->list, (samples->count + 1) * sizeof(sample));
	if (!sample.path || !sample.data || !samples->list)
		fail("no memory", path);
	if (!file)
		fail(strerrorname_np(errno), path);
	sample.length = fread(sample.data, 1, INPUT_MAX, file);
	if (ferror(file) || fgetc(file) != EOF)
		fail("cannot be read or is too large for an input", path);
	(void)fclose(file);
	samples->list[samples->count++] = sample;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void add_folder(struct samples *samples, const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_shown, alphasort);

	if (count < 0)
		fail(strerrorname_np(errno), folder);
	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0)
			fail("no memory", folder);
		add_file(samples, path);
		free(path);
		free(entries[i]);
	}
	free(entries);
}

static void add_path(struct samples *samples, const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		fail(strerrorname_np(errno), path);
	if (S_ISDIR(status.st_mode))
		add_folder(samples, path);
	else
		add_file(samples, path);
}

static void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		free(samples->list[i].path);
		free(samples->list[i].data);
	}
	free(samples->list);
}

/* ---- generated inputs ---------------------------------------------------------------- */

/* xorshift64* (Vigna, An experimental exploration of Marsaglia's xorshift generators). */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545f4914f6cdd1d);
}

static size_t below(uint64_t *state, size_t limit)
{
	return limit > 0 ? (size_t)(next_random(state) >> 16) % limit : 0;
}

/* Returns short lengths more often than long ones. */
static size_t piece_length(uint64_t *state, size_t limit)
{
	return below(state, below(state, limit + 1) + 1);
}

/* Replaces length bytes at a position by other bytes, if there is room. */
static void replace(struct shared *input, size_t at, size_t length, const uint8_t *with,
		    size_t with_length)
{
	size_t behind = input->length - at - length;

	if (at + with_length + behind > INPUT_MAX)
		return;
	memmove(input->data + at + with_length, input->data + at + length, behind);
	memcpy(input->data + at, with, with_length);
	input->length = at + with_length + behind;
}

static void change_byte(struct shared *input, size_t at, uint64_t *state)
{
	static const uint8_t special[] = {0,   1,   '\n', ' ',  '"',  '%',  '*',  '-',
					  '.', '/', '0',  '9',  '=',  '[',  '\\', ']',
					  '{', '}', '~',  0x7f, 0x80, 0xf7, 0xf8, 0xff};
	uint8_t *byte = &input->data[at];

	switch (below(state, 4)) {
	case 0:
		*byte ^= (uint8_t)(1 << below(state, 8));
		break;
	case 1:
		*byte = special[below(state, sizeof(special))];
		break;
	case 2:
		*byte = (uint8_t)(*byte + (below(state, 2) ? 1 : -1));
		break;
	default:
		*byte = (uint8_t)below(state, 256);
		break;
	}
}

/* Inserts a piece of this or another input, or overwrites a part of this input with it. */
static void change_piece(struct shared *input, const struct samples *samples, uint64_t *state)
{
	const struct sample *from = &samples->list[below(state, samples->count)];
	size_t at = below(state, input->length + 1), start = below(state, from->length + 1);
	size_t length = piece_length(state, input->length - at);
	size_t from_length = piece_length(state, from->length - start);

	switch (below(state, 4)) {
	case 0:
		replace(input, at, length, from->data, 0);
		break;
	case 1:
		replace(input, at, 0, from->data + start, from_length);
		break;
	case 2:
		replace(input, at, length, from->data + start, from_length);
		break;
	default:
		if (at < input->length)
			change_byte(input, at, state);
		break;
	}
}

static void make_input(struct shared *input, const struct samples *samples, uint64_t *state)
{
	const struct sample *from = &samples->list[below(state, samples->count)];
	size_t changes = 1 + below(state, 8);

	memcpy(input->data, from->data, from->length);
	input->length = from->length;
	for (size_t i = 0; i < changes; i++) {
		if (input->length > 0 && below(state, 2))
			change_byte(input, below(state, input->length), state);
		else
			change_piece(input, samples, state);
	}
}

/* ---- the child ----------------------------------------------------------------------- */

static void run(struct shared *input)
{
	/* allocated with exactly this length, so that a sanitizer detects reads beyond it */
	uint8_t *copy = malloc(input->length);

	if (input->length > 0)
		memcpy(copy, input->data, input->length);
	if (input->done % FORGET_AFTER == 0)
		REQUIRE(ftruncate(STDERR_FILENO, 0) == 0);
	(void)alarm(INPUT_SECONDS_MAX);
	(void)LLVMFuzzerTestOneInput(copy, input->length);
	free(copy);
	input->done++;
}

static void run_samples(struct shared *input, const struct samples *samples)
{
	for (size_t i = 0; i < samples->count; i++) {
		const struct sample *sample = &samples->list[i];

		input->path = sample->path;
		input->length = sample->length;
		memcpy(input->data, sample->data, sample->length);
		run(input);
	}
	input->path = NULL;
}

static time_t now_s(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void run_all(const struct settings *settings, struct shared *input,
		    const struct samples *samples)
{
	uint64_t state = (settings->seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	const time_t end = now_s() + (time_t)settings->seconds;

	run_samples(input, samples);
	for (uint64_t i = 0; i < settings->inputs || now_s() < end; i++) {
		make_input(input, samples, &state);
		run(input);
	}
	(void)alarm(0);
	input->at_end = true;
}

/* ---- the parent ---------------------------------------------------------------------- */

static void print_end_of(int output)
{
	off_t size = lseek(output, 0, SEEK_END);
	off_t at = size > (off_t)OUTPUT_MAX ? size - (off_t)OUTPUT_MAX : 0;
	char block[4096];
	ssize_t got;

	while ((got = pread(output, block, sizeof(block), at)) > 0) {
		(void)fwrite(block, 1, (size_t)got, stderr);
		at += got;
	}
}

/* Saves a generated input under a name that depends on its bytes. */
static void save(const struct settings *settings, const struct shared *input)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);
	char path[4096];
	FILE *file;

	for (size_t i = 0; i < input->length; i++)
		digest = (digest ^ input->data[i]) * UINT64_C(0x100000001b3);
	(void)snprintf(path, sizeof(path), "%s/%s-%016" PRIx64, settings->findings,
		       settings->target, digest);
	file = fopen(path, "we");
	if (!file)
		fail(strerrorname_np(errno), path);
	if (fwrite(input->data, 1, input->length, file) != input->length || fclose(file) != 0)
		fail("cannot be written", path);
	(void)fprintf(stderr,
		      "%s: found by input %" PRIu64 " of seed %" PRIu64 ": %s\n"
		      "copy it to tests/fuzz/corpus/%s under a name that describes it, "
		      "then fix the code\n",
		      settings->target, input->done, settings->seed, path, settings->target);
}

static int report_result(const struct settings *settings, const struct shared *input, int output,
			 int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && input->at_end) {
		(void)printf("%s: %" PRIu64 " inputs, seed %" PRIu64 "\n", settings->target,
			     input->done, settings->seed);
		return EXIT_SUCCESS;
	}
	print_end_of(output);
	if (WIFSIGNALED(status))
		(void)fprintf(stderr, "%s: ended by SIG%s%s\n", settings->target,
			      sigabbrev_np(WTERMSIG(status)),
			      WTERMSIG(status) == SIGALRM ? ": timeout" : "");
	if (input->at_end)
		(void)fprintf(stderr, "%s: found after all inputs\n", settings->target);
	else if (input->path)
		(void)fprintf(stderr, "%s: found by %s\n", settings->target, input->path);
	else
		save(settings, input);
	return EXIT_FAILURE;
}

static int run_in_child(const struct settings *settings, struct samples *samples)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int output = memfd_create("output", MFD_CLOEXEC);
	pid_t child;
	int status;

	if (shared == MAP_FAILED || output < 0 || fcntl(output, F_SETFL, O_APPEND) < 0)
		fail(strerrorname_np(errno), settings->target);
	(void)fflush(NULL);
	child = fork();
	if (child < 0)
		fail(strerrorname_np(errno), settings->target);
	if (child == 0) {
		(void)dup2(output, STDOUT_FILENO);
		(void)dup2(output, STDERR_FILENO);
		run_all(settings, shared, samples);
		samples_free(samples);
		return EXIT_SUCCESS;
	}
	while (waitpid(child, &status, 0) < 0)
		;
	status = report_result(settings, shared, output, status);
	samples_free(samples);
	return status;
}

static uint64_t read_number(const char *text)
{
	char *end;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0')
		fail("not a number", text);
	return number;
}

/* Takes an option and its value. Returns false if the word is no option. */
static bool read_option(struct settings *settings, const char *name, const char *value)
{
	if (strcmp(name, "--inputs") == 0)
		settings->inputs = read_number(value);
	else if (strcmp(name, "--seconds") == 0)
		settings->seconds = read_number(value);
	else if (strcmp(name, "--seed") == 0)
		settings->seed = read_number(value);
	else if (strcmp(name, "--findings") == 0)
		settings->findings = value;
	else
		return false;
	return true;
}

int main(int argc, char *argv[])
{
	const char *slash = strrchr(argv[0], '/');
	struct settings settings = {.target = slash ? slash + 1 : argv[0], .findings = "."};
	struct samples samples = {0};
	int i = 1;

	if (strncmp(settings.target, "fuzz_", 5) == 0)
		settings.target += 5;
	while (i + 1 < argc && read_option(&settings, argv[i], argv[i + 1]))
		i += 2;
	for (; i < argc; i++)
		add_path(&samples, argv[i]);
	if (samples.count == 0)
		fail("no inputs to begin with", argv[0]);
	return run_in_child(&settings, &samples);
}
