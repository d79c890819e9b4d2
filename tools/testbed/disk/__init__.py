# SPDX-License-Identifier: GPL-2.0
"""Modelled rotating disks: presets, devices of null_blk, and a judge of the model."""
