// SPDX-License-Identifier: GPL-2.0
/*
 * Odd texts for every file in which the queue's kernel parses one, and odd
 * numbers for ioprio_set():
 *
 *	fuzz tunables|trace|rotating|ioprio DISK SEED COUNT [--json]
 *
 * DISK is a null_blk disk that is made through configfs and has 1 MiB at least;
 * what it holds is overwritten. It has cfq for "tunables" and is powered off for
 * "rotating". Each text is also read by this program, from the documentation:
 * what the kernel takes, refuses, and shows afterwards has to be the same. Now
 * and then a small I/O must complete; for sysfs another process has I/O all the time.
 *
 * Exit codes: 0 all as documented; 1 not; 2 bad use.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/aio_abi.h>

#include "chance.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define TEXT_MAX	(20 * 1024)
#define PAGE		4096
#define BLOCK		4096
#define IO_EVERY	200	/* inputs */
#define IO_PATIENCE_S	60
#define LIST_MAX	8
#define DELAY_MAX_MS	100000

enum kind { DECIMAL, NUMBER, BOOLEAN, WORD, LIST, MASK };

/* What the documentation says of a file. */
struct attr {
	const char *name;
	enum kind kind;
	uint64_t min, max;	/* of DECIMAL and NUMBER, and of each number of a LIST */
	unsigned int least, most;	/* numbers of a LIST; those that are not there are 0 */
	const char *const *words;
	uint64_t usual;		/* "rotating": the default */
	/* what happened */
	unsigned long inputs, accepted;
	unsigned long refused[256];	/* by errno */
};

#define FILE_OF(_name, _kind, _min, _max, ...) \
	{ .name = _name, .kind = _kind, .min = _min, .max = _max, __VA_ARGS__ }

/* Documentation/block/cfq-iosched.rst, "Tunables" */
static struct attr tunables[] = {
	FILE_OF("slice_sync_ms", DECIMAL, 1, 10000),
	FILE_OF("slice_async_rq", DECIMAL, 1, 1000),
	FILE_OF("slice_idle_us", DECIMAL, 0, 1000000),
	FILE_OF("prio_aging_ms", DECIMAL, 100, 1000000),
	FILE_OF("bw_bucket_ms", DECIMAL, 10, 10000),
	FILE_OF("bw_seek_kb", DECIMAL, 0, 1024),
	FILE_OF("bw_share_percent", DECIMAL, 10, 100),
	FILE_OF("bw_depth", DECIMAL, 0, 1),
	FILE_OF("bw_delays_ms", LIST, 1, DELAY_MAX_MS, .least = 8, .most = 8),
};

static const char *const operations[] = {
	"read", "write", "lookup", "create", "open", "stat", "readdir", "fsync",
	"truncate", "unlink", "evict", "rename", "fault", "readahead", NULL
};

/* Documentation/trace/blktrace-vfs.rst, ABI/testing/sysfs-block-trace-vfs */
static struct attr trace[] = {
	FILE_OF("vfs", MASK, 0, 1, .words = operations),
};

static const char *const queues[] = { "fcfs", "rpo", NULL };

/*
 * Documentation/block/null_blk.rst, "Attributes"; the ranges are those that
 * "power" names when it refuses a value. A file takes any number of 32 bits.
 */
enum rot {
	RPM, HEADS, ZONES, OUTER, INNER, HEAD_SWITCH, HEAD_SKEW,
	TRACK_SKEW, SEEK_TRACK, SEEK_AVG, SEEK_FULL, KNEE, SETTLE, ARRIVAL,
	PHYSICAL, ACTUATORS, OVERHEAD, BUS, CACHE, SEGMENTS, BACK, WRITE,
	EXTENTS, DESTAGE, DRAINS, PRIO, QUEUE, LIMITS, REORDER, NR_ROT
};

