// SPDX-License-Identifier: GPL-2.0
/*
 * Print the messages of a block trace on stdin: nanoseconds, process and text, in
 * the order in which the CPUs wrote them. blkparse 1.2.0 does not print the process
 * of a message.
 *
 * blktrace can read a record while the kernel writes it. The trace then has zeroes
 * for the record, or for its action. This program skips them and finds the next
 * record. The exit code is 0, 2 if records are missing, or 1 if the input is no
 * trace or ends within a record.
 */
#include <stdio.h>
#include <string.h>

#include <linux/blktrace_api.h>

/* BLK_TN_MESSAGE, whose type u64 does not exist in user space */
#define MESSAGE		(__BLK_TN_MESSAGE | BLK_TC_NOTIFY << BLK_TC_SHIFT)
/* The length of the cgroup ID before the text, if there is one */
#define CGROUP_BYTES	8

/* Read the magic number of the next record, and count the bytes skipped before it. */
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
	fprintf(stderr, "blktrace_messages: the trace ends within a record\n");
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
		/* Some kernels add a cgroup ID to every message. */
		cgroup = action & __BLK_TN_CGROUP ? CGROUP_BYTES : 0;
		if (len >= cgroup)
			printf("%llu %u %.*s\n", (unsigned long long)t.v1.time,
			       pid, (int)(len - cgroup), data + cgroup);
	}
	if (!records) {
		fprintf(stderr, "blktrace_messages: no block trace\n");
		return 1;
	}
	if (skipped) {
		fprintf(stderr, "blktrace_messages: %lu bytes belong to no record\n", skipped);
		return 2;
	}
	return 0;
}
