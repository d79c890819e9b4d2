/* SPDX-License-Identifier: GPL-2.0 */
/* The commands.  Each takes its parsed options and returns an exit code. */
#ifndef BWCTL_COMMANDS_H
#define BWCTL_COMMANDS_H

#include "options.h"

int command_run(const struct options *options);
int command_set(const struct options *options);
int command_group(const struct options *options);
int command_model(const struct options *options);
int command_show(const struct options *options);
int command_check(const struct options *options);
int command_encode(const struct options *options);
int command_decode(const struct options *options);

#endif
