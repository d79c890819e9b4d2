// SPDX-License-Identifier: GPL-2.0
/*
 * bwctl - reserve disk bandwidth: the ionice of the bandwidth class
 *
 * This file knows the commands and their help; command_*.c do the work.
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
	"  --rate RATE      bytes a second: 3M and 3MiB (binary), 3MB, 24Mbit; rounded up\n" \
	"                   to a multiple of 128 KiB/s\n" \
	"  --delay TIME     how long a request may take: 200ms, 0.2s; rounded down to an\n" \
	"                   entry of the table of delays (25 50 100 200 500 800 1000 2000 ms)\n" \
	"  --device DEV     take the table of delays of this device\n" \
	"  --quiet          do not say what was rounded\n"

#define HELP_HELP "  --help           show this text\n"
#define JSON_HELP "  --json           write JSON\n"

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
	  "Run a command with a reservation, which its children inherit, or in a control group\n"
	  "that has one.\n\n"
	  REQUEST_HELP
	  "  --group GROUP    in this control group, with what it has reserved (bwctl group)\n"
	  HELP_HELP },
	{ "set", REQUEST_OPTIONS | OPTION_NONE | OPTION_THREAD, command_set,
	  "usage: bwctl set --rate RATE --delay TIME [--device DEV] [--thread] [--quiet] PID...\n"
	  "       bwctl set --none [--thread] PID...\n"
	  "Give each thread of the processes a reservation, or take it from them.\n\n"
	  REQUEST_HELP
	  "  --none           back to class none\n"
	  "  --thread         the numbers are of threads: only these\n"
	  HELP_HELP },
	{ "group", OPTION_RATE | OPTION_DELAY | OPTION_STREAMS | OPTION_NONE | OPTION_QUIET | OPTION_JSON, command_group,
	  "usage: bwctl group --rate RATE --delay TIME [--streams N] [--quiet] GROUP DEV\n"
	  "       bwctl group --none GROUP DEV\n"
	  "       bwctl group [--json] GROUP\n"
	  "Reserve for a control group on a device, for all that it reads and writes; take that\n"
	  "from it; or show what it has, and how it fares. GROUP: a path in /sys/fs/cgroup, or a\n"
	  "name that is there once (recorder.service, recorder). DEV: sda, /dev/sda, a partition,\n"
	  "or a file or folder on it.\n\n"
	  "  --rate RATE      bytes a second: 3M and 3MiB (binary), 3MB, 24Mbit\n"
	  "  --delay TIME     how long a request may take: 200ms, 0.2s\n"
	  "  --streams N      how many files are read or written at the same time; what the\n"
	  "                   model of the device is asked about (bwctl model)\n"
	  "  --none           no reservation any more\n"
	  "  --quiet          do not say that the device has another scheduler\n"
	  JSON_HELP HELP_HELP },
	{ "model", MODEL_OPTIONS | OPTION_NONE | OPTION_JSON, command_model,
	  "usage: bwctl model --rate RATE --seek TIME [--share PERCENT] DEV\n"
	  "       bwctl model --measure [--share PERCENT] DEV\n"
	  "       bwctl model --none DEV\n"
	  "       bwctl model [--json] DEV\n"
	  "Say what a disk can do, so that control groups cannot reserve more of it than there\n"
	  "is; take that back; or show it, what each group takes of it, and what is left. DEV:\n"
	  "sda, /dev/sda, a partition, or a file or folder on it.\n\n"
	  "  --rate RATE      bytes a second where the disk is slowest: 52MB\n"
	  "  --seek TIME      from one stream to the next, if many wait: half an average seek\n"
	  "                   and half a revolution, 8.5ms\n"
	  "  --measure        read the disk for about four seconds, and take what comes out\n"
	  "  --share PERCENT  how much of its time may be reserved (default 85)\n"
	  "  --none           nothing is refused any more\n"
	  JSON_HELP HELP_HELP },
	{ "show", OPTION_JSON, command_show,
	  "usage: bwctl show [--json] [PID|DEV]\n"
	  "Show class, rate, delay, tokens and missed deadlines: of a process, of a device, or\n"
	  "of all processes with a reservation and all devices with cfq.\n\n"
	  JSON_HELP HELP_HELP },
	{ "check", OPTION_JSON, command_check,
	  "usage: bwctl check [--json] DEV\n"
	  "Check whether kernel, device and scheduler honour the class, and say what to do if\n"
	  "they do not. DEV: sda, /dev/sda, a partition, or a file or folder on it.\n\n"
	  JSON_HELP HELP_HELP },
	{ "encode", REQUEST_OPTIONS | OPTION_JSON, command_encode,
	  "usage: bwctl encode --rate RATE --delay TIME [--device DEV] [--quiet] [--json]\n"
	  "Print the priority as a number, for io_uring, aio and ioprio_set(2).\n\n"
	  REQUEST_HELP JSON_HELP HELP_HELP },
	{ "decode", OPTION_JSON, command_decode,
	  "usage: bwctl decode [--json] NUMBER...\n"
	  "Say what a priority means; delays by the default table.\n\n"
	  JSON_HELP HELP_HELP },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const char usage[] =
	"usage: bwctl COMMAND [OPTION...] [ARGUMENT...]\n"
	"Reserve disk bandwidth with cfq's bandwidth class.\n\n"
	"  run     run a command with a reservation\n"
	"  set     give processes a reservation, or take it from them\n"
	"  group   reserve for a control group, or show what it has\n"
	"  model   say what a disk can do, or show what is left of it\n"
	"  show    show processes and devices with reservations\n"
	"  check   check whether a device honours the class\n"
	"  encode  print a reservation as an I/O priority\n"
	"  decode  say what an I/O priority means\n\n"
	"Example: bwctl run --rate 3M --delay 200ms -- mpv /srv/film.mkv\n"
	"Each command has --help; see bwctl(8).\n";

/* Output that was not written is a failure, as on a full disk. */
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
		say("the command is missing: run, set, group, model, show, check, encode or decode (see bwctl --help)");
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
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i].name, argv[1]))
			return end(run_command(&commands[i], argc - 1, argv + 1));
	say("'%s' is no command: run, set, group, model, show, check, encode or decode (see bwctl --help)", argv[1]);
	return EXIT_BAD_USE;
}
