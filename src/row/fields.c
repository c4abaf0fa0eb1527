/* SPDX-License-Identifier: MIT */
#include "row/fields.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
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

	if (field->required)
		return true;
	switch (field->type) {
	case FIELD_PATH:
		return *(const char *const *)member;
	case FIELD_BYTES:
		return ((const struct bytes *)member)->length > 0;
	case FIELD_TEXT:
		return *(const char *)member;
	case FIELD_NUMBER:
	case FIELD_SIZE:
	case FIELD_HEX64:
		return *(const uint64_t *)member != 0;
	case FIELD_BOOL:
		return *(const bool *)member;
	case FIELD_WORD:
		return field_word_of(field->words, field->count, *(const uint32_t *)member);
	case FIELD_SHA256:
		return memcmp(member, zeros, sizeof(zeros)) != 0;
	case FIELD_TIME:
	case FIELD_SECONDS:
	case FIELD_TIMES:
	case FIELD_COUNT:
	case FIELD_MODE:
	case FIELD_FLAGS:
	case FIELD_HASH128:
		break;
	case FIELD_FORM:
		return field->form->has(member);
	}
	return !field->optional || *((const bool *)from + field->given);
}

/* Makes the value of a member. Returns NULL if memory is short. */
static json_t *make_value(const struct field *field, const void *member)
{
	switch (field->type) {
	case FIELD_TEXT:
		return json_string(member);
	case FIELD_NUMBER:
	case FIELD_SIZE:
		return json_integer(*(const int64_t *)member);
	case FIELD_HEX64:
		return json_hex64(*(const uint64_t *)member);
	case FIELD_BOOL:
		return json_boolean(*(const bool *)member);
	case FIELD_WORD:
		return json_string(
			field_word_of(field->words, field->count, *(const uint32_t *)member));
	case FIELD_TIME:
		return make_time(*(const struct timespec *)member);
	case FIELD_SECONDS:
		return make_time((struct timespec){.tv_sec = *(const int64_t *)member});
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
	case FIELD_FORM:
		return field->form->make(member);
	case FIELD_PATH:
	case FIELD_BYTES:
		break;
	}
	return NULL;
}

static int set_field(json_t *object, const struct field *field, const void *member)
{
	const struct bytes *bytes = member;
	char key[KEY_SIZE];
	const char *text;
	int r;

	if (field->type == FIELD_BYTES)
		return json_set_path(object, field->key, (const char *)bytes->data, bytes->length);
	if (field->type == FIELD_PATH) {
		text = *(const char *const *)member;
		return json_set_path(object, field->key, text, strlen(text));
	}
	r = json_set(object, field->key, make_value(field, member));
	if (r < 0 || field->type != FIELD_TIMES)
		return r;
	return json_set(object, ns_key(key, field),
			json_integer(((const struct timespec *)member)->tv_nsec));
}

int fields_set(json_t *object, const void *from, struct field_table table)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < table.count; i++) {
		const struct field *field = &table.fields[i];
		const void *member = (const char *)from + field->offset;

		if (is_there(field, from, member))
			r = set_field(object, field, member);
	}
	return r;
}

int fields_append_line(struct bytes *lines, const void *from, struct field_table table)
{
	json_auto_t *object = json_object();

	if (!object || fields_set(object, from, table) < 0)
		return -ENOMEM;
	return json_append_line(lines, object, JSON_COMPACT);
}

/* ---- getting ------------------------------------------------------------------------- */

static bool get_text(const char *text, const struct field *field, char *to)
{
	size_t length = text ? strlen(text) : field->count;

	if (length < field->count)
		memcpy(to, text, length + 1);
	return length < field->count;
}

static bool get_word(const char *word, const struct field *field, uint32_t *value)
{
	for (size_t i = 0; word && i < field->count; i++) {
		*value = field->words[i].value;
		if (strcmp(word, field->words[i].word) == 0)
			return true;
	}
	return false;
}

/* strptime(3) also accepts 30 February, and numbers with fewer digits. */
static bool get_time(const char *text, int64_t *seconds)
{
	struct tm parts = {0};
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts) : NULL;
	struct timespec time = {0};
	char again[CLOCK_TEXT_MAX];

	if (!end || *end != '\0')
		return false;
	time.tv_sec = timegm(&parts);
	*seconds = time.tv_sec;
	return clock_format_utc(again, time) >= 0 && strcmp(again, text) == 0;
}

/* Gets a number from 0 to limit, and within the limits of the field. */
static bool get_limited(const json_t *value, const struct field *field, uint64_t limit,
			uint64_t *number)
{
	*number = (uint64_t)json_integer_value(value);
	if (field->max > 0)
		limit = field->max;
	return json_is_integer(value) && json_integer_value(value) >= 0 && *number >= field->min &&
	       *number <= limit;
}

