/* SPDX-License-Identifier: GPL-2.0 */
/* splitmix64: the same numbers from a seed on every machine. */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>

static __attribute__((unused)) uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static __attribute__((unused)) uint64_t draw(uint64_t *state)
{
	return mix(*state += 0x9e3779b97f4a7c15ULL);
}

static __attribute__((unused)) uint64_t draw_below(uint64_t *state, uint64_t limit)
{
	return draw(state) % limit;
}

#endif
