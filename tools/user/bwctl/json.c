// SPDX-License-Identifier: GPL-2.0
/* Write JSON: separators and strings.  The caller is responsible for the nesting. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "json.h"

static bool need_comma;

/*
 * The length of the UTF-8 character at @s, or 0 if it is not valid UTF-8, which
 * names of commands and devices may contain and JSON must not.
 */
static int utf8_length(const unsigned char *s)
{
	int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 :
		     s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* overlong forms, surrogates, above U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

static void put_string(const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	putchar('"');
	while (*s) {
		int length = utf8_length(s);

		if (*s < ' ' || *s == 0x7f)
			printf("\\u%04x", *s);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if (length)
			fwrite(s, 1, (size_t)length, stdout);
		else
			fputs("\\ufffd", stdout);
		s += length ? length : 1;
	}
	putchar('"');
}

static void begin(const char *key)
{
	if (need_comma)
		fputs(", ", stdout);
	if (key) {
		put_string(key);
		fputs(": ", stdout);
	}
	need_comma = true;
}

static void open_with(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	need_comma = false;
}

static void close_with(char bracket)
{
	putchar(bracket);
	need_comma = true;
}

void json_object(const char *key)
{
	open_with(key, '{');
}

void json_array(const char *key)
{
	open_with(key, '[');
}

void json_end_object(void)
{
	close_with('}');
}

void json_end_array(void)
{
	close_with(']');
}

void json_string(const char *key, const char *value)
{
	begin(key);
	put_string(value);
}

void json_int(const char *key, int64_t value)
{
	begin(key);
	printf("%" PRId64, value);
}

void json_bool(const char *key, bool value)
{
	begin(key);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *key)
{
	begin(key);
	fputs("null", stdout);
}

void json_end(void)
{
	fputs("}\n", stdout);
	need_comma = false;
}
