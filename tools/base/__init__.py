# SPDX-License-Identifier: GPL-2.0
"""What every tool is made of: how a program starts, fails, shows progress, prints tables and writes files."""