static bool get_count(const json_t *value, const struct field *field, uint32_t *count)
{
	uint64_t number;
	bool valid = get_limited(value, field, UINT32_MAX, &number);

	*count = (uint32_t)number;
	return valid;
}

static bool get_times(const json_t *object, const json_t *value, const struct field *field,
		      struct timespec *time)
{
	char key[KEY_SIZE];
	const json_t *ns = json_object_get(object, ns_key(key, field));

	time->tv_sec = json_integer_value(value);
	time->tv_nsec = json_integer_value(ns);
	return json_is_integer(value) && json_is_integer(ns) && time->tv_nsec >= 0 &&
	       time->tv_nsec < SECOND_NS;
}

/* Gets a number of digits only. */
static bool get_digits(const char *text, int base, const struct field *field, uint32_t *number)
{
	char *end = NULL;
	unsigned long found =
		text && isxdigit((unsigned char)*text) ? strtoul(text, &end, base) : 0;

	*number = (uint32_t)found;
	return end && *end == '\0' && found <= (field->max > 0 ? field->max : UINT32_MAX);
}

/* Gets the field of a member that exists and has no bytes by the rule of paths. */
static bool get_field(const json_t *object, const json_t *value, const struct field *field,
		      void *to)
{
	const char *text = json_string_value(value);
	struct timespec *time = to;
	int64_t seconds = 0;

	switch (field->type) {
	case FIELD_TEXT:
		return get_text(text, field, to);
	case FIELD_NUMBER:
		*(int64_t *)to = json_integer_value(value);
		return json_is_integer(value);
	case FIELD_SIZE:
		return get_limited(value, field, INT64_MAX, to);
	case FIELD_HEX64:
		return json_get_hex64(object, field->key, to);
	case FIELD_BOOL:
		*(bool *)to = json_is_true(value);
		return json_is_boolean(value);
	case FIELD_WORD:
		return get_word(text, field, to);
	case FIELD_TIME:
		if (!get_time(text, &seconds))
			return false;
		time->tv_sec = seconds;
		return true;
	case FIELD_SECONDS:
		return get_time(text, to);
	case FIELD_TIMES:
		return get_times(object, value, field, to);
	case FIELD_COUNT:
		return get_count(value, field, to);
	case FIELD_MODE:
		return get_digits(text, 8, field, to);
	case FIELD_FLAGS:
		return get_digits(text, 16, field, to);
	case FIELD_HASH128:
		return json_string_length(value) == HASH128_DIGITS && hash128_parse(text, to);
	case FIELD_SHA256:
		return text && sha256_parse(text, to);
	case FIELD_FORM:
		return field->form->get(value, to);
	case FIELD_PATH:
	case FIELD_BYTES:
		break;
	}
	return false;
}

/* Gets a field if its member exists. Returns 0, -ENOENT, -EPROTO or -ENOMEM. */
static int get_member(const json_t *object, const struct field *field, void *member,
		      struct arena *memory)
{
	const json_t *value = json_object_get(object, field->key);

	if (field->type == FIELD_PATH)
		return json_get_text(object, field->key, memory, member);
	if (field->type == FIELD_BYTES)
		return json_get_path(object, field->key, member);
	if (!value)
		return -ENOENT;
	return get_field(object, value, field, member) ? 0 : -EPROTO;
}

/* Returns what is wrong with a field that was got with this result, or NULL. */
static const char *find_fault(const json_t *object, const struct field *field, const void *member,
			      int result)
{
	const char *fault = result == 0 && field->check ? field->check(member) : NULL;

	if (fault)
		return *fault ? fault : field->fault;
	if (result == 0 || (result == -ENOENT && !field->required))
		return NULL;
	if (result == -EPROTO && strcmp(field->key, "path") == 0 &&
	    json_object_get(object, "path") && json_object_get(object, "path_base64"))
		return "path and path_base64 do not agree";
	return field->fault ? field->fault : "a member is missing or of another form";
}

int fields_get(const json_t *object, void *to, struct field_table table, struct arena *memory,
	       const char **fault)
{
	for (size_t i = 0; i < table.count; i++) {
		const struct field *field = &table.fields[i];
		void *member = (char *)to + field->offset;
		int r = get_member(object, field, member, memory);
		const char *found = r == -ENOMEM ? NULL : find_fault(object, field, member, r);

		if (r == 0 && field->optional)
			*((bool *)to + field->given) = true;
		if (found && fault)
			*fault = found;
		if (found || r == -ENOMEM)
			return found ? -EPROTO : r;
	}
	return 0;
}
