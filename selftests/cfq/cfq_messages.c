// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the messages of a block trace on stdin: nanoseconds, process and text,
 * in the order in which the CPUs wrote them. (Not every blkparse tells whose
 * message it is.)
 */
#include <stdio.h>
#include <string.h>

#include <linux/blktrace_api.h>

/* What the second version of the records has, as far as it is needed here */
struct record2 {
	__u32 magic, sequence;
	__u64 time, sector;
	__u32 bytes, pid;
	__u64 action;
	__u32 device, cpu;
	__u16 error, pdu_len;
	__u8 pad[12];
};

#define VERSION2	0x08

int main(void)
{
	union {
		struct blk_io_trace v1;
		struct record2 v2;
	} t;
	size_t left = sizeof(t.v2) - sizeof(t.v1);
	char data[65536];

	while (fread(&t, sizeof(t.v1), 1, stdin) == 1) {
		unsigned long long action = t.v1.action;
		unsigned int pid = t.v1.pid, len = t.v1.pdu_len;

		if ((t.v1.magic & 0xffffff00) != BLK_IO_TRACE_MAGIC) {
			fprintf(stderr, "cfq_messages: no block trace\n");
			return 1;
		}
		if ((t.v1.magic & 0xff) == VERSION2) {
			if (fread((char *)&t + sizeof(t.v1), left, 1, stdin) != 1)
				return 1;
			action = t.v2.action;
			pid = t.v2.pid;
			len = t.v2.pdu_len;
		}
		if (len && fread(data, len, 1, stdin) != 1)
			return 1;
		if ((__u32)action == BLK_TN_MESSAGE)
			printf("%llu %u %.*s\n", (unsigned long long)t.v1.time,
			       pid, (int)len, data);
	}
	return 0;
}
