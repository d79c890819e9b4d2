# SPDX-License-Identifier: GPL-2.0
"""The disk model beside DiskSim 4.0: the same drives, the same requests, two clocks."""
