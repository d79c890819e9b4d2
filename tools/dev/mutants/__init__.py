# SPDX-License-Identifier: GPL-2.0
"""Plants small faults one by one, and says which test hears each."""