static struct attr rotating[NR_ROT] = {
	[RPM] = FILE_OF("rot/rpm", NUMBER, 1000, 50000, .usual = 7200),
	[HEADS] = FILE_OF("rot/heads", NUMBER, 1, 64, .usual = 4),
	[ZONES] = FILE_OF("rot/zones", NUMBER, 1, 128, .usual = 16),
	[OUTER] = FILE_OF("rot/track_outer_sectors", NUMBER, 16, 1048576, .usual = 1873),
	[INNER] = FILE_OF("rot/track_inner_sectors", NUMBER, 16, 1048576, .usual = 937),
	[HEAD_SWITCH] = FILE_OF("rot/head_switch_us", NUMBER, 0, 100000, .usual = 800),
	[HEAD_SKEW] = FILE_OF("rot/head_skew_us", NUMBER, 0, 100000),
	[TRACK_SKEW] = FILE_OF("rot/track_skew_us", NUMBER, 0, 100000),
	[SEEK_TRACK] = FILE_OF("rot/seek_track_us", NUMBER, 0, 100000, .usual = 800),
	[SEEK_AVG] = FILE_OF("rot/seek_avg_us", NUMBER, 0, 1000000, .usual = 8500),
	[SEEK_FULL] = FILE_OF("rot/seek_full_us", NUMBER, 0, 1000000),
	[KNEE] = FILE_OF("rot/seek_knee_percent", NUMBER, 0, 90),
	[SETTLE] = FILE_OF("rot/write_settle_us", NUMBER, 0, 100000),
	[ARRIVAL] = FILE_OF("rot/read_on_arrival", NUMBER, 0, 1, .usual = 1),
	[PHYSICAL] = FILE_OF("rot/physical_blocksize", NUMBER, 512, 4096, .usual = 512),
	[ACTUATORS] = FILE_OF("rot/actuators", NUMBER, 1, 2, .usual = 1),
	[OVERHEAD] = FILE_OF("rot/overhead_us", NUMBER, 0, 100000, .usual = 200),
	[BUS] = FILE_OF("rot/bus_mbps", NUMBER, 1, 100000, .usual = 300),
	[CACHE] = FILE_OF("rot/cache_kb", NUMBER, 0, 1 << 22, .usual = 24576),
	[SEGMENTS] = FILE_OF("rot/cache_segments", NUMBER, 1, 128, .usual = 12),
	[BACK] = FILE_OF("rot/write_back", NUMBER, 0, 1),
	[WRITE] = FILE_OF("rot/write_kb", NUMBER, 4, 1 << 22, .usual = 8192),
	[EXTENTS] = FILE_OF("rot/write_extents", NUMBER, 1, 65536, .usual = 1024),
	[DESTAGE] = FILE_OF("rot/destage_idle_us", NUMBER, 0, 10000000, .usual = 2000),
	[DRAINS] = FILE_OF("rot/flush_drains", NUMBER, 0, 1),
	[PRIO] = FILE_OF("rot/ncq_prio", NUMBER, 0, 1),
	[QUEUE] = FILE_OF("rot/sched", WORD, 0, 0, .words = queues, .usual = 1),
	[LIMITS] = FILE_OF("rot/duration_limits_ms", LIST, 0, UINT32_MAX, .least = 1, .most = 7),
	[REORDER] = FILE_OF("rot/reorder_ms", NUMBER, 1, 20000, .usual = 500),
};

static const char *disk;
static char folder[128];
static uint64_t state;
static unsigned long failures;
static char last[512];		/* the input that was tried last, to be printed */
static pid_t neighbour;

/*
 * Chance
 */

static uint64_t below(uint64_t n)
{
	return draw_below(&state, n);
}

static bool one_in(unsigned int n)
{
	return !below(n);
}

/*
 * Failures
 */

