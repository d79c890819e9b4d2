#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# relay.sh STEPS: a CPU comes online while a trace is set up, and reads.

. "${0%/*}/lib.sh"

null_disk disk
"$PROGRAMS/trace_cpu" /dev/disk 1 "$1" || broken "trace_cpu ended with $?"
