/* SPDX-License-Identifier: GPL-2.0 */
/* Copy single files with all their attributes. */
#ifndef SWEEP_COPY_H
#define SWEEP_COPY_H

#include <stdbool.h>
#include <sys/stat.h>

/* The step that failed, with errno set; NULL on success. */
typedef const char *failure;

/**
 * copy_file() - copy a regular file
 * @fd: the file
 * @status: its status
 * @folder, @name: the copy; an existing file is replaced when the copy is complete
 * @gives_acl: @folder has a default ACL
 */
failure copy_file(int fd, const struct stat *status, int folder, const char *name,
		  bool gives_acl);

/* Copy the symbolic link, device, FIFO or socket @from in @at. */
failure copy_special(int at, const char *from, const struct stat *status, int folder,
		     const char *name, bool gives_acl);

/* Make @name another name of the file @target in @target_folder. */
failure copy_link(int target_folder, const char *target, int folder, const char *name);

/**
 * copy_attributes() - owner, extended attributes, mode and times
 * @at, @from: the original; an empty @from: @at itself
 * @status: its status
 * @folder, @name: the copy; an empty @name: @folder itself
 * @has_acl: the copy may have ACLs that the original does not have
 *
 * As in cp -a, attributes that the user may not set or the file system does not
 * support are left out.
 */
failure copy_attributes(int at, const char *from, const struct stat *status, int folder,
			const char *name, bool has_acl);

#endif
