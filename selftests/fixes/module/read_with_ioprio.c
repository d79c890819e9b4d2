// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the first page of a disk with an I/O priority that no system call takes: what
 * a client of rnbd is that makes its messages itself. It does so while it is loaded,
 * and refuses to stay: ECANCELED says that the disk gave the page.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/module.h>

static char *disk;
module_param(disk, charp, 0);
MODULE_PARM_DESC(disk, "Path of the disk");

static ushort ioprio;
module_param(ioprio, ushort, 0);
MODULE_PARM_DESC(ioprio, "I/O priority, class and data");

static int __init read_with_ioprio(void)
{
	struct file *file;
	struct page *page;
	struct bio *bio;
	int err;

	file = bdev_file_open_by_path(disk, BLK_OPEN_READ, NULL, NULL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = -ENOMEM;
	page = alloc_page(GFP_KERNEL);
	if (!page)
		goto close;
	bio = bio_alloc(file_bdev(file), 1, REQ_OP_READ | REQ_SYNC, GFP_KERNEL);
	__bio_add_page(bio, page, PAGE_SIZE, 0);
	bio->bi_ioprio = ioprio;
	err = submit_bio_wait(bio);
	bio_put(bio);
	__free_page(page);
close:
	bdev_fput(file);
	return err ?: -ECANCELED;
}
module_init(read_with_ioprio);

MODULE_DESCRIPTION("Read with an I/O priority that does not exist");
MODULE_LICENSE("GPL");
