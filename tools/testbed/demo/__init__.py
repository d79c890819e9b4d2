# SPDX-License-Identifier: GPL-2.0
"""`make run`: fio under each scheduler of a booted kernel, as tables."""
