// SPDX-License-Identifier: GPL-2.0
/*
 * bwctl - reserve disk bandwidth, as ionice(1) sets the other I/O classes
 *
 * This file has the table of commands with their help texts; command_*.c
 * implement them.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "util.h"

#ifndef BWCTL_VERSION
#define BWCTL_VERSION "unknown"
#endif

#define REQUEST_OPTIONS (OPTION_RATE | OPTION_DELAY | OPTION_DEVICE | OPTION_QUIET)
#define MODEL_OPTIONS (OPTION_RATE | OPTION_SEEK | OPTION_SHARE | OPTION_MEASURE)

#define REQUEST_HELP \
	"  --rate RATE      bytes per second: 3M or 3MiB (binary), 3MB, 24Mbit; rounded up\n" \
	"                   to a multiple of 128 KiB/s\n" \
	"  --delay TIME     maximum time from a request to its data: 200ms, 0.2s; rounded\n" \
	"                   down to a table entry (25 50 100 200 500 800 1000 2000 ms)\n" \
	"  --device DEV     use the delay table of this device\n" \
	"  --quiet          do not report rounding, do not warn\n"

#define HELP_HELP "  --help           show this text\n"
#define JSON_HELP "  --json           print JSON\n"

struct command {
	const char *name;
	unsigned int options;
	int (*run)(const struct options *options);
	const char *help;
};

static const struct command commands[] = {
	{ "run", REQUEST_OPTIONS | OPTION_GROUP | OPTION_OPERANDS_LAST, command_run,
	  "usage: bwctl run --rate RATE --delay TIME [--device DEV] [--quiet] [--] COMMAND [ARG...]\n"
	  "       bwctl run --group GROUP [--] COMMAND [ARG...]\n"
	  "Run a command with a reservation, or in a control group that has one. Child\n"
	  "processes inherit the reservation.\n\n"
	  REQUEST_HELP
	  "  --group GROUP    run it in this control group, which has a reservation (see bwctl\n"
	  "                   group)\n"
	  HELP_HELP },
	{ "set", REQUEST_OPTIONS | OPTION_NONE | OPTION_THREAD, command_set,
	  "usage: bwctl set --rate RATE --delay TIME [--device DEV] [--thread] [--quiet] PID...\n"
	  "       bwctl set --none [--thread] PID...\n"
	  "Give each thread of the processes a reservation, or remove it.\n\n"
	  REQUEST_HELP
	  "  --none           remove the reservation (I/O class none)\n"
	  "  --thread         PID is the ID of a thread: change only this thread\n"
	  HELP_HELP },
	{ "group", OPTION_RATE | OPTION_DELAY | OPTION_STREAMS | OPTION_NONE | OPTION_QUIET | OPTION_JSON, command_group,
	  "usage: bwctl group --rate RATE --delay TIME [--streams N] [--quiet] GROUP DEV\n"
	  "       bwctl group --none GROUP DEV\n"
	  "       bwctl group [--json] GROUP\n"
	  "Reserve bandwidth on a device for all reads and writes of a control group; remove the\n"
	  "reservation; or show it with its statistics. GROUP: a path in /sys/fs/cgroup, or a\n"
	  "unique name there (recorder.service, recorder). DEV: sda, /dev/sda, a partition, or a\n"
	  "file or directory on it.\n\n"
	  "  --rate RATE      bytes per second: 3M or 3MiB (binary), 3MB, 24Mbit\n"
	  "  --delay TIME     maximum time from a request to its data: 200ms, 0.2s\n"
	  "  --streams N      number of files read or written at the same time, for the check\n"
	  "                   against the device's model (see bwctl model)\n"
	  "  --none           remove the reservation\n"
	  "  --quiet          do not warn if the device has another scheduler\n"
	  JSON_HELP HELP_HELP },
	{ "model", MODEL_OPTIONS | OPTION_NONE | OPTION_JSON, command_model,
	  "usage: bwctl model --rate RATE --seek TIME [--share PERCENT] DEV\n"
	  "       bwctl model --measure [--share PERCENT] DEV\n"
	  "       bwctl model --none DEV\n"
	  "       bwctl model [--json] DEV\n"
	  "Set the performance model of a disk, so that control groups cannot reserve more than\n"
	  "the disk can do; remove the model; or show it with each group's part and what is left.\n"
	  "DEV: sda, /dev/sda, a partition, or a file or directory on it.\n\n"
	  "  --rate RATE      bytes per second where the disk is slowest: 52MB\n"
	  "  --seek TIME      time from one stream to the next in a sweep over many: half an\n"
	  "                   average seek and half a revolution, 8.5ms\n"
	  "  --measure        read the disk for about four seconds to measure rate and seek\n"
	  "  --share PERCENT  part of the disk's time that may be reserved (default 85)\n"
	  "  --none           remove the model: the kernel accepts any reservation\n"
	  JSON_HELP HELP_HELP },
	{ "show", OPTION_JSON, command_show,
	  "usage: bwctl show [--json] [PID|DEV]\n"
	  "Show class, rate, delay, tokens and missed deadlines of a process or a device; without\n"
	  "an argument, of all processes with a reservation and all devices with cfq.\n\n"
	  JSON_HELP HELP_HELP },
	{ "check", OPTION_JSON, command_check,
	  "usage: bwctl check [--json] DEV\n"
	  "Check whether kernel, device and scheduler honour the bandwidth class, and print what\n"
	  "to do if not. DEV: sda, /dev/sda, a partition, or a file or directory on it.\n\n"
	  JSON_HELP HELP_HELP },
	{ "encode", REQUEST_OPTIONS | OPTION_JSON, command_encode,
	  "usage: bwctl encode --rate RATE --delay TIME [--device DEV] [--quiet] [--json]\n"
	  "Print the priority as a number, for io_uring, aio and ioprio_set(2).\n\n"
	  REQUEST_HELP JSON_HELP HELP_HELP },
	{ "decode", OPTION_JSON, command_decode,
	  "usage: bwctl decode [--json] NUMBER...\n"
	  "Print what an I/O priority means, with delays from the default table.\n\n"
	  JSON_HELP HELP_HELP },
};

static const char usage[] =
	"usage: bwctl COMMAND [OPTION...] [ARGUMENT...]\n"
	"Reserve disk bandwidth with cfq's bandwidth class.\n\n"
	"  run     run a command with a reservation\n"
	"  set     give running processes a reservation, or remove it\n"
	"  group   reserve for a control group, or show its reservations\n"
	"  model   set the performance model of a disk, or show what is left\n"
	"  show    show processes and devices with reservations\n"
	"  check   check whether a device honours the class\n"
	"  encode  print a reservation as an I/O priority\n"
	"  decode  print what an I/O priority means\n\n"
	"Example: bwctl run --rate 3M --delay 200ms -- mpv /srv/film.mkv\n"
	"See bwctl COMMAND --help, and bwctl(8).\n";

/* Fail if the output could not be written, for instance to a full disk. */
static int end(int code)
{
	if (fflush(stdout) || ferror(stdout)) {
		say("cannot write the output");
		return code ? code : EXIT_FAILED;
	}
	return code;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct options options;

	if (!parse_options(argc, argv, command->options, &options))
		return EXIT_BAD_USE;
	if (options.help) {
		fputs(command->help, stdout);
		return EXIT_DONE;
	}
	return command->run(&options);
}

int main(int argc, char **argv)
{
	opterr = 0;
	if (argc < 2) {
		say("no command given: use run, set, group, model, show, check, encode or decode (see bwctl --help)");
		return EXIT_BAD_USE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		fputs(usage, stdout);
		return end(EXIT_DONE);
	}
	if (!strcmp(argv[1], "--version")) {
		puts("bwctl " BWCTL_VERSION);
		return end(EXIT_DONE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, argv[1]))
			return end(run_command(&commands[i], argc - 1, argv + 1));
	say("unknown command '%s': use run, set, group, model, show, check, encode or decode (see bwctl --help)", argv[1]);
	return EXIT_BAD_USE;
}
