/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "page/html.h"
#include "unit_test.h"

typedef void write_fn(struct html *html, const char *bytes, size_t length);

static void check(write_fn *write, const char *bytes, size_t length, const char *expected)
{
	CLEANUP_HTML struct html html = {0};

	write(&html, bytes, length);
	assert_int_equal(html.error, 0);
	assert_string_equal(bytes_text(&html.text), expected);
}

static void check_name(const char *name, const char *expected)
{
	check(html_name, name, strlen(name), expected);
}

static void check_attribute(const char *name, const char *expected)
{
	check(html_attribute, name, strlen(name), expected);
}

static void check_link(const char *name, const char *expected)
{
	check(html_link, name, strlen(name), expected);
}

static void test_plain_names_are_unchanged(void **state)
{
	(void)state;
	check_name("a b/Grüße 中文 😀.jpg", "<bdi>a b/Grüße 中文 😀.jpg</bdi>");
	check_name("back\\slash", "<bdi>back\\slash</bdi>");
	check_name("", "<bdi></bdi>");
}

static void test_names_of_a_fragment_are_replaced_once(void **state)
{
	CLEANUP_HTML struct html html = {0};
	const struct html_value values[] = {{"a", "{b}"}, {"b", ""}, {"ab", "<i>"}, {0}};

	(void)state;
	html_fill(&html, "<p>{a}-{b}{ab}{a}</p>\n", values);
	assert_int_equal(html.error, 0);
	assert_string_equal(bytes_text(&html.text), "<p>{b}-<i>{b}</p>\n");
}

static void test_markup_in_a_name_is_escaped(void **state)
{
	(void)state;
	check_name("</bdi><script>alert(1)</script>",
		   "<bdi>&lt;/bdi&gt;&lt;script&gt;alert(1)&lt;/script&gt;</bdi>");
	check_name("&lt;&#60;", "<bdi>&amp;lt;&amp;#60;</bdi>");
	check_attribute("\" onload=\"alert(1)", "&quot; onload=&quot;alert(1)");
	check_attribute("' x='&<>", "&#39; x=&#39;&amp;&lt;&gt;");
}

static void test_invisible_characters_are_shown(void **state)
{
	(void)state;
	check_name("a\nb\tc\x1b[1m", "<bdi>a<i>\\n</i>b<i>\\t</i>c<i>\\x1b</i>[1m</bdi>");
	check_name("\x7f\xc2\x85", "<bdi><i>\\x7f</i><i>\\u0085</i></bdi>");
	check_name("exe.\u202egpj", "<bdi>exe.<i>\\u202e</i>gpj</bdi>");
	check_name("\u200b\U000e0001", "<bdi><i>\\u200b</i><i>\\U000e0001</i></bdi>");
	check_attribute("exe.\u202egpj\n", "exe.\\u202egpj\\n");
}

static void test_bytes_that_are_not_utf8_are_shown(void **state)
{
	(void)state;
	check_name("\xff.jpg", "<bdi><i>\\xff</i>.jpg</bdi>");
	check_name("cut \xe2\x88", "<bdi>cut <i>\\xe2</i><i>\\x88</i></bdi>");
	check_name("\xed\xa0\x80", "<bdi><i>\\xed</i><i>\\xa0</i><i>\\x80</i></bdi>");
	check_name("\xc0\xbc", "<bdi><i>\\xc0</i><i>\\xbc</i></bdi>");
	check_name("\xef\xbf\xbf", "<bdi><i>\\uffff</i></bdi>");
	check(html_name, "a\0b", 3, "<bdi>a<i>\\x00</i>b</bdi>");
}

static void test_links_have_only_unreserved_characters(void **state)
{
	(void)state;
	check_link("2019/IMG_1-2.3~4.jpg", "2019/IMG_1-2.3~4.jpg");
	check_link("a b?c#d%2F:e", "a%20b%3Fc%23d%252F%3Ae");
	check_link("\"'<>&\n\xff\xc3\xa9", "%22%27%3C%3E%26%0A%FF%C3%A9");
	check(html_link, "a\0b", 3, "a%00b");
}

