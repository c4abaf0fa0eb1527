/* SPDX-License-Identifier: MIT */
#include "row/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "row/json_path.h"
#include "row/json_text.h"

/* Highest length of a key with the ending of its nanoseconds, and a NUL. */
#define KEY_SIZE 32

const char *field_word_of(const struct field_word *words, size_t count, uint32_t value)
{
	for (size_t i = 0; i < count; i++) {
		if (words[i].value == value)
			return words[i].word;
	}
	return NULL;
}

/* Makes the key of the nanoseconds. */
static const char *ns_key(char key[static KEY_SIZE], const struct field *field)
{
	(void)snprintf(key, KEY_SIZE, "%s_ns", field->key);
	return key;
}

/* ---- setting ------------------------------------------------------------------------- */

static json_t *make_time(struct timespec time)
{
	char text[CLOCK_TEXT_MAX] = "";

	if (clock_format_utc(text, time) < 0)
		text[0] = '\0';
	return json_string(text);
}

static json_t *make_hash(struct hash128 hash)
{
	char digits[HASH128_DIGITS + 1];

	hash128_format(hash, digits);
	return json_string(digits);
}

static json_t *make_sha256(const uint8_t *bytes)
{
	char digits[SHA256_DIGITS + 1];

	sha256_format(bytes, digits);
	return json_string(digits);
}

/* Returns whether the struct has the field. */
static bool is_there(const struct field *field, const void *from, const void *member)
{
	static const uint8_t zeros[SHA256_BYTES];

	switch (field->type) {
	case FIELD_PATH:
		return *(const char *const *)member;
	case FIELD_NUMBER:
	case FIELD_HEX64:
		return *(const uint64_t *)member != 0;
	case FIELD_WORD:
		return field_word_of(field->words, field->count, *(const uint32_t *)member);
	case FIELD_SHA256:
		return memcmp(member, zeros, sizeof(zeros)) != 0;
	case FIELD_TIME:
	case FIELD_TIMES:
	case FIELD_COUNT:
	case FIELD_MODE:
	case FIELD_FLAGS:
	case FIELD_HASH128:
		break;
	}
	return !field->optional || *((const bool *)from + field->given);
}

/* Makes the value of a member. Returns NULL if memory is short. */
static json_t *make_value(const struct field *field, const void *member)
{
	switch (field->type) {
	case FIELD_NUMBER:
		return json_integer(*(const int64_t *)member);
	case FIELD_HEX64:
		return json_hex64(*(const uint64_t *)member);
	case FIELD_WORD:
		return json_string(
			field_word_of(field->words, field->count, *(const uint32_t *)member));
	case FIELD_TIME:
		return make_time(*(const struct timespec *)member);
	case FIELD_TIMES:
		return json_integer(((const struct timespec *)member)->tv_sec);
	case FIELD_COUNT:
		return json_integer(*(const uint32_t *)member);
	case FIELD_MODE:
		return json_sprintf("%04" PRIo32, *(const uint32_t *)member);
	case FIELD_FLAGS:
		return json_sprintf("%" PRIx32, *(const uint32_t *)member);
	case FIELD_HASH128:
		return make_hash(*(const struct hash128 *)member);
	case FIELD_SHA256:
		return make_sha256(member);
	case FIELD_PATH:
		break;
	}
	return NULL;
}

static int set_field(json_t *object, const struct field *field, const void *member)
{
	char key[KEY_SIZE];
	const char *text;

	if (field->type == FIELD_PATH) {
		text = *(const char *const *)member;
		return json_set_path(object, field->key, text, strlen(text));
	}
	if (json_object_set_new(object, field->key, make_value(field, member)) < 0)
		return -ENOMEM;
	if (field->type != FIELD_TIMES)
		return 0;
	return json_object_set_new(object, ns_key(key, field),
				   json_integer(((const struct timespec *)member)->tv_nsec)) < 0
		       ? -ENOMEM
		       : 0;
}

int fields_set(json_t *object, const void *from, const struct field *fields, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const void *member = (const char *)from + fields[i].offset;

		if (is_there(&fields[i], from, member))
			r = set_field(object, &fields[i], member);
	}
	return r;
}

/* ---- getting ------------------------------------------------------------------------- */

static int get_word(const char *word, const struct field *field, uint32_t *value)
{
	for (size_t i = 0; word && i < field->count; i++) {
		*value = field->words[i].value;
		if (strcmp(word, field->words[i].word) == 0)
			return 0;
	}
	return -EPROTO;
}

static int get_time(const char *text, struct timespec *time)
{
	struct tm parts = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;

	if (!end || *end != '\0')
		return -EPROTO;
	time->tv_sec = timegm(&parts);
	return 0;
}

static uint32_t get_digits(const char *digits, int base)
{
	return digits ? (uint32_t)strtoul(digits, NULL, base) : 0;
}

/* Gets the field of a member that exists and is no path. */
static int get_field(const json_t *object, const json_t *value, const struct field *field, void *to)
{
	const char *text = json_string_value(value);
	struct timespec *time = to;
	char key[KEY_SIZE];

	switch (field->type) {
	case FIELD_NUMBER:
		*(int64_t *)to = json_integer_value(value);
		return 0;
	case FIELD_HEX64:
		return json_get_hex64(object, field->key, to) ? 0 : -EPROTO;
	case FIELD_WORD:
		return get_word(text, field, to);
	case FIELD_TIME:
		return get_time(text, time);
	case FIELD_TIMES:
		time->tv_sec = json_integer_value(value);
		time->tv_nsec = json_integer_value(json_object_get(object, ns_key(key, field)));
		return 0;
	case FIELD_COUNT:
		*(uint32_t *)to = (uint32_t)json_integer_value(value);
		return 0;
	case FIELD_MODE:
		*(uint32_t *)to = get_digits(text, 8);
		return text ? 0 : -EPROTO;
	case FIELD_FLAGS:
		*(uint32_t *)to = get_digits(text, 16);
		return text ? 0 : -EPROTO;
	case FIELD_HASH128:
		return text && hash128_parse(text, to) ? 0 : -EPROTO;
	case FIELD_SHA256:
		return text && sha256_parse(text, to) ? 0 : -EPROTO;
	case FIELD_PATH:
		break;
	}
	return -EPROTO;
}

int fields_get(const json_t *object, void *to, const struct field *fields, size_t count,
	       struct bytes *texts)
{
	for (size_t i = 0; i < count; i++) {
		const struct field *field = &fields[i];
		void *member = (char *)to + field->offset;
		const json_t *value = json_object_get(object, field->key);
		int r = -ENOENT;

		if (field->type == FIELD_PATH)
			r = json_get_text(object, field->key, texts++, member);
		else if (value)
			r = get_field(object, value, field, member);
		if (r == 0 && field->optional)
			*((bool *)to + field->given) = true;
		if (r == -ENOENT)
			r = field->required ? -EPROTO : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
