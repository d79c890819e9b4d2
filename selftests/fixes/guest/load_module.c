// SPDX-License-Identifier: GPL-2.0
/*
 * load_module FILE [PARAMETERS]: loads a module that does its work while it is loaded
 * and then ends with ECANCELED. Anything else is an error.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *parameters = argc == 3 ? argv[2] : "";
	int fd;

	if (argc != 2 && argc != 3)
		errx(2, "usage: load_module FILE [PARAMETERS]");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	if (!syscall(SYS_finit_module, fd, parameters, 0))
		errx(1, "%s stays", argv[1]);
	if (errno != ECANCELED)
		err(1, "%s %s", argv[1], parameters);
	return 0;
}