__attribute__((format(printf, 1, 2)))
static void fail(const char *format, ...)
{
	va_list args;

	printf("FAIL: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("; the last input: %s\n", last);
	fflush(stdout);
	if (++failures >= 20) {
		printf("FAIL: too many failures\n");
		fflush(stdout);
		if (neighbour > 0)
			kill(neighbour, SIGKILL);
		_exit(1);
	}
}

static void remember(const char *name, const char *text, size_t len)
{
	size_t i, at = snprintf(last, sizeof(last), "%s <- %zu bytes \"", name, len);

	for (i = 0; i < len && at < sizeof(last) - 8; i++) {
		unsigned char c = text[i];

		if (isprint(c) && c != '"' && c != '\\')
			last[at++] = c;
		else
			at += sprintf(last + at, "\\x%02x", c);
	}
	strcpy(last + at, i < len ? "...\"" : "\"");
}

/*
 * Texts
 */

struct text {
	char data[TEXT_MAX];
	size_t len;
};

__attribute__((format(printf, 2, 3)))
static void add(struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += vsnprintf(text->data + text->len, TEXT_MAX - text->len,
			       format, args);
	va_end(args);
	if (text->len >= TEXT_MAX)
		text->len = TEXT_MAX - 1;
}

static void add_byte(struct text *text, char byte)
{
	if (text->len < TEXT_MAX - 1)
		text->data[text->len++] = byte;
}

/* Numbers next to those at which something changes. */
static uint64_t edge(const struct attr *attr)
{
	static const uint64_t edges[] = {
		0, 1, 7, 8, 10, 100, 255, 1000, 4096, 65535, 65536, 1000000,
		INT32_MAX, 1ull << 31, UINT32_MAX, 1ull << 32, 1ull << 33,
		INT64_MAX, 1ull << 63, UINT64_MAX
	};
	uint64_t value = one_in(3) ? edges[below(ARRAY_SIZE(edges))] :
			 one_in(2) ? attr->min : attr->max;

	return value + below(5) - 2;
}

static uint64_t in_range(const struct attr *attr)
{
	if (attr->max <= attr->min)
		return attr->min;
	if (one_in(4))
		return one_in(2) ? attr->min : attr->max;
	/* as many small ones as large ones */
	return attr->min + below(1 + ((attr->max - attr->min) >> below(20)));
}

/* What the kernel's strstrip() takes: its characters are those of Latin 1. */
static bool is_space(char c)
{
	return isspace((unsigned char)c) || c == '\xa0';
}

static size_t nr_words(const struct attr *attr)
{
	size_t n = 0;

	while (attr->words && attr->words[n])
		n++;
	return n;
}

static void add_good(struct text *text, const struct attr *attr)
{
	size_t i, n;

	switch (attr->kind) {
	case DECIMAL:
	case NUMBER:
		add(text, "%llu", (unsigned long long)in_range(attr));
		break;
	case BOOLEAN:
		add(text, "%llu", (unsigned long long)below(2));
		break;
	case WORD:
		add(text, "%s", attr->words[below(nr_words(attr))]);
		break;
	case LIST:
		n = attr->least + below(attr->most - attr->least + 1);
		for (i = 0; i < n; i++)
			add(text, "%s%llu", i ? " " : "",
			    (unsigned long long)in_range(attr));
		break;
	case MASK:
		if (one_in(3)) {
			add(text, "%llu", (unsigned long long)in_range(attr));
			break;
		}
		n = 1 + below(6);
		for (i = 0; i < n; i++)
			add(text, "%s%s", i ? "," : "",
			    attr->words[below(nr_words(attr))]);
		break;
	}
}

static void add_number(struct text *text, const struct attr *attr)
{
	static const char *const formats[] = {
		"%llu", "%llu", "%llu", "+%llu", "-%llu", "0x%llx", "0X%llX",
		"0%llo", "%llu.0", "%llue1", "%lluk", " %llu", "%llu ", "\t%llu",
		"%llu\t", "++%llu", "+-%llu", "0b%llu", "%llu_000", "%llu,",
		"'%llu'", "0000000000%llu", "%llu\n", "\n%llu", "%llu\r\n"
	};
	uint64_t value = one_in(2) ? edge(attr) : in_range(attr);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	add(text, formats[below(ARRAY_SIZE(formats))], (unsigned long long)value);
#pragma GCC diagnostic pop
}

static void add_list(struct text *text, const struct attr *attr)
{
	static const char separators[] = " ,,  \t\n;:|.-";
	size_t i, n = one_in(2) ? LIST_MAX - 1 + below(3) : below(40);

	for (i = 0; i < n; i++) {
		if (i)
			add_byte(text, one_in(3) ? separators[below(sizeof(separators) - 1)] :
				       attr->kind == MASK ? ',' : ' ');
		if (one_in(20))
			continue;
		if (nr_words(attr) && !one_in(6))
			add(text, "%s", attr->words[below(nr_words(attr))]);
		else if (one_in(4))
			add_number(text, attr);
		else
			add(text, "%llu", (unsigned long long)in_range(attr));
	}
}

/* A word of the file, wrong by a little. */
static void add_word(struct text *text, const struct attr *attr)
{
	static const char *const others[] = {
		"all", "none", "off", "on", "y", "N", "true", "[cscan]", "[cscan] ssf edf",
		"cfq", "nan", "inf", "%s%n%s", "../..", "(null)", "--help", "*"
	};
	const char *word = nr_words(attr) && !one_in(4) ?
		attr->words[below(nr_words(attr))] : others[below(ARRAY_SIZE(others))];
	size_t from = text->len, at;

	add(text, "%s", word);
	switch (below(6)) {
	case 0:
		text->len -= below(text->len - from + 1);
		break;
	case 1:
		at = from + below(text->len - from);
		text->data[at] = toupper((unsigned char)text->data[at]);
		break;
	case 2:
		add(text, "%s", word);
		break;
	case 3:
		add_byte(text, " \n\t,\0x"[below(6)]);
		break;
	}
}

static void add_bytes(struct text *text, size_t n)
{
	while (n--)
		add_byte(text, draw(&state));
}

static void add_many(struct text *text, size_t n)
{
	static const char bytes[] = "0019 ,\n\tx";
	char byte = bytes[below(sizeof(bytes) - 1)];

	while (n--)
		add_byte(text, byte);
}

static void change(struct text *text)
{
	size_t at = text->len ? below(text->len) : 0;

	switch (below(5)) {
	case 0:
		if (text->len)
			text->data[at] ^= 1 << below(8);
		break;
	case 1:
		text->len = at;
		break;
	case 2:
		memmove(text->data + at, text->data + at + (text->len > 0),
			text->len - at - (text->len > 0));
		text->len -= text->len > 0;
		break;
	case 3:
		add_byte(text, draw(&state));
		break;
	case 4:
		if (text->len)
			text->data[at] = 0;
		break;
	}
}

static void make_text(struct text *text, const struct attr *attr)
{
	size_t n;

	text->len = 0;
	switch (below(12)) {
	case 0: case 1: case 2:
		add_good(text, attr);
		break;
	case 3: case 4:
		add_number(text, attr);
		break;
	case 5:
		add_list(text, attr);
		break;
	case 6:
		add_word(text, attr);
		break;
	case 7:
		add_bytes(text, below(one_in(10) ? PAGE + 100 : 20));
		break;
	case 8:		/* around the lengths of buffers */
		n = one_in(2) ? (size_t[]){ 64, 128, 256, PAGE, 2 * PAGE }[below(5)] : below(300);
		n = n > 4 ? n - 4 : 0;
		if (one_in(2))
			add_good(text, attr);
		add_many(text, n + below(8));
		if (one_in(2))
			add_good(text, attr);
		break;
	case 9:
		if (one_in(200))
			add_bytes(text, TEXT_MAX);
		break;
	default:
		add_good(text, attr);
		for (n = 1 + below(3); n; n--)
			change(text);
	}
	if (one_in(2))
		add_byte(text, '\n');
}

/*
 * What the documentation says of a text
 */

/* As "a number": a sign of plus, digits, one newline. Returns an errno. */
static int read_number(const char *s, bool decimal, uint64_t most, uint64_t *value)
{
	unsigned int base = 10, digit;
	bool any = false, large = false;
	uint64_t sum = 0;

	if (*s == '+')
		s++;
	if (!decimal && *s == '0') {
		base = 8;
		if ((s[1] == 'x' || s[1] == 'X') && isxdigit((unsigned char)s[2])) {
			base = 16;
			s += 2;
		}
	}
	for (; isxdigit((unsigned char)*s); s++) {
		digit = isdigit((unsigned char)*s) ? *s - '0' :
						     tolower((unsigned char)*s) - 'a' + 10;
		if (digit >= base)
			break;
		any = true;
		if (__builtin_mul_overflow(sum, base, &sum) ||
		    __builtin_add_overflow(sum, digit, &sum))
			large = true;
	}
	if (!any)
		return EINVAL;
	if (large)
		return ERANGE;
	if (*s == '\n')
		s++;
	if (*s)
		return EINVAL;
	if (sum > most)
		return ERANGE;
	*value = sum;
	return 0;
}

static int find_word(const struct attr *attr, const char *s, size_t len)
{
	int i;

	for (i = 0; attr->words[i]; i++)
		if (strlen(attr->words[i]) == len && !memcmp(attr->words[i], s, len))
			return i;
	return -1;
}

/* What a file is to show: a number, the number of a word, a mask, or a list. */
struct value {
	uint64_t number;
	uint64_t list[LIST_MAX];
};

static int read_list(const struct attr *attr, const char *s, struct value *value)
{
	char copy[128], *rest = copy, *word;
	unsigned int n = 0;

	if (strlen(s) >= sizeof(copy))
		return EINVAL;
	strcpy(copy, s);
	while ((word = strsep(&rest, " \t\n"))) {
		if (!*word)
			continue;
		if (n == attr->most ||
		    read_number(word, true, attr->max, &value->list[n]) ||
		    value->list[n] < attr->min)
			return EINVAL;
		n++;
	}
	return n >= attr->least ? 0 : EINVAL;
}

/* Names in any case with commas between them; 1 is all of them, 0 none. */
static int read_mask(const struct attr *attr, const char *s, struct value *value)
{
	size_t len, end = strlen(s), i;

	if (!read_number(s, false, UINT64_MAX, &value->number)) {
		if (value->number > attr->max)
			return EINVAL;
		if (value->number)
			value->number = (1u << nr_words(attr)) - 1;
		return 0;
	}
	value->number = 0;
	while (end && is_space(s[end - 1]))
		end--;
	while (end && is_space(*s))
		s++, end--;
	while (end) {
		len = strcspn(s, ",");
		if (len > end)
			len = end;
		for (i = 0; len && i < nr_words(attr); i++)
			if (strlen(attr->words[i]) == len &&
			    !strncasecmp(attr->words[i], s, len))
				break;
		if (len && i == nr_words(attr))
			return EINVAL;
		if (len)
			value->number |= 1u << i;
		s += len;
		end -= len;
		if (end)
			s++, end--;
	}
	return value->number ? 0 : EINVAL;
}

/* Returns 0 or the errno that is to be the answer. */
static int read_text(const struct attr *attr, const char *s, bool configfs,
		     struct value *value)
{
	size_t len = strlen(s);
	int ret;

	switch (attr->kind) {
	case DECIMAL:
		if (read_number(s, true, UINT32_MAX, &value->number) ||
		    value->number < attr->min || value->number > attr->max)
			return EINVAL;
		return 0;
	case NUMBER:
		ret = read_number(s, false, UINT32_MAX, &value->number);
		if (configfs)
			return ret;
		return ret || value->number > attr->max ? EINVAL : 0;
	case BOOLEAN:
		if (*s && strchr("eEyYtT1", *s))
			value->number = 1;
		else if (*s && strchr("dDnNfF0", *s))
			value->number = 0;
		else if ((*s == 'o' || *s == 'O') && s[1] && strchr("nN", s[1]))
			value->number = 1;
		else if ((*s == 'o' || *s == 'O') && s[1] && strchr("fF", s[1]))
			value->number = 0;
		else
			return EINVAL;
		return 0;
	case WORD:
		if (len && s[len - 1] == '\n')
			len--;
		ret = find_word(attr, s, len);
		if (ret < 0)
			return EINVAL;
		value->number = ret;
		return 0;
	case LIST:
		return read_list(attr, s, value);
	case MASK:
		return read_mask(attr, s, value);
	}
	return EINVAL;
}

/* What a file shows has one form only. */
static bool read_shown(const struct attr *attr, char *s, bool configfs,
		       struct value *value)
{
	size_t len = strlen(s);
	char *from, *to;
	int i;

	if (!len || s[len - 1] != '\n')
		return false;
	s[--len] = 0;
	switch (attr->kind) {
	case BOOLEAN:
	case DECIMAL:
	case NUMBER:
		if (strspn(s, "0123456789") != len || !len || (len > 1 && *s == '0'))
			return false;
		value->number = strtoull(s, NULL, 10);
		return configfs || (value->number >= attr->min && value->number <= attr->max);
	case WORD:
		from = s;
		if (!configfs) {	/* all of them, one in brackets */
			from = strchr(s, '[');
			to = strchr(s, ']');
			if (!from++ || !to || to < from)
				return false;
			*to = 0;
		}
		i = find_word(attr, from, strlen(from));
		value->number = i;
		return i >= 0;
	case LIST:
		return !strpbrk(s, "+\t") && !read_list(attr, s, value);
	case MASK:
		if (isdigit((unsigned char)*s) && strcmp(s, "0"))
			return false;
		return !read_mask(attr, s, value);
	}
	return false;
}

/*
 * Files
 */

/* Returns 0 or an errno. */
static int write_file(const char *name, const char *data, size_t len)
{
	char path[256];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		err(2, "%s", path);
	if (write(fd, data, len) < 0)
		ret = errno;
	close(fd);
	return ret;
}

static int write_number(const char *name, uint64_t number)
{
	char text[32];

	return write_file(name, text, sprintf(text, "%llu\n", (unsigned long long)number));
}

static void show(const struct attr *attr, bool configfs, struct value *value)
{
	char path[256], text[PAGE + 1];
	ssize_t n;
	int fd;

	memset(value, 0, sizeof(*value));
	snprintf(path, sizeof(path), "%s/%s", folder, attr->name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		err(2, "%s", path);
	n = read(fd, text, PAGE);
	close(fd);
	if (n < 0)
		err(1, "%s", path);
	text[n] = 0;
	if (!read_shown(attr, text, configfs, value))
		fail("%s shows \"%s\"", attr->name, text);
}

/*
 * One text for one file. @busy: the file has to refuse whatever it is.
 */
static void try_text(struct attr *attr, const struct text *text, bool configfs, bool busy)
{
	/* What the kernel sees: a page, in configfs with its last byte for NUL */
	size_t most = configfs ? PAGE - 1 : PAGE, len = text->len < most ? text->len : most;
	struct value before, after, wanted = {};
	char seen[PAGE + 1];
	int answer, expected;

	remember(attr->name, text->data, text->len);
	memcpy(seen, text->data, len);
	seen[len] = 0;
	show(attr, configfs, &before);
	/* A write of nothing does nothing; configfs itself has a word for it. */
	expected = len ? read_text(attr, seen, configfs, &wanted) : configfs ? EFAULT : 0;
	if (!len || expected)
		wanted = before;
	if (busy && len) {
		/* No more is said of a bad text. */
		wanted = before;
		if (!expected)
			expected = EBUSY;
	}
	answer = write_file(attr->name, text->data, text->len);
	attr->inputs++;
	if (answer)
		attr->refused[answer & 255]++;
	else
		attr->accepted++;
	if (answer != expected && !(busy && answer == EBUSY))
		fail("%s answers %s, not %s", attr->name,
		     answer ? strerrorname_np(answer) : "OK",
		     expected ? strerrorname_np(expected) : "OK");
	show(attr, configfs, &after);
	if (memcmp(&after, &wanted, sizeof(after)))
		fail("%s is %llu %llu after it was %llu %llu, not %llu %llu", attr->name,
		     (unsigned long long)after.number, (unsigned long long)after.list[0],
		     (unsigned long long)before.number, (unsigned long long)before.list[0],
		     (unsigned long long)wanted.number, (unsigned long long)wanted.list[0]);
}

/*
 * I/O
 */

static int device = -1;
static char *buffer, *other;

static void open_device(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/dev/%s", disk);
	device = open(path, O_RDWR | O_DIRECT);
	if (device < 0)
		err(1, "%s", path);
	if (buffer)
		return;
	if (posix_memalign((void **)&buffer, BLOCK, BLOCK) ||
	    posix_memalign((void **)&other, BLOCK, BLOCK))
		errx(1, "no memory");
}

static void io_hangs(int sig)
{
	static const char said[] = "FAIL: I/O does not complete; the last input: ";

	(void)sig;
	if (write(1, said, sizeof(said) - 1) < 0 || write(1, last, strlen(last)) < 0 ||
	    write(1, "\n", 1) < 0)
		_exit(1);
	if (neighbour > 0)
		kill(neighbour, SIGKILL);
	_exit(1);
}

/* Written and read back, in the first 512 KiB. */
static void try_io(void)
{
	off_t at = below(128) * BLOCK;

	memset(buffer, draw(&state), BLOCK);
	alarm(IO_PATIENCE_S);
	if (pwrite(device, buffer, BLOCK, at) != BLOCK)
		fail("a write fails: %m");
	else if (pread(device, other, BLOCK, at) != BLOCK)
		fail("a read fails: %m");
	else if (memcmp(buffer, other, BLOCK))
		fail("what was written is not there");
	alarm(0);
}

/* ioprio values of all classes; (4 << 13): class BW */
static const int priorities[] = {
	0, 1 << 13, 1 << 13 | 7, 2 << 13 | 4, 2 << 13 | 7, 3 << 13,
	4 << 13 | 1 << 3, 4 << 13 | 1023 << 3 | 7, 4 << 13 | 16 << 3 | 3
};

/*
 * Another process that reads and writes the second 512 KiB, in classes that let
 * best effort come to its turn.
 */
static void start_neighbour(void)
{
	static const int modest[] = { 0, 2 << 13 | 4, 2 << 13 | 7, 3 << 13, 4 << 13 | 1 << 3 };
	off_t at;

	neighbour = fork();
	if (neighbour < 0)
		err(1, "fork");
	if (neighbour)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	state ^= 0x5555;
	for (;;) {
		if (one_in(8))
			syscall(SYS_ioprio_set, 1, 0, modest[below(ARRAY_SIZE(modest))]);
		at = (128 + below(128)) * BLOCK;
		if ((one_in(2) ? pread(device, other, BLOCK, at) :
				 pwrite(device, buffer, BLOCK, at)) != BLOCK)
			err(1, "the other process");
		usleep(below(4000));
	}
}

static void end_neighbour(void)
{
	int status;

	if (waitpid(neighbour, &status, WNOHANG))
		fail("the other process ended with status %#x", status);
	kill(neighbour, SIGKILL);
	waitpid(neighbour, &status, 0);
	neighbour = 0;
}

/*
 * The four kinds of inputs
 */

static void fuzz_attributes(struct attr *attrs, size_t n, unsigned long count)
{
	static struct text text;
	unsigned long i;

	open_device();
	start_neighbour();
	for (i = 0; i < count; i++) {
		struct attr *attr = &attrs[below(n)];

		make_text(&text, attr);
		try_text(attr, &text, false, false);
		if (i % IO_EVERY != IO_EVERY - 1)
			continue;
		/* With slices of seconds it would be for them that all this waits. */
		if (!one_in(10))
			kill(neighbour, SIGSTOP);
		try_io();
		kill(neighbour, SIGCONT);
	}
	if (attrs == tunables)
		write_number("slice_idle_us", 0);
	try_io();
	end_neighbour();
}

static void fuzz_tunables(unsigned long count)
{
	snprintf(folder, sizeof(folder), "/sys/block/%s/queue/iosched", disk);
	fuzz_attributes(tunables, ARRAY_SIZE(tunables), count);
}

/* With a trace, for which the texts have an effect, and without. */
static void fuzz_trace(unsigned long count)
{
	snprintf(folder, sizeof(folder), "/sys/block/%s/trace", disk);
	fuzz_attributes(trace, ARRAY_SIZE(trace), count - count / 4);
	if (write_number("enable", 1))
		fail("a trace cannot be started: %m");
	close(device);
	fuzz_attributes(trace, ARRAY_SIZE(trace), count / 4);
	if (write_number("enable", 0))
		fail("a trace cannot be stopped: %m");
	write_number("vfs", 0);
}

static uint64_t now_is[NR_ROT];

static void reset_rotating(void)
{
	int i;

	for (i = 0; i < NR_ROT; i++) {
		int error = i == QUEUE ? write_file("rot/sched", "rpo", 3) :
					 write_number(rotating[i].name, rotating[i].usual);

		if (error)
			fail("%s does not take its default: %s", rotating[i].name,
			     strerrorname_np(error));
	}
	write_number("irqmode", 3);
	write_number("size", 1000);
}

enum answer { REFUSED, TAKEN, EITHER };

/* Whether an average seek fits: with some hundred cylinders that is the kernel's. */
static enum answer average_fits(uint64_t mib)
{
	const uint64_t *v = now_is;
	uint64_t spt = (v[OUTER] + v[INNER]) / 2;
	uint64_t cylinders = mib * 2048 / v[ACTUATORS] / v[HEADS] / spt;

	if (!v[SEEK_AVG])
		return TAKEN;
	if (v[KNEE])
		return EITHER;
	return cylinders < 40 ? REFUSED : cylinders < 400 ? EITHER : TAKEN;
}

/* Documentation/block/null_blk.rst: what contradicts itself is refused. */
static enum answer makes_a_disk(uint64_t mib)
{
	const uint64_t *v = now_is;
	uint64_t seek = v[SEEK_AVG] ? v[SEEK_AVG] : v[SEEK_FULL];
	uint64_t next = v[SEEK_TRACK];
	int i;

	for (i = 0; i < NR_ROT; i++)
		if (i != QUEUE && i != LIMITS && (v[i] < rotating[i].min || v[i] > rotating[i].max))
			return REFUSED;
	if (v[HEADS] > 1 && v[HEAD_SWITCH] > next)
		next = v[HEAD_SWITCH];
	if (v[INNER] > v[OUTER] || !seek || seek < v[SEEK_TRACK] ||
	    (v[SEEK_FULL] && v[SEEK_FULL] < seek) ||
	    !v[KNEE] != !(v[SEEK_AVG] && v[SEEK_FULL]) ||
	    (v[HEAD_SKEW] && v[HEAD_SKEW] < v[HEAD_SWITCH]) ||
	    (v[TRACK_SKEW] && v[TRACK_SKEW] < next) ||
	    (v[PHYSICAL] & (v[PHYSICAL] - 1)) || mib < v[ACTUATORS] ||
	    (v[CACHE] && v[CACHE] / (v[SEGMENTS] + v[SEGMENTS] % v[ACTUATORS]) < 4))
		return REFUSED;
	return average_fits(mib);
}

static struct attr power = FILE_OF("power", BOOLEAN, 0, 1);

static bool power_on(uint64_t mib)
{
	enum answer expected;
	struct value value;
	int i, error;

	for (i = 0; i < NR_ROT; i++) {
		show(&rotating[i], true, &value);
		now_is[i] = value.number;
	}
	error = write_number("power", 1);
	power.inputs++;
	if (error)
		power.refused[error & 255]++;
	else
		power.accepted++;
	expected = mib ? makes_a_disk(mib) : REFUSED;
	if ((expected != EITHER && !error != (expected == TAKEN)) ||
	    (error && error != EINVAL))
		fail("power answers %s where the documentation says %s: rpm %llu heads %llu ...",
		     error ? strerrorname_np(error) : "OK",
		     expected == REFUSED ? "EINVAL" : "OK",
		     (unsigned long long)now_is[RPM], (unsigned long long)now_is[HEADS]);
	return !error;
}

static void fuzz_rotating(unsigned long count)
{
	static const uint64_t sizes[] = { 1, 2, 3, 64, 1000, 476160, 1ull << 23 };
	static const uint64_t bad_sizes[] = { 0, UINT64_MAX, 1ull << 53, 1ull << 60 };
	static struct text text;
	unsigned long i, n;
	uint64_t mib;
	bool good;

	snprintf(folder, sizeof(folder), "/sys/kernel/config/nullb/%s", disk);
	reset_rotating();
	for (i = 0; i < count;) {
		for (n = 1 + below(40); n && i < count; n--, i++) {
			struct attr *attr = &rotating[below(NR_ROT)];

			make_text(&text, attr);
			try_text(attr, &text, true, false);
		}
		/* By now there is hardly a disk: a few values, mostly in range. */
		if (!one_in(5)) {
			reset_rotating();
			for (n = below(8); n && i < count; n--, i++) {
				struct attr *attr = &rotating[below(NR_ROT)];

				text.len = 0;
				if (one_in(8))
					add_number(&text, attr);
				else
					add_good(&text, attr);
				try_text(attr, &text, true, false);
			}
		}
		good = !one_in(20);
		mib = good ? sizes[below(ARRAY_SIZE(sizes))] : 0;
		write_number("size", good ? mib :
					    bad_sizes[below(ARRAY_SIZE(bad_sizes))]);
		if (!power_on(mib))
			continue;
		open_device();
		try_io();
		close(device);
		for (n = below(4); n && i < count; n--, i++) {
			struct attr *attr = &rotating[below(NR_ROT)];

			make_text(&text, attr);
			try_text(attr, &text, true, true);
		}
		if (write_number("power", 0))
			fail("the disk cannot be powered off: %m");
	}
}

#define CLASS(prio)	((prio) >> 13 & 7)
#define DATA(prio)	((prio) >> 3 & 1023)
#define LEVEL(prio)	((prio) & 7)

/* include/uapi/linux/ioprio.h, Documentation/block/ioprio.rst */
static int expected_of_prio(int prio, bool root)
{
	switch (CLASS(prio)) {
	case 0:
		return LEVEL(prio) ? EINVAL : 0;
	case 1:
		return root ? 0 : EPERM;
	case 2:
	case 3:
		return 0;
	case 4:
		return !DATA(prio) ? EINVAL : root ? 0 : EPERM;
	default:
		return EINVAL;
	}
}

static struct attr ioprio[] = {
	FILE_OF("ioprio_set", NUMBER, 0, 0),
	FILE_OF("ioprio_set (user)", NUMBER, 0, 0),
	FILE_OF("ioprio_set (others)", NUMBER, 0, 0),
	FILE_OF("aio_reqprio", NUMBER, 0, 0),
};

static void count_answer(struct attr *attr, int answer, int expected)
{
	attr->inputs++;
	if (answer)
		attr->refused[answer & 255]++;
	else
		attr->accepted++;
	if (answer != expected)
		fail("%s answers %s, not %s", attr->name,
		     answer ? strerrorname_np(answer) : "OK",
		     expected ? strerrorname_np(expected) : "OK");
}

static int random_prio(void)
{
	switch (below(4)) {
	case 0:
		return draw(&state);
	case 1:
		return below(8) << 13 | below(3) << 3 | below(8);
	case 2:
		return 4 << 13 | (one_in(8) ? 0 : below(1024)) << 3 | below(8);
	default:
		return priorities[below(ARRAY_SIZE(priorities))] ^ 1 << below(17);
	}
}

static void set_prio(struct attr *attr, int prio, bool root)
{
	int before = syscall(SYS_ioprio_get, 1, 0), after;
	int answer = syscall(SYS_ioprio_set, 1, 0, prio) ? errno : 0;

	snprintf(last, sizeof(last), "ioprio_set %#x", prio);
	count_answer(attr, answer, expected_of_prio(prio, root));
	after = syscall(SYS_ioprio_get, 1, 0);
	if (after != (answer ? before : (prio & 0xffff)))
		fail("the priority is %#x after it was %#x", after, before);
}

/* Processes and kinds of owners that there are, and that there are not. */
static void set_prio_of_others(struct attr *attr)
{
	int which = one_in(2) ? 1 + (int)below(3) : (int)below(6) - 1;
	int who = one_in(3) ? 0 : one_in(2) ? getpid() : (int)draw(&state);
	int prio = random_prio(), answer;

	/* Not everybody's: this machine has others' processes too. */
	if (which == 3 && !who)
		who = 12345;
	snprintf(last, sizeof(last), "ioprio_set %d %d %#x", which, who, prio);
	answer = syscall(SYS_ioprio_set, which, who, prio) ? errno : 0;
	attr->inputs++;
	if (answer)
		attr->refused[answer & 255]++;
	else
		attr->accepted++;
	if (answer && answer != EINVAL && answer != ESRCH)
		fail("ioprio_set answers %s", strerrorname_np(answer));
	if (!answer && expected_of_prio(prio, true))
		fail("ioprio_set takes it");
	if (answer == EINVAL && which >= 1 && which <= 3 && !expected_of_prio(prio, true))
		fail("ioprio_set refuses it");
}

static void read_by_aio(struct attr *attr, aio_context_t ctx)
{
	int prio = random_prio() & 0xffff, answer = 0;
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PREAD,
		.aio_reqprio = prio,
		.aio_flags = IOCB_FLAG_IOPRIO,
		.aio_fildes = device,
		.aio_buf = (unsigned long)buffer,
		.aio_nbytes = BLOCK,
		.aio_offset = below(128) * BLOCK,
	};
	struct iocb *cbs[] = { &cb };
	struct io_event done;

	snprintf(last, sizeof(last), "aio_reqprio %#x", prio);
	if (syscall(SYS_io_submit, ctx, 1, cbs) != 1) {
		answer = errno;
	} else {
		alarm(IO_PATIENCE_S);
		if (syscall(SYS_io_getevents, ctx, 1, 1, &done, NULL) != 1)
			fail("io_getevents: %m");
		else if ((long)done.res != BLOCK)
			fail("a read ends with %ld", (long)done.res);
		alarm(0);
	}
	count_answer(attr, answer, expected_of_prio(prio, true));
}

static void fuzz_ioprio(unsigned long count)
{
	unsigned long i, number = count / 10;
	aio_context_t ctx = 0;
	int status;
	pid_t pid;

	open_device();
	if (syscall(SYS_io_setup, 1, &ctx))
		err(1, "io_setup");
	if (setpgid(0, 0))
		warn("setpgid");
	/* without privileges, in a process of its own */
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		failures = 0;
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			err(1, "setresuid");
		for (i = 0; i < number; i++)
			set_prio(&ioprio[1], random_prio(), false);
		_exit(failures > 0);
	}
	ioprio[1].inputs = number;	/* the answers are counted there */
	if (waitpid(pid, &status, 0) != pid || status)
		fail("without privileges: status %#x", status);
	for (i = number; i < count; i++) {
		if (one_in(10))
			set_prio_of_others(&ioprio[2]);
		else if (one_in(4))
			read_by_aio(&ioprio[3], ctx);
		else
			set_prio(&ioprio[0], random_prio(), true);
		if (i % IO_EVERY == IO_EVERY - 1)
			try_io();
	}
	syscall(SYS_ioprio_set, 1, 0, 0);
	try_io();
}

