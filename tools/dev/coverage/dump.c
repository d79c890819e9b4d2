// SPDX-License-Identifier: GPL-2.0
/*
 * Linked to User-Mode Linux with gcov counters. gcc puts the function that writes the counts at the
 * end of a program into .fini_array.*, which the linker script of arch/um leaves out, so it is never
 * called. This destructor calls it.
 */
extern void __gcov_dump(void);

static void __attribute__((destructor)) dump_counts(void)
{
	__gcov_dump();
}
