# SPDX-License-Identifier: GPL-2.0
#
# What a driver may be like: hardware queues, shared tags, completion in other
# contexts, a queue_rq that sleeps.
#
# shellcheck shell=bash

# driver [ATTR=VALUE...]
driver()
{
	disk disk "$@"
	verified --name=direct --filename=/dev/disk --ioengine=libaio --direct=1 \
		--rw=randrw --bsrange=4k-64k --numjobs=4 --iodepth=32 \
		--size="$(amount 4 2)M" --offset_increment=8M
	load disk
	load_end
	drained disk
	counted disk dispatched_BE
}

scenario_submit_queues() { driver submit_queues=2 rotational=1; }
scenario_submit_queues_flash() { kernels plain smp; driver submit_queues=2; }
scenario_blocking() { driver blocking=1 submit_queues=2; }
scenario_completion_at_once() { kernels plain smp; driver irqmode=0; }
scenario_completion_in_softirq() { kernels plain smp; driver irqmode=1 submit_queues=2; }
scenario_depth_of_one() { kernels plain smp; driver hw_queue_depth=1 rotational=1; }

scenario_shared_tags()
{
	# The tags that null_blk's devices share are never marked as blocking, though a device
	# with memory allocates while it queues: the base's own fault, reported by the others.
	kernels plain
	disk disk shared_tags=1 rotational=1
	disk other shared_tags=1
	load disk
	load other
	verified --ioengine=libaio --direct=1 --rw=randrw --bs=4k --iodepth=32 \
		--size=1M --offset=48M \
		--name=disk --filename=/dev/disk --name=other --filename=/dev/other
	load_end
	drained disk
	drained other
}
