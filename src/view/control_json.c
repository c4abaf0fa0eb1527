/* SPDX-License-Identifier: MIT */
#include "view/control_json.h"

#include <errno.h>

#include "base/clock.h"
#include "row/json_number.h"

int control_json_set_text(json_t *object, const char *key, const char *text)
{
	return json_object_set_new(object, key, json_string(text)) == 0 ? 0 : -ENOMEM;
}

int control_json_set_number(json_t *object, const char *key, uint64_t number)
{
	return json_object_set_new(object, key, json_number(number)) == 0 ? 0 : -ENOMEM;
}

int control_json_set_time(json_t *object, const char *key, struct timespec time)
{
	char text[CLOCK_TEXT_MAX];
	int r = clock_format_utc(text, time);

	return r < 0 ? r : control_json_set_text(object, key, text);
}

int control_json_set_time_ms(json_t *object, const char *key, struct timespec time)
{
	char text[CLOCK_TEXT_MAX];
	int r = clock_format_utc_ms(text, time);

	return r < 0 ? r : control_json_set_text(object, key, text);
}

int control_json_append(struct bytes *content, const json_t *object, size_t flags)
{
	AUTO_FREE char *text = json_dumps(object, flags);
	int r = text ? bytes_append_text(content, text) : -ENOMEM;

	return r < 0 ? r : bytes_append(content, "\n", 1);
}
