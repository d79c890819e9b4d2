// SPDX-License-Identifier: GPL-2.0
/* Random choices, and files of sysfs, debugfs and cgroupfs. */
#define _GNU_SOURCE
#include <fcntl.h>

#include "soak.h"

/* Returns true with this probability, in percent. */
bool chance(uint64_t *state, unsigned int percent)
{
	return draw_below(state, 100) < percent;
}

/* Returns a power of two from @least to @most, which are powers of two. */
uint64_t draw_size(uint64_t *state, uint64_t least, uint64_t most)
{
	unsigned int steps = __builtin_ctzll(most) - __builtin_ctzll(least);

	return least << draw_below(state, steps + 1);
}

/* Returns 0 or an error number: the kernel may refuse a setting. */
int try_write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	ssize_t len = strlen(value);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (write(fd, value, len) != len)
		ret = errno;
	close(fd);
	return ret;
}

void write_file(const char *path, const char *value)
{
	int ret = try_write_file(path, value);

	if (ret)
		fail("write '%s' to %s: %s", value, path, strerror(ret));
}

/* Reads a file as a string, which is empty if the file cannot be read. Returns the length. */
size_t read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t len = 0;
	ssize_t n;

	text[0] = '\0';
	if (fd < 0)
		return 0;
	while (len + 1 < size && (n = read(fd, text + len, size - len - 1)) > 0)
		len += n;
	close(fd);
	text[len] = '\0';
	return len;
}
