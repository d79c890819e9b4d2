# SPDX-License-Identifier: GPL-2.0
"""The fixtures of trial.py for every test here."""

from tools.dev.queue.tests.trial import fake, queue, tarball, tree, two_patches

__all__ = ["fake", "queue", "tarball", "tree", "two_patches"]
