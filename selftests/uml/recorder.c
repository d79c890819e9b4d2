// SPDX-License-Identifier: GPL-2.0
/*
 * A video recorder on a file system that is mounted: cameras that append frames and
 * sync them, players, a copy, a reader and a database, each a process of its own.
 *
 *	recorder DIR prepare KEY=N ...		makes the files that are read
 *	recorder DIR run KEY=N ...		runs them, prints one line of JSON
 *
 * A frame is due at each period of its camera. Who writes is late when the file
 * system keeps it waiting; a frame that is found more than @buffer_ms after it was due
 * has had no place in the camera's buffer, and is lost.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "chance.h"
#include "init.h"

#define NSEC_PER_MSEC	1000000ULL
#define CHUNK		(1 << 20)
#define MAX_PROCESSES	256
/* Beyond what memory holds, so that a second turn is from the disk again. */
#define BIG_BYTES	(3LL << 30)
#define DATABASE_BYTES	(256LL << 20)
#define RECORD		4096
/* A player's data is late after that. */
#define PLAYER_LATE	(200 * NSEC_PER_MSEC)

static struct {
	const char *name;
	long long value;
} settings[] = {
	{ "secs", 60 }, { "cameras", 16 }, { "frame_bytes", 20000 },
	{ "frame_ms", 40 }, { "sync_ms", 2000 }, { "buffer_ms", 4000 },
	{ "copy", 1 }, { "reader", 1 }, { "players", 2 }, { "database", 0 },
};

/* What a process has to say; in memory that all share. */
struct outcome {
	long long frames, lost, late, bytes, syncs;
	uint64_t longest_sync_ns;
};

static struct outcome *outcomes;
static char chunk[CHUNK];
static uint64_t start_ns;

static long long setting(const char *name)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (!strcmp(settings[i].name, name))
			return settings[i].value;
	errx(2, "no setting %s", name);
}

static void set(const char *text)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		size_t length = strlen(settings[i].name);
		char *end;

		if (strncmp(text, settings[i].name, length) || text[length] != '=')
			continue;
		settings[i].value = strtoll(text + length + 1, &end, 10);
		if (*end || end == text + length + 1 || settings[i].value < 0)
			errx(2, "%s: not a number", text);
		return;
	}
	errx(2, "%s: no such setting", text);
}

static uint64_t end_ns(void)
{
	return start_ns + setting("secs") * NSEC_PER_SEC;
}

static int open_file(const char *kind, int number, int flags)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s%d", kind, number);
	fd = open(name, flags, 0644);
	if (fd < 0)
		err(1, "%s", name);
	return fd;
}

static void put(int fd, long long bytes)
{
	while (bytes) {
		ssize_t done = write(fd, chunk, bytes < CHUNK ? bytes : CHUNK);

		if (done <= 0)
			err(1, "write");
		bytes -= done;
	}
}

/* The next bytes of a file; behind its end, the first ones. Returns how many. */
static long long get(int fd, long long bytes)
{
	ssize_t done = read(fd, chunk, bytes);

	if (done < 0)
		err(1, "read");
	if (!done && lseek(fd, 0, SEEK_SET) < 0)
		err(1, "lseek");
	return done;
}

static void sync_file(int fd, struct outcome *out)
{
	uint64_t began = now_ns(), took;

	if (fdatasync(fd))
		err(1, "fdatasync");
	took = now_ns() - began;
	out->syncs++;
	if (took > out->longest_sync_ns)
		out->longest_sync_ns = took;
}

/* Phases of processes of a kind: neither together nor in step. */
static uint64_t phase_ns(int number, uint64_t period_ns)
{
	return number * 618ULL % 1000 * period_ns / 1000;
}

static void camera(int number, struct outcome *out)
{
	uint64_t frame_ns = setting("frame_ms") * NSEC_PER_MSEC, due;
	long long since = 0;
	int fd = open_file("camera", number, O_WRONLY | O_CREAT | O_TRUNC);

	due = start_ns + phase_ns(number, setting("sync_ms") * NSEC_PER_MSEC);
	for (; due < end_ns(); due += frame_ns) {
		sleep_until(due);
		out->frames++;
		if (now_ns() - due > setting("buffer_ms") * NSEC_PER_MSEC) {
			out->lost++;
			continue;
		}
		put(fd, setting("frame_bytes"));
		out->bytes += setting("frame_bytes");
		since += setting("frame_ms");
		if (since < setting("sync_ms"))
			continue;
		since = 0;
		sync_file(fd, out);
	}
}

static void player(int number, struct outcome *out)
{
	uint64_t frame_ns = setting("frame_ms") * NSEC_PER_MSEC, due;
	int fd = open_file("film", number, O_RDONLY);

	due = start_ns + phase_ns(number, frame_ns);
	for (; due < end_ns(); due += frame_ns) {
		sleep_until(due);
		out->bytes += get(fd, setting("frame_bytes"));
		out->frames++;
		out->late += now_ns() - due > PLAYER_LATE;
	}
}