/*
 * The report
 */

static void print_row(const struct attr *attr, bool json, bool first)
{
	unsigned long inputs = attr->inputs;
	size_t e;

	if (json)
		printf("%s\n  {\"name\": \"%s\", \"inputs\": %lu, \"accepted\": %lu, \"refused\": {",
		       first ? "" : ",", attr->name, inputs, attr->accepted);
	else
		printf("%-24s %8lu %8lu ", attr->name, inputs, attr->accepted);
	first = true;
	for (e = 0; e < ARRAY_SIZE(attr->refused); e++) {
		if (!attr->refused[e])
			continue;
		printf(json ? "%s\"%s\": %lu" : "%s%s %lu", first ? "" : json ? ", " : "  ",
		       strerrorname_np(e), attr->refused[e]);
		first = false;
	}
	printf(json ? "}}" : "\n");
}

static void print_all(const struct attr *attrs, size_t n, bool json)
{
	size_t i;

	if (json)
		printf("{\"failures\": %lu, \"files\": [", failures);
	else
		printf("%-24s %8s %8s refused\n", "", "inputs", "accepted");
	for (i = 0; i < n; i++)
		print_row(&attrs[i], json, !i);
	if (attrs == rotating)
		print_row(&power, json, false);
	printf(json ? "]}\n" : "%lu failures\n", failures);
}

