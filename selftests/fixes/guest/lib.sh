# SPDX-License-Identifier: GPL-2.0
#
# What the reproducers share. Exit code 1: the kernel has the bug, as far as it still
# runs. 3: the reproducer could not be tried.
#
# shellcheck shell=bash

# shellcheck disable=SC2034 # the reproducers use it
DEBUG=/sys/kernel/debug/block

broken()
{
	echo "BROKEN: $*"
	exit 3
}

bug()
{
	echo "BUG: $*"
	exit 1
}

# null_disk NAME [ATTR=VALUE...]: makes /dev/NAME
null_disk()
{
	local dir=/sys/kernel/config/nullb/$1 attribute

	mkdir "$dir" || broken "null_blk makes no $1"
	shift
	for attribute in size=64 memory_backed=1 irqmode=2 completion_nsec=50000 "$@" power=1; do
		echo "${attribute#*=}" > "$dir/${attribute%%=*}" || broken "null_blk refuses $attribute"
	done
}

# choose DISK SCHEDULER
choose()
{
	echo "$2" > "/sys/block/$1/queue/scheduler" || broken "$1 does not take $2"
}
