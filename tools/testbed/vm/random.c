// SPDX-License-Identifier: GPL-2.0
/*
 * Preloaded into User-Mode Linux: the same "random" numbers from the host in each
 * run of a seed, $RANDOM_SEED. The kernel draws from them where it looks for a tag
 * first, and who waits for a tag soon has another history.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#include "chance.h"

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	static uint64_t state;
	const char *seed = getenv("RANDOM_SEED");
	uint8_t *bytes = buffer;

	(void)flags;
	if (!state)
		state = seed ? strtoull(seed, NULL, 10) : 0;
	for (size_t i = 0; i < length; i++)
		bytes[i] = draw(&state);
	return length;
}
