/* SPDX-License-Identifier: GPL-2.0 */
/* A file that appears under its name when it is complete, or not at all. */
#ifndef SWEEP_OUTPUT_H
#define SWEEP_OUTPUT_H

#include <limits.h>
#include <stdbool.h>

/**
 * struct output - a file that is being written
 * @folder: descriptor of its directory, the caller's
 * @fd: the file, open for writing; -1: none
 * @temporary: its name until it is complete, or "": it has none
 */
struct output {
	int folder;
	int fd;
	char temporary[NAME_MAX + 1];
};

/*
 * Remove what is not complete when the program ends early, be it by a signal
 * (HUP, INT, TERM, PIPE).
 */
void output_handle_signals(void);

/*
 * Create a file without a name in @folder, or with a temporary one where the
 * file system has no such files, for the owner only.  One at a time.  Returns
 * false with errno set.
 */
bool output_begin(struct output *output, int folder);

/*
 * Give it its name, in place of what had it.  Returns false with errno set if
 * that fails; then the file is gone.
 */
bool output_commit(struct output *output, const char *name);

/* Remove it, if there is one; errno stays. */
void output_abort(struct output *output);

/*
 * Something that is made at once (a link, a device) in place of what has the
 * name: choose a temporary name for it.  It is removed if interrupted.
 */
void output_choose(struct output *output, int folder);

#endif
