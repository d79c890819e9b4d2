// SPDX-License-Identifier: GPL-2.0
/*
 * Where the data of a file is: FIEMAP tells, or FIBMAP where that is allowed
 * (CAP_SYS_RAWIO), else the inode number has to do: allocators put data near
 * the inode.
 */
#define _GNU_SOURCE
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "extent.h"

/* No device is as large. */
#define BY_INODE (UINT64_C(1) << 63)

/* Not on the disk yet, or in the inode, which was read before. */
#define NEEDS_NO_SEEK (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | \
		       FIEMAP_EXTENT_DATA_INLINE)

uint64_t by_inode(uint64_t ino)
{
	return BY_INODE | ino;
}

/*
 * FIEMAP_FLAG_SYNC is not asked for: to look must not write.  The whole file is
 * asked about, as it may begin with a hole.
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
