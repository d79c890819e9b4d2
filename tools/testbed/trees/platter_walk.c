// SPDX-License-Identifier: GPL-2.0
/* Counts the blocks of a tree with platter_walk(), as nftw.c does with nftw(). */
#include <stdio.h>
#include <sys/stat.h>

#include "../../user/sweep/platter.h"

static long long blocks;

static void add(struct platter_entry *entry)
{
	const struct stat *status = platter_stat(entry);

	if (status)
		blocks += status->st_blocks;
}

static int directory(struct platter_entry *entry, void *user)
{
	(void)user;
	add(entry);
	return PLATTER_YES;
}

static int file(struct platter_entry *entry, void *user)
{
	(void)user;
	add(entry);
	return PLATTER_NO;
}

int main(int argc, char **argv)
{
	struct platter_options options = { .directory = directory, .file = file };

	if (argc != 2 || platter_walk((const char *const *)argv + 1, 1, &options))
		return 1;
	printf("%lld\n", blocks / 2);
	return 0;
}
