# SPDX-License-Identifier: GPL-2.0
"""Validation of the disk model against DiskSim 4.0: the same requests for the same drives."""
