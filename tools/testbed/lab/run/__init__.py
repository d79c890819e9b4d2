# SPDX-License-Identifier: GPL-2.0
"""Runs scenarios in guests and reduces what they leave to results. Imports the model only."""
