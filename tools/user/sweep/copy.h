/* SPDX-License-Identifier: GPL-2.0 */
/* Copies of single files, with all that belongs to them. */
#ifndef SWEEP_COPY_H
#define SWEEP_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

/* What could not be done, with errno set; NULL: all was. */
typedef const char *failure;

/**
 * copy_file() - copy a regular file
 * @fd: the file
 * @status: its status
 * @folder, @name: where to; what is there is replaced when the copy is complete
 * @gives_acl: does @folder give an ACL to what is made in it?
 */
failure copy_file(int fd, const struct stat *status, int folder, const char *name,
		  bool gives_acl);

/* Copy a symbolic link, device, FIFO or socket: @at, @from: where it is. */
failure copy_special(int at, const char *from, const struct stat *status, int folder,
		     const char *name, bool gives_acl);

/* Make @name another name of the file @target in @target_folder. */
failure copy_link(int target_folder, const char *target, int folder, const char *name);

/**
 * copy_attributes() - owner, extended attributes, mode and times
 * @at, @from: of which file; an empty @from: @at itself
 * @status: its status
 * @folder, @name: to which, likewise
 * @has_acl: may it have ACLs that are not those of the original?
 *
 * As with cp -a, what this user or the file system may not have is left out.
 */
failure copy_attributes(int at, const char *from, const struct stat *status, int folder,
			const char *name, bool has_acl);

#endif