static void test_long_names_keep_both_ends_and_whole_characters(void **state)
{
	CLEANUP_BYTES struct bytes name = {0};
	CLEANUP_HTML struct html html = {0};
	const char *text;

	(void)state;
	assert_int_equal(bytes_append_text(&name, "b"), 0);
	for (size_t i = 0; i < HTML_NAME_MAX; i++)
		assert_int_equal(bytes_append_text(&name, "é"), 0);
	assert_int_equal(bytes_append_text(&name, "e"), 0);
	html_attribute(&html, (const char *)name.data, name.length);
	text = bytes_text(&html.text);
	assert_non_null(text);
	assert_true(html.text.length <= HTML_NAME_MAX + strlen(" … "));
	assert_memory_equal(text, "bé", strlen("bé"));
	assert_non_null(strstr(text, "é … é"));
	assert_string_equal(text + html.text.length - strlen("ée"), "ée");
	assert_null(strchr(text, '\\'));
}

static void test_name_of_the_longest_length_is_not_cut(void **state)
{
	CLEANUP_BYTES struct bytes name = {0};
	CLEANUP_HTML struct html html = {0};

	(void)state;
	for (size_t i = 0; i < HTML_NAME_MAX; i++)
		assert_int_equal(bytes_append_text(&name, "n"), 0);
	html_attribute(&html, (const char *)name.data, name.length);
	assert_string_equal(bytes_text(&html.text), bytes_text(&name));
}

static void check_size(uint64_t bytes, const char *expected)
{
	assert_string_equal(html_size(bytes).text, expected);
}

static void check_share(uint64_t part, uint64_t whole, const char *expected)
{
	assert_string_equal(html_share(part, whole).text, expected);
}

static void test_numbers_are_written_for_people_and_for_programs(void **state)
{
	(void)state;
	check_size(1536, "<data value=\"1536\">1.5&nbsp;KiB</data>");
	check_size(0, "<data value=\"0\">0&nbsp;B</data>");
	assert_string_equal(html_number(1234567).text, "<data value=\"1234567\">1,234,567</data>");
}

static void test_percentage_is_rounded_to_what_matters(void **state)
{
	(void)state;
	check_share(1, 3, "33&nbsp;%");
	check_share(1, 33, "3.0&nbsp;%");
	check_share(1, 10000, "&lt;&nbsp;0.1&nbsp;%");
	check_share(0, 7, "0.0&nbsp;%");
	check_share(7, 7, "100&nbsp;%");
	check_share(0, 0, "");
}

static void test_first_error_stays_and_ends_the_output(void **state)
{
	CLEANUP_HTML struct html html = {0};

	(void)state;
	html_raw(&html, "some");
	html.error = -ENOMEM;
	html_raw(&html, "more");
	html_format(&html, "%d", 1);
	html_name(&html, "a<\xff", 3);
	html_link(&html, "a ", 2);
	assert_int_equal(html.text.length, strlen("some"));
	assert_int_equal(html.error, -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_names_are_unchanged),
		cmocka_unit_test(test_names_of_a_fragment_are_replaced_once),
		cmocka_unit_test(test_markup_in_a_name_is_escaped),
		cmocka_unit_test(test_invisible_characters_are_shown),
		cmocka_unit_test(test_bytes_that_are_not_utf8_are_shown),
		cmocka_unit_test(test_links_have_only_unreserved_characters),
		cmocka_unit_test(test_long_names_keep_both_ends_and_whole_characters),
		cmocka_unit_test(test_name_of_the_longest_length_is_not_cut),
		cmocka_unit_test(test_numbers_are_written_for_people_and_for_programs),
		cmocka_unit_test(test_percentage_is_rounded_to_what_matters),
		cmocka_unit_test(test_first_error_stays_and_ends_the_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
