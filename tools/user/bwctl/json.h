/* SPDX-License-Identifier: GPL-2.0 */
/* Write JSON to stdout, on one line.  @key is NULL inside an array. */
#ifndef BWCTL_JSON_H
#define BWCTL_JSON_H

#include <stdbool.h>
#include <stdint.h>

void json_object(const char *key);
void json_array(const char *key);
void json_end_object(void);
void json_end_array(void);
void json_string(const char *key, const char *value);
void json_int(const char *key, int64_t value);
void json_bool(const char *key, bool value);
void json_null(const char *key);

/* End the outermost object and the line. */
void json_end(void);

#endif
