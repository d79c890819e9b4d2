/* SPDX-License-Identifier: GPL-2.0 */
/* What a larger and a smaller value of a setting costs. costs.h is made from costs.h.in by `make pages`. */
	{ "max_sectors_kb",
	  "with 4096, and a read-ahead of 8192, 16 players miss up to 43 deadlines a minute; with 512 and 1024 up to 0",
	  "not measured" },
	{ "read_ahead_kb",
	  "with 8192, and commands of 4096, 16 players miss up to 43 deadlines a minute; with 1024 and 512 up to 0",
	  "not measured; buffered readers may be slower" },
	{ "nr_requests", "not measured", "not measured; a scheduler has little to choose from" },
