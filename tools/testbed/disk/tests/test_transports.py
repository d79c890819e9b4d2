# SPDX-License-Identifier: GPL-2.0
"""The settings that Linux gives a disk are those that tools/testbed/disk/transports.py has, for each transport."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.testbed.disk.transports import TRANSPORTS
from tools.testbed.vm import qemu
from tools.testbed.vm.command import VMError

# Controllers of QEMU with a disk each, whose serial number is the transport.
DISK = "-blockdev null-co,node-name={0},size=2T,read-zeroes=on"
SCSI_DISK = "-device scsi-hd,bus={1},drive={0},serial={0},rotation_rate=7200"
DEVICES = {
    "sata": "-device ide-hd,bus=ide.0,drive=sata,serial=sata,rotation_rate=7200",
    "pata": "-device piix3-ide,id=pata-bus -device ide-hd,bus=pata-bus.0,drive=pata,serial=pata,rotation_rate=7200",
    "sas": "-device mptsas1068,id=sas-bus " + SCSI_DISK.format("sas", "sas-bus.0"),
    "usb-bot": "-device usb-bot,id=bot,bus=usb.0 " + SCSI_DISK.format("usb-bot", "bot.0"),
    "uas": "-device usb-uas,id=uas-bus,bus=usb.0 " + SCSI_DISK.format("uas", "uas-bus.0"),
}
ARGUMENTS = ["-device qemu-xhci,id=usb",
             *(f"{DISK.format(name)} {device}" for name, device in DEVICES.items())]

# A line for each disk: the serial number, and the queue's files under mq-deadline. USB disks come late.
SCRIPT = r"""
for i in $(seq 100); do
	set -- /sys/block/sd*
	[ $# -lt 5 ] || break
	sleep 0.2
done
for disk in /sys/block/sd*; do
	echo mq-deadline > "$disk/queue/scheduler"
	serial=$(tr -dc 'a-z-' < "$disk/device/vpd_pg80")
	printf '%s' "$serial"
	for name in rotational max_sectors_kb max_segments read_ahead_kb nr_requests; do
		printf ' %s=%s' "$name" "$(cat "$disk/queue/$name")"
	done
	echo
done
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, int]]:
    """The settings of each disk, in one boot."""
    try:
        qemu.image("plain")
    except VMError as error:
        pytest.skip(str(error))
    out: Path = tmp_path_factory.mktemp("transports")
    result = qemu.run(SCRIPT, flavour="plain", out=out, qemu=ARGUMENTS, timeout=300)
    assert result.ok, result.why()
    lines = [line.split() for line in result.stdout.splitlines()]
    return {name: {key: int(value) for key, value in (word.split("=") for word in words)} for name, *words in lines}


@pytest.mark.parametrize("name", TRANSPORTS)
def test_settings_of_a_transport_are_those_of_linux(name: str, found: dict[str, dict[str, int]]) -> None:
    assert name in found, json.dumps(found)
    wanted = TRANSPORTS[name]
    assert found[name] == {
        "rotational": 1, "max_sectors_kb": wanted.max_sectors_kb, "max_segments": wanted.max_segments,
        "read_ahead_kb": wanted.read_ahead_kb, "nr_requests": wanted.nr_requests}
