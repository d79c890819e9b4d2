// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the messages of a block trace on stdin: nanoseconds, process and text,
 * in the order in which the CPUs wrote them. (Not every blkparse tells whose
 * message it is.) blktrace may read a record while it is written, and then has
 * zeroes for it, or for its action only; what follows is found again, but exit
 * code 2 says that something is missing. 1: what was read is no trace, or ends
 * within a record.
 */
#include <stdio.h>
#include <string.h>

#include <linux/blktrace_api.h>

/* BLK_TN_MESSAGE, which is of a type (u64) that user space does not have */
#define MESSAGE		(__BLK_TN_MESSAGE | BLK_TC_NOTIFY << BLK_TC_SHIFT)
/* What is before the text of one that tells its control group. */
#define CGROUP_BYTES	8

/* The next four bytes that may begin a record; how many others were skipped. */
static int find_record(__u32 *magic, unsigned long *skipped)
{
	int next;

	if (fread(magic, sizeof(*magic), 1, stdin) != 1)
		return 0;
	while ((*magic & 0xffffff00) != BLK_IO_TRACE_MAGIC) {
		next = getchar();
		if (next == EOF)
			return 0;
		memmove(magic, (char *)magic + 1, sizeof(*magic) - 1);
		((char *)magic)[sizeof(*magic) - 1] = next;
		++*skipped;
	}
	return 1;
}

static int cut_off(void)
{
	fprintf(stderr, "cfq_messages: the trace ends within a record\n");
	return 1;
}

int main(void)
{
	union {
		struct blk_io_trace v1;
		struct blk_io_trace2 v2;
	} t;
	size_t left = sizeof(t.v2) - sizeof(t.v1);
	size_t magic = sizeof(t.v1.magic);
	unsigned long skipped = 0, records = 0;
	char data[65536];

	while (find_record(&t.v1.magic, &skipped)) {
		unsigned long long action;
		unsigned int pid, len, cgroup;

		if (fread((char *)&t + magic, sizeof(t.v1) - magic, 1, stdin) != 1)
			return cut_off();
		action = t.v1.action;
		pid = t.v1.pid;
		len = t.v1.pdu_len;
		if ((t.v1.magic & 0xff) == BLK_IO_TRACE2_VERSION) {
			if (fread((char *)&t + sizeof(t.v1), left, 1, stdin) != 1)
				return cut_off();
			action = t.v2.action;
			pid = t.v2.pid;
			len = t.v2.pdu_len;
		}
		if (len && fread(data, len, 1, stdin) != 1)
			return cut_off();
		records++;
		if (!action)
			skipped += sizeof(t.v1);
		if (((__u32)action & ~__BLK_TN_CGROUP) != MESSAGE)
			continue;
		/* Some kernels put it there unasked. */
		cgroup = action & __BLK_TN_CGROUP ? CGROUP_BYTES : 0;
		if (len >= cgroup)
			printf("%llu %u %.*s\n", (unsigned long long)t.v1.time,
			       pid, (int)(len - cgroup), data + cgroup);
	}
	if (!records) {
		fprintf(stderr, "cfq_messages: no block trace\n");
		return 1;
	}
	if (skipped) {
		fprintf(stderr, "cfq_messages: %lu bytes are in no record\n", skipped);
		return 2;
	}
	return 0;
}
