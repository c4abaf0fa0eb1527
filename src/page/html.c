/* SPDX-License-Identifier: MIT */
#include "page/html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/numbers.h"
#include "base/text.h"

void html_free(struct html *html)
{
	bytes_free(&html->text);
}

void html_fail(struct html *html, int error)
{
	if (html->error == 0)
		html->error = error;
}

static void append(struct html *html, const char *bytes, size_t length)
{
	if (html->error == 0)
		html->error = bytes_append(&html->text, bytes, length);
}

void html_raw(struct html *html, const char *markup)
{
	append(html, markup, strlen(markup));
}

void html_format(struct html *html, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (html->error == 0)
		html->error = bytes_format_list(&html->text, format, args);
	va_end(args);
}

static const char *find_value(const struct html_value *values, const char *name, size_t length)
{
	while (strncmp(values->name, name, length) != 0 || values->name[length] != '\0')
		values++;
	return values->markup;
}

void html_fill(struct html *html, const char *fragment, const struct html_value *values)
{
	const char *name;

	for (; (name = strchr(fragment, '{')); fragment = strchr(name, '}') + 1) {
		append(html, fragment, (size_t)(name - fragment));
		name++;
		html_raw(html, find_value(values, name, strcspn(name, "}")));
	}
	html_raw(html, fragment);
}

/* ---- names --------------------------------------------------------------------------------- */

static void append_odd(struct html *html, const char *bytes, size_t length, uint32_t code,
		       bool with_elements)
{
	html_raw(html, with_elements ? "<i>" : "");
	if (length == 0)
		html_format(html, "\\x%02x", (unsigned char)bytes[0]);
	else if (code == '\n')
		html_raw(html, "\\n");
	else if (code == '\t')
		html_raw(html, "\\t");
	else if (code < 0x80)
		html_format(html, "\\x%02" PRIx32, code);
	else
		html_format(html, code > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, code);
	html_raw(html, with_elements ? "</i>" : "");
}

/* Returns the entity of a character that is special in markup, or NULL for other characters. */
static const char *find_entity(uint32_t code)
{
	switch (code) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* Returns whether a code is a noncharacter of Unicode, which HTML documents must not contain. */
static bool is_no_character(uint32_t code)
{
	return (code >= 0xfdd0 && code <= 0xfdef) || (code & 0xfffe) == 0xfffe;
}

static void append_escaped(struct html *html, const char *bytes, size_t length, bool with_elements)
{
	for (size_t i = 0; i < length;) {
		uint32_t code = 0;
		size_t taken = utf8_decode(bytes + i, length - i, &code);
		const char *entity = taken > 0 ? find_entity(code) : NULL;

		if (entity)
			html_raw(html, entity);
		else if (taken == 0 || utf8_is_unfit(code) || is_no_character(code))
			append_odd(html, bytes + i, taken, code, with_elements);
		else
			append(html, bytes + i, taken);
		i += taken > 0 ? taken : 1;
	}
}

/* Appends escaped text. If the text is longer than HTML_NAME_MAX, its middle is replaced by an
 * ellipsis. */
static void append_shown(struct html *html, const char *bytes, size_t length, bool with_elements)
{
	size_t start = utf8_cut(bytes, length, HTML_NAME_MAX / 2);
	size_t tail = length;

	if (length <= HTML_NAME_MAX) {
		append_escaped(html, bytes, length, with_elements);
		return;
	}
	/* the end must not begin within a character */
	for (tail -= HTML_NAME_MAX / 2; tail < length && (bytes[tail] & 0xc0) == 0x80; tail++)
		;
	append_escaped(html, bytes, start, with_elements);
	html_raw(html, " … ");
	append_escaped(html, bytes + tail, length - tail, with_elements);
}

void html_name(struct html *html, const char *bytes, size_t length)
{
	html_raw(html, "<bdi>");
	append_shown(html, bytes, length, true);
	html_raw(html, "</bdi>");
}

void html_text(struct html *html, const char *bytes, size_t length)
{
	append_escaped(html, bytes, length, true);
}

void html_attribute(struct html *html, const char *bytes, size_t length)
{
	append_shown(html, bytes, length, false);
}

static bool is_unreserved(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("-._~/", byte));
}

void html_link(struct html *html, const char *path, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)path[i];

		if (is_unreserved(byte))
			append(html, path + i, 1);
		else
			html_format(html, "%%%02X", byte);
	}
}

/* ---- numbers ------------------------------------------------------------------------------- */

struct html_markup html_size(uint64_t bytes)
{
	struct html_markup markup;
	char text[SIZE_TEXT_MAX];
	int number = (int)strcspn(size_format(text, bytes), " ");

	/* no line break between number and unit */
	(void)snprintf(markup.text, sizeof(markup.text),
		       "<data value=\"%" PRIu64 "\">%.*s&nbsp;%s</data>", bytes, number, text,
		       text + number + 1);
	return markup;
}

struct html_markup html_number(uint64_t number)
{
	struct html_markup markup;
	char text[NUMBER_TEXT_MAX];

	(void)snprintf(markup.text, sizeof(markup.text), "<data value=\"%" PRIu64 "\">%s</data>",
		       number, number_format(text, number));
	return markup;
}

struct html_markup html_time(struct timespec time)
{
	struct html_markup markup = {""};
	char machine[CLOCK_TEXT_MAX];
	char month[sizeof("September")];
	struct tm parts;

	if (gmtime_r(&time.tv_sec, &parts) && strftime(month, sizeof(month), "%B", &parts) > 0 &&
	    clock_format_utc(machine, time) == 0)
		(void)snprintf(markup.text, sizeof(markup.text),
			       "<time datetime=\"%s\">%d %s %d, %02d:%02d UTC</time>", machine,
			       parts.tm_mday, month, 1900 + parts.tm_year, parts.tm_hour,
			       parts.tm_min);
	return markup;
}

struct html_markup html_share(uint64_t part, uint64_t whole)
{
	struct html_markup markup = {""};
	double percent = whole > 0 ? 100.0 * (double)part / (double)whole : 0;

	if (whole > 0 && part > 0 && percent < 0.1)
		(void)snprintf(markup.text, sizeof(markup.text), "&lt;&nbsp;0.1&nbsp;%%");
	else if (whole > 0)
		(void)snprintf(markup.text, sizeof(markup.text), "%.*f&nbsp;%%",
			       percent < 9.95 && part < whole ? 1 : 0, percent);
	return markup;
}
