/* SPDX-License-Identifier: MIT */
#include "index/copy_marks.h"

#include <string.h>

#include "base/attributes.h"

/* Longest word of the table, in bytes. */
#define WORD_BYTES_MAX 24

/* Words for copies, backups and what is old, in lower case where the letters are of ASCII. Add
 * words that the names of originals seldom have. */
static const char *const words[] = {
	/* English */
	"backup",
	"backups",
	"bak",
	"bkp",
	"copied",
	"copies",
	"copy",
	"duplicate",
	"duplicates",
	"old",
	/* German, Dutch, Danish, Norwegian, Swedish */
	"kopi",
	"kopia",
	"kopie",
	"kopien",
	"kopier",
	"reservekopie",
	"sicherung",
	"sicherungen",
	"sicherungskopie",
	/* French, Italian, Spanish, Portuguese */
	"ancien",
	"ancienne",
	"antiguo",
	"copia",
	"copias",
	"copie",
	"copié",
	"cópia",
	"cópias",
	"respaldo",
	"sauvegarde",
	"sauvegardes",
	"viejo",
	/* Polish, Czech, Finnish, Turkish */
	"kopio",
	"kopya",
	"varmuuskopio",
	"yedek",
	"záloha",
	/* Russian, Chinese, Japanese, Korean */
	"Копия",
	"копия",
	"副本",
	"备份",
	"備份",
	"コピー",
	"バックアップ",
	"복사본",
	"백업",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_known_word(const char *text, size_t length)
{
	char word[WORD_BYTES_MAX + 1];

	if (length > WORD_BYTES_MAX)
		return false;
	for (size_t i = 0; i < length; i++)
		word[i] = lower(text[i]);
	word[length] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (word[0] == words[i][0] && strcmp(word, words[i]) == 0)
			return true;
	}
	return false;
}

static bool has_known_word(const char *name, size_t length)
{
	size_t end;

	for (size_t begin = 0; begin < length; begin = end + 1) {
		size_t letters;

		for (end = begin; end < length && is_letter(name[end]); end++)
			continue;
		letters = end - begin;
		while (end < length && is_digit(name[end]))
			end++;
		/* "backup2" ends the word, "mp3old" does not begin one */
		if (letters > 0 && (end == length || !is_letter(name[end])) &&
		    is_known_word(name + begin, letters))
			return true;
		while (end < length && (is_letter(name[end]) || is_digit(name[end])))
			end++;
	}
	return false;
}

/* Returns whether the bracket at this position begins a number that ends the stem of the name. */
static bool is_numbered_at(const char *name, size_t length, size_t open)
{
	char close = name[open] == '(' ? ')' : ']';
	size_t at = open + 1;

	while (at < length && at <= open + 3 && is_digit(name[at]))
		at++;
	if (at == open + 1 || at == length || name[at] != close)
		return false;
	return at + 1 == length || name[at + 1] == '.';
}

static bool is_numbered(const char *name, size_t length)
{
	for (size_t i = 1; i < length; i++) {
		if ((name[i] == '(' || name[i] == '[') && is_numbered_at(name, length, i))
			return true;
	}
	return false;
}

bool has_copy_mark(const char *name, size_t length)
{
	if (length == 0)
		return false;
	return name[0] == '.' || name[length - 1] == '~' || has_known_word(name, length) ||
	       is_numbered(name, length);
}

uint32_t count_copy_marks(const char *path, size_t length)
{
	const char *end = path + length;
	uint32_t count = 0;

	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t name = (size_t)((slash ? slash : end) - path);

		count += has_copy_mark(path, name);
		path += name + (slash ? 1 : 0);
	}
	return count;
}
