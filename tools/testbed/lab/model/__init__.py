# SPDX-License-Identifier: GPL-2.0
"""What a scenario is: files that are read and checked; types of results. Imports no other layer."""
