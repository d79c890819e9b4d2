// SPDX-License-Identifier: GPL-2.0
/* bwctl show: collect the data of processes and devices. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "view.h"

/* --- processes ------------------------------------------------------------- */

/* Add a thread, unless it has ended meanwhile. */
static void add_thread(struct process *process, pid_t tid)
{
	int ioprio = thread_get_ioprio(tid);

	if (ioprio < 0)
		return;
	process->threads = grow(process->threads, process->count + 1, sizeof(*process->threads));
	process->threads[process->count++] = (struct thread){ tid, ioprio };
}

/* Returns 0, or -errno if there is no such process. */
static int gather_process(pid_t pid, struct process *process)
{
	struct id_list threads;
	int error = list_threads(pid, &threads);

	memset(process, 0, sizeof(*process));
	process->pid = pid;
	for (size_t i = 0; i < threads.count; i++)
		add_thread(process, threads.ids[i]);
	free(threads.ids);
	if (!error && !process->count)
		error = -ESRCH;
	process_command(pid, process->command);
	return error;
}

static bool has_reservation(const struct process *process)
{
	for (size_t i = 0; i < process->count; i++)
		if (IOPRIO_PRIO_CLASS(process->threads[i].ioprio) == IOPRIO_CLASS_BW)
			return true;
	return false;
}

static void add_process(struct view *view, const struct process *process)
{
	view->processes = grow(view->processes, view->nr_processes + 1, sizeof(*view->processes));
	view->processes[view->nr_processes++] = *process;
}

static int gather_all_processes(struct view *view)
{
	struct process process;
	struct id_list pids;
	int error = list_processes(&pids);

	for (size_t i = 0; i < pids.count; i++) {
		if (!gather_process(pids.ids[i], &process) && has_reservation(&process))
			add_process(view, &process);
		else
			free(process.threads);
	}
	free(pids.ids);
	return error;
}

/* --- devices --------------------------------------------------------------- */

/* Keep only the first message about missing data: one line is enough. */
static void note_missing(struct view *view, const struct device *device)
{
	char path[PATH_SIZE], *why;
	size_t damaged = device->reservations.damaged + device->counters.damaged;
	int error = device->reservations.error;

	if (view->missing[0] || (!error && !damaged))
		return;
	reservations_path(device->name, path);
	if (!error) {
		put_text(view->missing, LINE_SIZE, "%zu lines of %s and counters cannot be parsed and are left out",
			 damaged, path);
		return;
	}
	if (error == -EACCES || error == -EPERM)
		why = "; run as root";
	else if (error == -ENOENT && access(debugfs_root(), F_OK))
		why = "; debugfs is required";
	else if (error == -ENOENT)
		why = "; mount debugfs (mount -t debugfs none /sys/kernel/debug); the kernel must have CONFIG_BLK_DEBUG_FS and the class";
	else
		why = "";
	put_text(view->missing, LINE_SIZE, "tokens and missed deadlines are not shown: %s: %s%s", path,
		 strerror(-error), why);
}

static void read_tunable(const struct device *device, const char *file, char text[TUNABLE_SIZE])
{
	if (disk_read(device->name, file, text, TUNABLE_SIZE) < 0)
		text[0] = '\0';
	make_printable(text);
}

static void gather_device(struct view *view, const char *name)
{
	struct device *device;
	uint64_t rotational;

	view->devices = grow(view->devices, view->nr_devices + 1, sizeof(*view->devices));
	device = &view->devices[view->nr_devices++];
	memset(device, 0, sizeof(*device));
	put_text(device->name, sizeof(device->name), "%s", name);
	if (disk_scheduler(name, device->scheduler, sizeof(device->scheduler)))
		put_text(device->scheduler, sizeof(device->scheduler), "unknown");
	device->cfq = !strcmp(device->scheduler, "cfq");
	device->rotational = disk_read_number(name, "queue/rotational", &rotational) ?
			     rotational != 0 : -1;
	if (!device->cfq)
		return;
	device->has_delays = !disk_delays_ms(name, device->delays_ms);
	read_tunable(device, "queue/iosched/bw_bucket_ms", device->bucket_ms);
	read_tunable(device, "queue/iosched/bw_seek_kb", device->seek_kb);
	read_tunable(device, "queue/iosched/bw_share_percent", device->share_percent);
	read_tunable(device, "queue/iosched/bw_depth", device->depth);
	read_reservations(name, &device->reservations);
	read_counters(name, &device->counters);
	note_missing(view, device);
}