static const struct subject {
	const char *name;
	void (*fuzz)(unsigned long count);
	struct attr *attrs;
	size_t n;
} subjects[] = {
	{ "tunables", fuzz_tunables, tunables, ARRAY_SIZE(tunables) },
	{ "trace", fuzz_trace, trace, ARRAY_SIZE(trace) },
	{ "rotating", fuzz_rotating, rotating, ARRAY_SIZE(rotating) },
	{ "ioprio", fuzz_ioprio, ioprio, ARRAY_SIZE(ioprio) },
};

int main(int argc, char **argv)
{
	bool json = argc == 6 && !strcmp(argv[5], "--json");
	unsigned long count;
	size_t i;

	if (argc != 5 && !json)
		goto usage;
	disk = argv[2];
	state = strtoull(argv[3], NULL, 0);
	count = strtoul(argv[4], NULL, 0);
	signal(SIGALRM, io_hangs);
	for (i = 0; i < ARRAY_SIZE(subjects); i++) {
		if (strcmp(argv[1], subjects[i].name))
			continue;
		subjects[i].fuzz(count);
		print_all(subjects[i].attrs, subjects[i].n, json);
		return failures > 0;
	}
usage:
	fprintf(stderr, "usage: %s tunables|trace|rotating|ioprio DISK SEED COUNT [--json]\n",
		argv[0]);
	return 2;
}
