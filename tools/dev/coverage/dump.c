// SPDX-License-Identifier: GPL-2.0
/*
 * Linked to the User-Mode Linux that counts. The linker script of arch/um leaves
 * .fini_array.* out, where gcc puts what writes the counts when a program ends: nobody
 * calls it there. This is called.
 */
extern void __gcov_dump(void);

static void __attribute__((destructor)) dump_counts(void)
{
	__gcov_dump();
}
