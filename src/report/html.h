/* SPDX-License-Identifier: MIT */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

/* Markup being written, and names put into it so that they stay names: whatever bytes they are,
 * no browser obeys them and no reader is misled by them.
 *
 * The first failure is kept and everything after it dropped, so that a writer need not look after
 * each piece. One thread at a time; a struct html that is all zero is empty and valid.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"

struct html {
	struct bytes text;
	int error; /* the first failure, -errno */
};

void html_free(struct html *html);
#define CLEANUP_HTML CLEANUP(html_free)

/* Markup, as it is. */
void html_raw(struct html *html, const char *markup);

/* The same by printf(3): what is put in must not come from outside. */
void html_format(struct html *html, const char *format, ...) PRINTF_LIKE(2, 3);

/* Names and paths may be longer than anybody reads: of those, so many bytes of beginning and end are
 * shown together, with an ellipsis between. */
#define HTML_NAME_MAX 240

/* A name between tags. Its direction does not reach beyond it. Bytes that are not UTF-8 and
 * characters that nobody sees, that turn the direction, or are none (utf8_is_unfit), are shown as
 * \xNN and \uNNNN, in an element of their own, so that they differ from a backslash that stands in
 * a name. */
void html_name(struct html *html, const char *bytes, size_t length);

/* The same within the quotes of an attribute, which has no elements. */
void html_attribute(struct html *html, const char *bytes, size_t length);

/* A whole path within the quotes of an attribute, percent-encoded (RFC 3986, section 2): all bytes but
 * unreserved characters and slashes. Behind markup that begins the link: by itself it could be
 * taken for a scheme. */
void html_link(struct html *html, const char *path, size_t length);

/* A number of bytes for people, with the number itself for programs: <data value="...">. */
void html_size(struct html *html, uint64_t bytes);

/* Any other number in the same way. */
void html_number(struct html *html, uint64_t number);

/* What part is of a whole, such as "2.9 %"; nothing where the whole is 0. */
void html_share(struct html *html, uint64_t part, uint64_t whole);

#endif