static void copy(int number, struct outcome *out)
{
	int from = open_file("source", number, O_RDONLY);
	int to = open_file("copied", number, O_WRONLY | O_CREAT | O_TRUNC);

	while (now_ns() < end_ns()) {
		long long bytes = get(from, CHUNK);

		put(to, bytes);
		out->bytes += bytes;
	}
}

static void reader(int number, struct outcome *out)
{
	int fd = open_file("big", number, O_RDONLY);

	while (now_ns() < end_ns())
		out->bytes += get(fd, CHUNK);
}

/* Commits: a record changes somewhere and is synced, one after the other. */
static void database(int number, struct outcome *out)
{
	int fd = open_file("table", number, O_RDWR);
	uint64_t state = 1;

	while (now_ns() < end_ns()) {
		off_t at = draw_below(&state, DATABASE_BYTES / RECORD) * RECORD;

		if (pwrite(fd, chunk, RECORD, at) != RECORD)
			err(1, "pwrite");
		sync_file(fd, out);
	}
}

static const struct kind {
	const char *name;
	void (*run)(int number, struct outcome *out);
} kinds[] = {
	{ "cameras", camera }, { "players", player }, { "copy", copy },
	{ "reader", reader }, { "database", database },
};

#define NR_KINDS	(sizeof(kinds) / sizeof(*kinds))

static void prepare_files(const char *kind, long long count, long long bytes)
{
	for (int i = 0; i < count; i++) {
		int fd = open_file(kind, i, O_WRONLY | O_CREAT | O_TRUNC);

		put(fd, bytes);
		if (fsync(fd) || close(fd))
			err(1, "%s%d", kind, i);
	}
}

static void prepare(void)
{
	long long film = setting("secs") * 1000 / setting("frame_ms") *
			 setting("frame_bytes") + CHUNK;

	prepare_files("source", setting("copy"), BIG_BYTES);
	prepare_files("film", setting("players"), film);
	prepare_files("table", setting("database"), DATABASE_BYTES);
	prepare_files("big", setting("reader"), BIG_BYTES);
}

static void start(const struct kind *kind, int number, struct outcome *out)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return;
	sleep_until(start_ns);
	kind->run(number, out);
	/* What it has not written yet is nobody's concern any more. */
	_exit(0);
}

static void print_kind(const struct kind *kind, const struct outcome *of, int count)
{
	struct outcome sum = {};

	for (int i = 0; i < count; i++) {
		sum.frames += of[i].frames;
		sum.lost += of[i].lost;
		sum.late += of[i].late;
		sum.bytes += of[i].bytes;
		sum.syncs += of[i].syncs;
		if (of[i].longest_sync_ns > sum.longest_sync_ns)
			sum.longest_sync_ns = of[i].longest_sync_ns;
	}
	printf("\"%s\": {\"processes\": %d, \"frames\": %lld, \"lost\": %lld, \"late\": %lld, "
	       "\"bytes\": %lld, \"syncs\": %lld, \"longest_sync_ms\": %llu}",
	       kind->name, count, sum.frames, sum.lost, sum.late, sum.bytes, sum.syncs,
	       sum.longest_sync_ns / NSEC_PER_MSEC);
}

static void run(void)
{
	int first[NR_KINDS + 1] = {}, status;
	bool failed = false;

	for (size_t k = 0; k < NR_KINDS; k++)
		first[k + 1] = first[k] + setting(kinds[k].name);
	if (first[NR_KINDS] > MAX_PROCESSES)
		errx(2, "more than %d processes", MAX_PROCESSES);
	start_ns = now_ns() + NSEC_PER_SEC;
	for (size_t k = 0; k < NR_KINDS; k++)
		for (int i = first[k]; i < first[k + 1]; i++)
			start(&kinds[k], i - first[k], &outcomes[i]);
	while (wait(&status) > 0)
		failed |= status != 0;
	if (failed)
		errx(1, "a process failed");
	printf("{\"secs\": %lld", setting("secs"));
	for (size_t k = 0; k < NR_KINDS; k++) {
		printf(", ");
		print_kind(&kinds[k], &outcomes[first[k]], first[k + 1] - first[k]);
	}
	printf("}\n");
}

int main(int argc, char **argv)
{
	if (argc < 3 || (strcmp(argv[2], "prepare") && strcmp(argv[2], "run")))
		errx(2, "usage: recorder DIR prepare|run KEY=N ...");
	for (int i = 3; i < argc; i++)
		set(argv[i]);
	if (chdir(argv[1]))
		err(1, "%s", argv[1]);
	outcomes = mmap(NULL, MAX_PROCESSES * sizeof(*outcomes), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcomes == MAP_FAILED)
		err(1, "mmap");
	if (strcmp(argv[2], "prepare"))
		run();
	else
		prepare();
	return 0;
}
