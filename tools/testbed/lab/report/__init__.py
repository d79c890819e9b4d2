# SPDX-License-Identifier: GPL-2.0
"""Tables, plots and pages of results. Imports the model and the runs."""
