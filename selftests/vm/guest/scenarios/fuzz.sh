# SPDX-License-Identifier: GPL-2.0
#
# Odd texts for every file in which the queue's kernel parses one, and odd numbers
# for ioprio_set: tools/dev/stress/guest/fuzz.c. All together 10^5, in the debug
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

	local cpu=/sys/devices/system/cpu/cpu1/online

	# Each switch of the messages patches code that the other CPU runs; one that
	# is emulated (QEMU 7.2 without KVM) may run what has just been replaced.
	[ ! -w "$cpu" ] || echo 0 > "$cpu" || fail "cannot take CPU 1 offline"
	disk disk rotational=1
	fuzz trace "$(amount 15000 1500)"
	drained disk
	[ ! -w "$cpu" ] || echo 1 > "$cpu" || fail "cannot take CPU 1 online"
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
	fuzz ioprio "$(amount 20000 2000)"
	drained disk
}
