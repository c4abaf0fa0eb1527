/* SPDX-License-Identifier: MIT */
#ifndef PAGE_HTML_H
#define PAGE_HTML_H

/* Writes HTML. Names are escaped, so that a browser does not interpret any bytes of a name as
 * markup, and no name can mislead a reader.
 *
 * The first failure is stored, and all later output is discarded. So the caller checks the error
 * once at the end. One thread at a time. A struct html that is all zero is empty and valid.
 */

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct html {
	struct bytes text;
	int error; /* the first failure, -errno */
};

void html_free(struct html *html);
#define CLEANUP_HTML CLEANUP(html_free)

/* Stores a failure of the caller, unless another failure is stored. error: -errno, or 0. */
void html_fail(struct html *html, int error);

/* Appends markup unchanged. */
void html_raw(struct html *html, const char *markup);

/* Appends markup by printf(3). The arguments must not be names or other outside data. */
void html_format(struct html *html, const char *format, ...) PRINTF_LIKE(2, 3);

/* What replaces {name} in a fragment. */
struct html_value {
	const char *name, *markup;
};

/* Appends a fragment of markup with the values of all its names.
 *
 * values	ends with a name of NULL
 */
void html_fill(struct html *html, const char *fragment, const struct html_value *values);

/* Highest number of bytes of a name or path that are shown. If a name is longer, its beginning and
 * its end are shown, with an ellipsis between them. */
#define HTML_NAME_MAX 240

/* Appends a name between tags. The text direction of the name does not affect the text around it.
 * Bytes that are not UTF-8 are shown as \xNN. Control characters, invisible characters, characters
 * that change the text direction (utf8_is_unfit) and noncharacters are shown as \n, \t, \xNN,
 * \uNNNN or \UNNNNNNNN. Each escape is in an element of its own, to distinguish it from a backslash
 * in the name. */
void html_name(struct html *html, const char *bytes, size_t length);

/* Appends a text with the escapes of html_name(), at any length. */
void html_text(struct html *html, const char *bytes, size_t length);

/* Appends a name within the quotes of an attribute. The escapes are in no element. */
void html_attribute(struct html *html, const char *bytes, size_t length);

/* Appends a path within the quotes of an attribute. All bytes but unreserved characters and slashes
 * are percent-encoded (RFC 3986, section 2). The caller must write the beginning of the link first,
 * such as "../": a path alone could be parsed as a scheme. */
void html_link(struct html *html, const char *path, size_t length);

/* Markup of a figure, for html_format(). */
struct html_markup {
	char text[112];
};

/* Returns a size or a number as text for people, with the exact number for programs:
 * <data value="...">. */
struct html_markup html_size(uint64_t bytes);
struct html_markup html_number(uint64_t number);

/* Returns a time in UTC to the minute, or nothing if it is out of range. */
struct html_markup html_time(struct timespec time);

/* Returns the percentage of a part, such as "2.9 %", or nothing if the whole is 0. */
struct html_markup html_share(uint64_t part, uint64_t whole);

#endif
