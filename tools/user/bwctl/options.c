// SPDX-License-Identifier: GPL-2.0
/* Parse the command line with getopt_long(): one table, a subset for each command. */
#define _GNU_SOURCE
#include <getopt.h>
#include <string.h>

#include "options.h"
#include "util.h"

static const struct option all_options[] = {
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "delay", required_argument, NULL, OPTION_DELAY },
	{ "device", required_argument, NULL, OPTION_DEVICE },
	{ "group", required_argument, NULL, OPTION_GROUP },
	{ "streams", required_argument, NULL, OPTION_STREAMS },
	{ "seek", required_argument, NULL, OPTION_SEEK },
	{ "share", required_argument, NULL, OPTION_SHARE },
	{ "none", no_argument, NULL, OPTION_NONE },
	{ "measure", no_argument, NULL, OPTION_MEASURE },
	{ "thread", no_argument, NULL, OPTION_THREAD },
	{ "quiet", no_argument, NULL, OPTION_QUIET },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "help", no_argument, NULL, OPTION_HELP },
};

#define NR_OPTIONS (sizeof(all_options) / sizeof(all_options[0]))

static void take_option(int option, struct options *options)
{
	switch (option) {
	case OPTION_RATE:
		options->rate = optarg;
		break;
	case OPTION_DELAY:
		options->delay = optarg;
		break;
	case OPTION_DEVICE:
		options->device = optarg;
		break;
	case OPTION_GROUP:
		options->group = optarg;
		break;
	case OPTION_STREAMS:
		options->streams = optarg;
		break;
	case OPTION_SEEK:
		options->seek = optarg;
		break;
	case OPTION_SHARE:
		options->share = optarg;
		break;
	case OPTION_NONE:
		options->none = true;
		break;
	case OPTION_MEASURE:
		options->measure = true;
		break;
	case OPTION_THREAD:
		options->thread = true;
		break;
	case OPTION_QUIET:
		options->quiet = true;
		break;
	case OPTION_JSON:
		options->json = true;
		break;
	default:
		options->help = true;
		break;
	}
}

static bool is_right(const char *option, const char *text, const char *wrong)
{
	if (wrong)
		say("%s '%s' %s", option, text, wrong);
	return !wrong;
}

bool option_rate(const char *text, struct amount *bits_per_s)
{
	return is_right("rate", text, parse_rate(text, bits_per_s));
}

bool option_time(const char *option, const char *text, struct amount *ns)
{
	return is_right(option, text, parse_time(text, ns));
}

bool parse_options(int argc, char **argv, unsigned int allowed, struct options *options)
{
	struct option table[NR_OPTIONS + 1];
	size_t count = 0;
	int option;

	memset(options, 0, sizeof(*options));
	memset(table, 0, sizeof(table));
	options->command = argv[0];
	for (size_t i = 0; i < NR_OPTIONS; i++)
		if ((allowed | OPTION_HELP) & (unsigned int)all_options[i].val)
			table[count++] = all_options[i];
	/* '+': stop at the first operand; ':': return ':' for a missing argument */
	while ((option = getopt_long(argc, argv, allowed & OPTION_OPERANDS_LAST ? "+:h" : ":h",
				     table, NULL)) != -1) {
		if (option == ':') {
			say("%s: %s needs an argument (see bwctl %s --help)", argv[0],
			    argv[optind - 1], argv[0]);
			return false;
		}
		if (option == '?') {
			say("%s: invalid option '%s' (see bwctl %s --help)", argv[0],
			    argv[optind - 1], argv[0]);
			return false;
		}
		take_option(option, options);
	}
	options->operands = argv + optind;
	options->nr_operands = argc - optind;
	return true;
}
