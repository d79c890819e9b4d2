// SPDX-License-Identifier: GPL-2.0
/* Copy single files with all their attributes. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "attributes.h"
#include "copy.h"
#include "data.h"
#include "output.h"
#include "program.h"

/* --- attributes ------------------------------------------------------------ */

struct target {
	int folder;
	const char *name;
	/* which of these the original has */
	bool has_acl;
	bool has_inherited_acl;
};

/* Some attributes are for root only, and some file systems have none. */
static bool may_be_left_out(int error)
{
	return error == ENOTSUP || error == EPERM || error == EACCES;
}

static bool set_attribute(const char *name, const void *value, size_t size, void *user)
{
	struct target *target = user;

	target->has_acl |= !strcmp(name, ATTRIBUTE_ACL);
	target->has_inherited_acl |= !strcmp(name, ATTRIBUTE_ACL_INHERITED);
	return attributes_set(target->folder, target->name, name, value, size) ||
	       may_be_left_out(errno);
}

/* Set the owner.  Returns whether it is that of the original: otherwise drop setuid bits. */
static bool set_owner(const struct stat *status, int folder, const char *name)
{
	int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
	struct stat now;

	if (!fstatat(folder, name, &now, flags) && now.st_uid == status->st_uid &&
	    now.st_gid == status->st_gid)
		return true;
	if (!fchownat(folder, name, status->st_uid, status->st_gid, flags))
		return true;
	/* a user who may not change the owner may still change the group */
	return !fchownat(folder, name, (uid_t)-1, status->st_gid, flags) &&
	       status->st_uid == geteuid();
}

static bool set_mode(const struct stat *status, bool is_owned, int folder, const char *name)
{
	mode_t mode = status->st_mode & (is_owned ? 07777 : 01777);

	if (S_ISLNK(status->st_mode))
		return true;
	return !(*name ? fchmodat(folder, name, mode, 0) : fchmod(folder, mode));
}

static bool set_times(const struct stat *status, int folder, const char *name)
{
	const struct timespec times[] = { status->st_atim, status->st_mtim };

	return !(*name ? utimensat(folder, name, times, AT_SYMLINK_NOFOLLOW) :
			 futimens(folder, times));
}

static void remove_acls(const struct stat *status, const struct target *target)
{
	if (!target->has_acl && !S_ISLNK(status->st_mode))
		attributes_remove(target->folder, target->name, ATTRIBUTE_ACL);
	if (!target->has_inherited_acl && S_ISDIR(status->st_mode))
		attributes_remove(target->folder, target->name, ATTRIBUTE_ACL_INHERITED);
}

failure copy_attributes(int at, const char *from, const struct stat *status, int folder,
			const char *name, bool has_acl)
{
	struct target target = { .folder = folder, .name = name };
	bool is_owned = set_owner(status, folder, name);

	/* after the owner, since a change of the owner removes capabilities */
	if (!attributes_each(at, from, set_attribute, &target))
		return "copy the extended attributes of";
	if (has_acl)
		remove_acls(status, &target);
	if (!set_mode(status, is_owned, folder, name))
		return "set the mode of the copy of";
	if (!set_times(status, folder, name))
		return "set the times of the copy of";
	return NULL;
}

/* --- data ------------------------------------------------------------------ */

static bool write_all(int fd, const char *bytes, size_t count, off_t at)
{
	ssize_t done;

	for (; count; count -= (size_t)done, bytes += done, at += done) {
		done = pwrite(fd, bytes, count, at);
		if (done < 0 && errno == EINTR)
			done = 0;
		if (done < 0)
			return false;
	}
	return true;
}

/*
 * Copy in the kernel if possible, and advance @at.  Errors are ignored: read()
 * and write() will return them for the rest.
 */
