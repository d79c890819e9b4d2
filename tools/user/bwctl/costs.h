/* SPDX-License-Identifier: GPL-2.0 */
/* What a larger and a smaller value of a setting costs. costs.h is made from costs.h.in by `make pages`. */
	{ "max_sectors_kb",
	  "with Linux's settings 26 players on a modelled disk miss up to 38 deadlines a minute, with the recommended ones up to 0",
	  "not measured" },
	{ "read_ahead_kb",
	  "see max_sectors_kb, with which it was measured",
	  "not measured; buffered readers may be slower" },
	{ "nr_requests", "not measured", "not measured; a scheduler has little to choose from" },
