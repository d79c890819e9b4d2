# SPDX-License-Identifier: GPL-2.0
#
# Odd texts for every file in which the queue's kernel parses one, and odd numbers
# for ioprio_set: tools/stress/guest/fuzz.c. All together 10^5, in the debug
# flavour 10^4.
#
# shellcheck shell=bash

FUZZ=${FUZZ:-$PROGRAMS/fuzz}
FUZZ_SEED=${FUZZ_SEED:-1}

# fuzz SUBJECT COUNT
fuzz()
{
	"$FUZZ" "$1" disk "$FUZZ_SEED" "$2" || fail "fuzz $1: exit code $?"
}

scenario_fuzz_tunables()
{
	kernels plain smp
	disk disk rotational=1
	fuzz tunables "$(amount 40000 4000)"
	choose disk none
	choose disk cfq
	drained disk
}

scenario_fuzz_trace()
{
	kernels plain smp
	disk disk rotational=1
	fuzz trace "$(amount 15000 1500)"
	drained disk
}

scenario_fuzz_rotating()
{
	kernels plain smp
	rotating_off disk irqmode=1
	fuzz rotating "$(amount 25000 2500)"
	remove disk at once
}

scenario_fuzz_ioprio()
{
	kernels plain smp
	disk disk rotational=1
	# Otherwise each read of class idle waits for 200 ms.
	echo 0 > /sys/block/disk/queue/iosched/idle_grace_ms
	fuzz ioprio "$(amount 20000 2000)"
	drained disk
}