static void copy_inside(int from, int to, off_t *at, off_t end)
{
	off_t write_at = *at;
	ssize_t done;

	while (*at < end) {
		done = copy_file_range(from, at, to, &write_at,
				       (size_t)(end - *at < DATA_CHUNK ? end - *at : DATA_CHUNK), 0);
		if (done <= 0)
			return;
		progress_step((uint64_t)done);
	}
}

static failure copy_part(int from, int to, off_t at, off_t end, char *buffer)
{
	ssize_t got;

	copy_inside(from, to, &at, end);
	for (; at < end; at += got) {
		got = pread(from, buffer, (size_t)(end - at < DATA_CHUNK ? end - at : DATA_CHUNK),
			    at);
		if (got < 0)
			return "read";
		if (!got)
			break;
		if (!write_all(to, buffer, (size_t)got, at))
			return "write the copy of";
		progress_step((uint64_t)got);
	}
	return NULL;
}

/*
 * Share the blocks of the original (reflink), as cp does.  That copies the whole
 * file, so it must not have grown since its status was read.
 */
static bool share_blocks(int from, int to, const struct stat *status)
{
	static bool failed;
	static dev_t failed_dev;
	struct stat now;

	if (!status->st_size || (failed && failed_dev == status->st_dev))
		return false;
	if (ioctl(to, FICLONE, from)) {
		failed = true;
		failed_dev = status->st_dev;
		return false;
	}
	if (fstat(to, &now) || now.st_size > status->st_size)
		return !ftruncate(to, status->st_size);
	progress_step((uint64_t)status->st_size);
	return true;
}

/* Keep holes; leave out data appended since the status was read. */
static failure copy_data(int from, int to, const struct stat *status)
{
	bool is_sparse = data_is_sparse(status);
	off_t size = status->st_size, end = size, at = 0;
	failure why = NULL;
	char *buffer;

	if (share_blocks(from, to, status))
		return NULL;
	buffer = need(malloc(DATA_CHUNK));
	if (is_sparse && ftruncate(to, size))
		why = "write the copy of";
	if (is_sparse)
		at = data_next(from, 0, size, &end);
	while (!why && at < size) {
		why = copy_part(from, to, at, end, buffer);
		at = is_sparse ? data_next(from, end, size, &end) : size;
	}
	free(buffer);
	return why;
}

failure copy_file(int fd, const struct stat *status, int folder, const char *name,
		  bool gives_acl)
{
	struct output output;
	failure why;

	if (!output_begin(&output, folder))
		return "create the copy of";
	why = copy_data(fd, output.fd, status);
	if (!why)
		why = copy_attributes(fd, "", status, output.fd, "", gives_acl);
	if (!why && !output_commit(&output, name))
		return "give its name to the copy of";
	if (why)
		output_abort(&output);
	return why;
}

/* --- the others ------------------------------------------------------------ */

static bool make_symlink(int at, const char *from, int folder, const char *name)
{
	char target[PATH_MAX];

	return data_read_target(at, from, target) && !symlinkat(target, folder, name);
}

failure copy_special(int at, const char *from, const struct stat *status, int folder,
		     const char *name, bool gives_acl)
{
	struct output output;
	failure why = NULL;
	bool made;

	output_choose(&output, folder);
	if (S_ISLNK(status->st_mode))
		made = make_symlink(at, from, folder, output.temporary);
	else
		made = !mknodat(folder, output.temporary, (status->st_mode & S_IFMT) | 0600,
				status->st_rdev);
	if (!made)
		why = "create the copy of";
	if (!why)
		why = copy_attributes(at, from, status, folder, output.temporary, gives_acl);
	if (!why && !output_commit(&output, name))
		return "give its name to the copy of";
	if (why)
		output_abort(&output);
	return why;
}

failure copy_link(int target_folder, const char *target, int folder, const char *name)
{
	struct output output;

	output_choose(&output, folder);
	if (linkat(target_folder, target, folder, output.temporary, 0)) {
		output_abort(&output);
		return "link the copy of";
	}
	return output_commit(&output, name) ? NULL : "give its name to the copy of";
}
