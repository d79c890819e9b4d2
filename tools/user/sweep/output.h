/* SPDX-License-Identifier: GPL-2.0 */
/* Output files that get their name when they are complete, or never. */
#ifndef SWEEP_OUTPUT_H
#define SWEEP_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

/**
 * struct output - a file that is being written
 * @folder: descriptor of its directory, owned by the caller
 * @fd: the file, open for writing; -1: none
 * @temporary: its name until it is complete, or "" if it has none
 */
struct output {
	int folder;
	int fd;
	char temporary[NAME_MAX + 1];
};

/*
 * Remove an incomplete file when the program ends early, including by a signal
 * (HUP, INT, TERM, PIPE).
 */
void output_handle_signals(void);

/*
 * Create a file without a name in @folder, or with a temporary name if the file
 * system does not support that, with access for the owner only.  One file at a
 * time.  Returns false with errno set.
 */
bool output_begin(struct output *output, int folder);

/*
 * Give the file its name, replacing an existing file.  On failure removes the
 * file and returns false with errno set.
 */
bool output_commit(struct output *output, const char *name);

/* Remove the file, if there is one; keeps errno. */
void output_abort(struct output *output);

/*
 * Choose a temporary name for a link or device that will replace an existing
 * file.  It is removed if the program is interrupted.
 */
void output_choose(struct output *output, int folder);

#endif
