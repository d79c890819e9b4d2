/* SPDX-License-Identifier: GPL-2.0 */
/* Parse and print sizes in bytes. */
#ifndef SWEEP_SIZE_H
#define SWEEP_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Buffer size for size_to_text(). */
#define SIZE_TEXT 24

/* Parse 512, 64K, 64M, 2G, 1T (powers of 1024).  Returns false if invalid or too large. */
bool size_of_text(const char *text, uint64_t *bytes);

/* Print like du -h: rounded up, at least two digits: 512, 1.1K, 12M. */
void size_to_text(uint64_t bytes, char text[SIZE_TEXT]);

#endif
