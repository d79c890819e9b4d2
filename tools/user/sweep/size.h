/* SPDX-License-Identifier: GPL-2.0 */
/* Amounts of bytes as people write them. */
#ifndef SWEEP_SIZE_H
#define SWEEP_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/* Room for a size as size_to_text() writes it. */
#define SIZE_TEXT 24

/* 512, 64K, 64M, 2G, 1T: binary.  Returns false if it is none, or too large. */
bool size_of_text(const char *text, uint64_t *bytes);

/* As du -h: rounded up, two digits or more: 512, 1.1K, 12M. */
void size_to_text(uint64_t bytes, char text[SIZE_TEXT]);

#endif
