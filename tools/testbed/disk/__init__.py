# SPDX-License-Identifier: GPL-2.0
"""Modelled rotating disks: presets, null_blk devices, and the validation of the model."""
