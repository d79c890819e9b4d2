# SPDX-License-Identifier: GPL-2.0
"""What every tool uses: start and errors of a program, progress, tables and files."""
