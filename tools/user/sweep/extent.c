// SPDX-License-Identifier: GPL-2.0
/*
 * Find the position of a file's data: from FIEMAP, or FIBMAP if permitted
 * (CAP_SYS_RAWIO).  Otherwise use the inode number, since allocators put data
 * near the inode.
 */
#define _GNU_SOURCE
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "extent.h"

/* Larger than any device. */
#define BY_INODE (UINT64_C(1) << 63)

/* Data that is not on the disk yet, or in the inode, which has been read. */
#define NEEDS_NO_SEEK (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | \
		       FIEMAP_EXTENT_DATA_INLINE)

uint64_t by_inode(uint64_t ino)
{
	return BY_INODE | ino;
}

/*
 * Without FIEMAP_FLAG_SYNC, so that the query does not cause writes.  Query the
 * whole file, since it may begin with a hole.
 */
static bool first_extent(int fd, uint64_t *position)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} ask = {
		.map = { .fm_length = FIEMAP_MAX_OFFSET, .fm_extent_count = 1 },
	};
	const struct fiemap_extent *extent =
		(const void *)(ask.room + sizeof(struct fiemap));

	if (ioctl(fd, FS_IOC_FIEMAP, &ask.map) < 0)
		return false;
	*position = 0;
	if (ask.map.fm_mapped_extents && !(extent->fe_flags & NEEDS_NO_SEEK))
		*position = extent->fe_physical & ~BY_INODE;
	return true;
}

static bool first_block(int fd, uint64_t *position)
{
	int block = 0, size;

	if (ioctl(fd, FIGETBSZ, &size) < 0 || ioctl(fd, FIBMAP, &block) < 0)
		return false;
	*position = (uint64_t)(uint32_t)block * (uint32_t)size;
	return true;
}

uint64_t data_position(int fd, uint64_t ino)
{
	uint64_t position;

	if (first_extent(fd, &position) || first_block(fd, &position))
		return position;
	return by_inode(ino);
}
