/* SPDX-License-Identifier: MIT */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

/* Helpers of fuzz targets: parsing of an input, and claims that must hold for every input. One
 * thread. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each target defines this function for libFuzzer (llvm.org/docs/LibFuzzer.html). Returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts the process if a claim does not hold. */
#define REQUIRE(claim) ((claim) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #claim))

static inline _Noreturn void fuzz_fail(const char *file, int line, const char *claim)
{
	(void)fprintf(stderr, "%s:%d: claim does not hold: %s\n", file, line, claim);
	abort();
}

/* The rest of an input. */
struct input {
	const uint8_t *at;
	size_t left;
};

/* Takes a number of this many bytes; missing bytes are 0. */
static inline uint64_t take_number(struct input *input, size_t bytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < bytes && input->left > 0; i++, input->at++, input->left--)
		number |= (uint64_t)*input->at << (8 * i);
	return number;
}

/* Takes the bytes up to the next NUL, or to the end. The caller frees the text. The text is
 * allocated with exactly its length, so that a sanitizer detects reads beyond it. */
static inline char *take_text(struct input *input)
{
	size_t length = input->left > 0 ? strnlen((const char *)input->at, input->left) : 0;
	char *text = malloc(length + 1);

	REQUIRE(text != NULL);
	if (length > 0)
		memcpy(text, input->at, length);
	text[length] = '\0';
	length += length < input->left;
	input->at += length;
	input->left -= length;
	return text;
}

#endif