static void gather_devices(struct view *view, const struct disk_list *disks)
{
	for (size_t i = 0; i < disks->count; i++)
		gather_device(view, disks->names[i]);
}

static void gather_cfq_devices(struct view *view)
{
	struct disk_list disks = { 0 };

	disks_with_cfq(&disks);
	gather_devices(view, &disks);
	disk_list_free(&disks);
}

/* --- selection ------------------------------------------------------- */

static bool is_thread_of(const struct process *process, int64_t pid)
{
	for (size_t i = 0; i < process->count; i++)
		if (process->threads[i].tid == pid)
			return true;
	return false;
}

/* Keep only the reservations of the process, and the devices that have any. */
static void keep_only(struct view *view, const struct process *process)
{
	size_t devices = 0;

	for (size_t i = 0; i < view->nr_devices; i++) {
		struct device *device = &view->devices[i];
		struct reservations *all = &device->reservations;
		size_t kept = 0;

		for (size_t j = 0; j < all->count; j++)
			if (is_thread_of(process, all->entries[j].pid))
				all->entries[kept++] = all->entries[j];
		all->count = kept;
		if (kept) {
			view->devices[devices++] = *device;
		} else {
			free(all->entries);
			free(device->counters.entries);
		}
	}
	view->nr_devices = devices;
}

static int show_process(struct view *view, pid_t pid)
{
	struct process process;
	int error = gather_process(pid, &process);

	if (error) {
		free(process.threads);
		say("process %d: %s", (int)pid,
		    error == -ESRCH ? "no such process" : strerror(-error));
		return EXIT_FAILED;
	}
	view->each_thread = true;
	add_process(view, &process);
	gather_cfq_devices(view);
	keep_only(view, &process);
	return EXIT_DONE;
}

static int show_device(struct view *view, const char *text)
{
	struct disk_list disks = { 0 };
	char name[DISK_NAME], why[LINE_SIZE];

	if (disk_find(text, name, why)) {
		say("show: %s", why);
		return EXIT_FAILED;
	}
	disk_bottoms(name, &disks);
	gather_devices(view, &disks);
	disk_list_free(&disks);
	return EXIT_DONE;
}

static int show_all(struct view *view)
{
	int error = gather_all_processes(view);

	if (error) {
		say("show: %s: %s", proc_root(), strerror(-error));
		return EXIT_FAILED;
	}
	gather_cfq_devices(view);
	return EXIT_DONE;
}

static void free_view(struct view *view)
{
	for (size_t i = 0; i < view->nr_processes; i++)
		free(view->processes[i].threads);
	for (size_t i = 0; i < view->nr_devices; i++) {
		free(view->devices[i].reservations.entries);
		free(view->devices[i].counters.entries);
	}
	free(view->processes);
	free(view->devices);
}

int command_show(const struct options *options)
{
	const char *what = options->nr_operands ? options->operands[0] : NULL;
	char other[DISK_NAME];
	struct view view = { 0 };
	uint64_t pid;
	int code;

	if (options->nr_operands > 1) {
		say("show: unexpected argument '%s': give one PID or one device", options->operands[1]);
		return EXIT_BAD_USE;
	}
	view.has_common = !common_delays_ms(view.common_ms, other);
	if (!what)
		code = show_all(&view);
	else if (parse_decimal(what, INT_MAX, &pid))
		code = show_process(&view, (pid_t)pid);
	else
		code = show_device(&view, what);
	if (!code && options->json)
		print_view_json(&view);
	else if (!code)
		print_view(&view);
	if (!code && view.missing[0])
		say("%s", view.missing);
	free_view(&view);
	return code;
}
