# SPDX-License-Identifier: GPL-2.0
"""The settings that Linux gives a disk are those that transports.py has, for each transport that QEMU emulates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.testbed.disk.transports import TRANSPORTS
from tools.testbed.vm import qemu
from tools.testbed.vm.command import VMError

# Controllers with a disk each, whose model is the transport. libata limits commands of a SATA disk of another model to
# 128 KiB, as QEMU says that it is behind a bridge to PATA. A SAS controller finds disks by their names.
BACKEND = "-blockdev null-co,node-name={0},size=2000000000000,read-zeroes=on"
SATA_MODEL = "QEMUHARDDISK"  # without spaces
ATA_DISK = "-device ide-hd,bus={1},drive={0},rotation_rate=7200{2}"
SAS_NAME = ",wwn=0x5000c50015ea71ac"
SCSI_DISK = "-device scsi-hd,bus={1},drive={0},product={0},rotation_rate=7200"
ARGUMENTS = [
    "-device qemu-xhci,id=usb", "-device piix3-ide,id=pata-bus", "-device mptsas1068,id=sas-bus",
    "-device usb-bot,id=bot,bus=usb.0", "-device usb-uas,id=uas-bus,bus=usb.0",
    *(BACKEND.format(name) for name in TRANSPORTS),
    ATA_DISK.format("sata", "ide.0", ""), ATA_DISK.format("pata", "pata-bus.0", ",model=pata"),
    SCSI_DISK.format("sas", "sas-bus.0") + SAS_NAME,
    SCSI_DISK.format("usb-bot", "bot.0"), SCSI_DISK.format("uas", "uas-bus.0")]

# A line for each disk: its model, its host's commands, and the queue's files under mq-deadline. USB disks come late.
SCRIPT = r"""
for _ in $(seq 150); do
	set -- /sys/block/sd*
	[ $# -lt 5 ] || break
	sleep 0.2
done
for disk in /sys/block/sd*; do
	echo mq-deadline > "$disk/queue/scheduler"
	address=$(readlink -f "$disk/device")
	address=${address##*/}
	printf '%s can_queue=%s' "$(tr -d ' ' < "$disk/device/model")" \
		"$(cat "/sys/class/scsi_host/host${address%%:*}/can_queue")"
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
    told: dict[str, dict[str, int]] = {}
    for line in result.stdout.replace(SATA_MODEL, "sata").splitlines():
        name, *words = line.split() or [""]
        if words and words[0].startswith("can_queue="):
            told[name] = {key: int(value) for key, value in (word.split("=") for word in words)}
    return told


@pytest.mark.parametrize("name", TRANSPORTS)
def test_size_of_commands_and_read_ahead_are_those_of_linux(name: str, found: dict[str, dict[str, int]]) -> None:
    assert name in found, json.dumps(found)
    wanted = TRANSPORTS[name]
    assert {key: found[name][key] for key in ("rotational", "max_sectors_kb", "max_segments", "read_ahead_kb")} == {
        "rotational": 1, "max_sectors_kb": wanted.max_sectors_kb, "max_segments": wanted.max_segments,
        "read_ahead_kb": wanted.read_ahead_kb}


@pytest.mark.parametrize("name", TRANSPORTS)
def test_tags_are_twice_the_commands_of_the_host(name: str, found: dict[str, dict[str, int]]) -> None:
    """SAS and UAS controllers have more commands than those that QEMU emulates."""
    assert found[name]["nr_requests"] == 2 * min(found[name]["can_queue"], 128)
    assert found[name]["nr_requests"] == TRANSPORTS[name].nr_requests or (
        name in ("sas", "uas") and TRANSPORTS[name].nr_requests == 256)
