// SPDX-License-Identifier: GPL-2.0
/* Print the data that bwctl show has collected. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgroup.h"
#include "json.h"
#include "units.h"
#include "view.h"

/* --- text -------------------------------------------------------------------- */

/* "200 ms", or the delay level if the devices have different tables. */
static void format_delay(char text[AMOUNT_TEXT], const struct view *view, int ioprio)
{
	if (IOPRIO_PRIO_CLASS(ioprio) != IOPRIO_CLASS_BW)
		put_text(text, AMOUNT_TEXT, "-");
	else if (view->has_common)
		put_text(text, AMOUNT_TEXT, "%u ms", view->common_ms[IOPRIO_BW_DELAY(ioprio)]);
	else
		put_text(text, AMOUNT_TEXT, "level %d", IOPRIO_BW_DELAY(ioprio));
}

static void format_reserved(char text[AMOUNT_TEXT], int ioprio)
{
	if (IOPRIO_PRIO_CLASS(ioprio) == IOPRIO_CLASS_BW)
		format_rate(text, (uint64_t)IOPRIO_BW_RATE(ioprio) * IOPRIO_BW_RATE_UNIT);
	else
		put_text(text, AMOUNT_TEXT, "-");
}

static void print_process_row(const struct view *view, const struct process *process,
			      const char *threads, int ioprio)
{
	char rate[AMOUNT_TEXT], delay[AMOUNT_TEXT], command[COMMAND_SIZE];

	format_reserved(rate, ioprio);
	format_delay(delay, view, ioprio);
	strcpy(command, process->command);
	make_printable(command);
	printf("%8d  %-9s  %-7s  %14s  %8s  %s\n", (int)process->pid, threads,
	       ioprio_class_name(ioprio), rate, delay, command);
}

/* The number of threads with the priority of this one; 0 if an earlier thread has it too. */
static size_t count_like(const struct process *process, size_t index)
{
	size_t count = 0;

	for (size_t i = 0; i < process->count; i++) {
		if (process->threads[i].ioprio != process->threads[index].ioprio)
			continue;
		if (i < index)
			return 0;
		count++;
	}
	return count;
}

/* Print a line for each priority that threads of the process have. */
static void print_grouped(const struct view *view, const struct process *process)
{
	char threads[64];

	for (size_t i = 0; i < process->count; i++) {
		size_t count = count_like(process, i);

		if (!count)
			continue;
		if (count == process->count)
			put_text(threads, sizeof(threads), "all %zu", count);
		else
			put_text(threads, sizeof(threads), "%zu of %zu", count, process->count);
		print_process_row(view, process, threads, process->threads[i].ioprio);
	}
}

static void print_each_thread(const struct view *view, const struct process *process)
{
	char tid[16];

	for (size_t i = 0; i < process->count; i++) {
		put_text(tid, sizeof(tid), "%d", (int)process->threads[i].tid);
		print_process_row(view, process, tid, process->threads[i].ioprio);
	}
}

static void print_processes(const struct view *view)
{
	printf("%8s  %-9s  %-7s  %14s  %8s  %s\n", "PROCESS",
	       view->each_thread ? "THREAD" : "THREADS", "CLASS", "RATE", "DELAY", "COMMAND");
	for (size_t i = 0; i < view->nr_processes; i++) {
		if (view->each_thread)
			print_each_thread(view, &view->processes[i]);
		else
			print_grouped(view, &view->processes[i]);
	}
}

static void print_tunable(const char *name, const char *value, const char *unit)
{
	if (value[0])
		printf(", %s %s%s", name, value, unit);
}

static void print_device_head(const struct device *device)
{
	char delays[LINE_SIZE];

	printf("%s: %s%s", device->name, device->scheduler,
	       device->rotational < 0 ? "" : device->rotational ? ", rotating" : ", not rotating");
	if (device->has_delays) {
		format_delays(delays, device->delays_ms);
		printf(", delays %s ms", delays);
	}
	print_tunable("bucket", device->bucket_ms, " ms");
	print_tunable("seek", device->seek_kb, " KiB");
	print_tunable("share", device->share_percent, " %");
	print_tunable("depth", device->depth, "");
	if (!device->cfq)
		printf(", no reservations (bwctl check %s)", device->name);
	putchar('\n');
}

/* The part of the delay that 99 of 100 requests in time had left, at least. */
static void format_slack(char text[AMOUNT_TEXT], const struct reservation *entry)
{
	int64_t met = 0, above = 0;
	int part;

	for (part = 0; part < RESERVATION_NR_SLACK; part++)
		met += entry->slack[part];
	if (!met) {
		snprintf(text, AMOUNT_TEXT, "-");
		return;
	}
	for (part = RESERVATION_NR_SLACK - 1; part > 0; part--) {
		above += entry->slack[part];
		if (above >= met - met / 100)
			break;
	}
	snprintf(text, AMOUNT_TEXT, "%d %%", part * 100 / RESERVATION_NR_SLACK);
}

/* End the line, with the control group if that holds the reservation. */
static void print_group_of(const struct reservation *entry)
{
	char path[PATH_SIZE];

	if (!entry->cgroup) {
		putchar('\n');
		return;
	}
	if (!group_of_id((uint64_t)entry->cgroup, path))
		put_path(path, "%" PRId64 ", removed", entry->cgroup);
	make_printable(path);
	printf(" (group %s)\n", path);
}

static void print_reservation(const struct reservation *entry)
{
	char slack[AMOUNT_TEXT];
	char rate[AMOUNT_TEXT], tokens[AMOUNT_TEXT], in[AMOUNT_TEXT], over[AMOUNT_TEXT];
	char command[COMMAND_SIZE];

	format_rate(rate, (uint64_t)entry->rate);
	format_bytes(tokens, entry->tokens);
	format_bytes(in, entry->bytes_in);
	format_bytes(over, entry->bytes_over);
	format_slack(slack, entry);
	if (entry->pid)
		process_command((pid_t)entry->pid, command);
	else
		put_text(command, sizeof(command), "writeback");
	make_printable(command);
	printf("%8" PRId64 "  %14s  %5" PRId64 " ms  %11s  %11s  %11s  %8" PRId64 "  %8" PRId64 "  %5s  %s",
	       entry->pid, rate, entry->delay_ms, tokens, in, over, entry->met, entry->missed, slack,
	       command);
	print_group_of(entry);
}

static void print_device(const struct device *device)
{
	print_device_head(device);
	if (device->counters.count) {
		for (size_t i = 0; i < device->counters.count; i++)
			if (!strncmp(device->counters.entries[i].name, "bw_", 3))
				printf("  %s %" PRId64, device->counters.entries[i].name + 3,
				       device->counters.entries[i].value);
		putchar('\n');
	}
	if (!device->reservations.count)
		return;
	printf("%8s  %14s  %8s  %11s  %11s  %11s  %8s  %8s  %5s  %s\n", "THREAD", "RATE", "DELAY",
	       "TOKENS", "WITHIN", "OVER", "MET", "MISSED", "SLACK", "COMMAND");
	for (size_t i = 0; i < device->reservations.count; i++)
		print_reservation(&device->reservations.entries[i]);
}

void print_view(const struct view *view)
{
	if (view->nr_processes)
		print_processes(view);
	for (size_t i = 0; i < view->nr_devices; i++) {
		if (i || view->nr_processes)
			putchar('\n');
		print_device(&view->devices[i]);
	}
	if (!view->nr_processes && !view->nr_devices)
		puts("no process with a reservation, no device with cfq");
}

/* --- JSON ---------------------------------------------------------------------- */

static void json_thread(const struct view *view, const struct thread *thread)
{
	int ioprio = thread->ioprio;

	json_object(NULL);
	json_int("tid", thread->tid);
	json_int("ioprio", ioprio);
	json_string("class", ioprio_class_name(ioprio));
	if (IOPRIO_PRIO_CLASS(ioprio) == IOPRIO_CLASS_BW) {
		json_int("rate", (int64_t)IOPRIO_BW_RATE(ioprio) * IOPRIO_BW_RATE_UNIT);
		json_int("rate_units", IOPRIO_BW_RATE(ioprio));
		json_int("delay_level", IOPRIO_BW_DELAY(ioprio));
		if (view->has_common)
			json_int("delay_ms", view->common_ms[IOPRIO_BW_DELAY(ioprio)]);
		else
			json_null("delay_ms");
	}
	json_end_object();
}

static void json_process(const struct view *view, const struct process *process)
{
	json_object(NULL);
	json_int("pid", process->pid);
	json_string("command", process->command);
	json_array("threads");
	for (size_t i = 0; i < process->count; i++)
		json_thread(view, &process->threads[i]);
	json_end_array();
	json_end_object();
}

static void json_tunable(const char *key, const char *text)
{
	uint64_t value;

	if (parse_decimal(text, INT64_MAX, &value))
		json_int(key, (int64_t)value);
	else if (text[0])
		json_string(key, text);
	else
		json_null(key);
}

static void json_delays(const struct device *device)
{
	if (!device->has_delays) {
		json_null("delays_ms");
		return;
	}
	json_array("delays_ms");
	for (int i = 0; i < IOPRIO_BW_NR_DELAYS; i++)
		json_int(NULL, device->delays_ms[i]);
	json_end_array();
}

/* null: it could not be read; empty: there is none */
static void json_reservations(const struct device *device)
{
	const struct reservations *list = &device->reservations;

	if (!device->cfq || list->error) {
		json_null("reservations");
		return;
	}
	json_array("reservations");
	for (size_t i = 0; i < list->count; i++) {
		const struct reservation *entry = &list->entries[i];

		json_object(NULL);
		json_int("pid", entry->pid);
		if (entry->cgroup)
			json_int("cgroup", entry->cgroup);
		else
			json_null("cgroup");
		json_int("rate", entry->rate);
		json_int("delay_ms", entry->delay_ms);
		json_int("bucket", entry->bucket);
		json_int("tokens", entry->tokens);
		json_int("bytes_in", entry->bytes_in);
		json_int("bytes_over", entry->bytes_over);
		json_int("met", entry->met);
		json_int("missed", entry->missed);
		json_array("slack");
		for (int part = 0; part < RESERVATION_NR_SLACK; part++)
			json_int(NULL, entry->slack[part]);
		json_end_array();
		json_end_object();
	}
	json_end_array();
}

static void json_counters(const struct device *device)
{
	if (!device->cfq || device->counters.error) {
		json_null("counters");
		return;
	}
	json_object("counters");
	for (size_t i = 0; i < device->counters.count; i++)
		json_int(device->counters.entries[i].name, device->counters.entries[i].value);
	json_end_object();
}

static void json_device(const struct device *device)
{
	json_object(NULL);
	json_string("name", device->name);
	json_string("scheduler", device->scheduler);
	if (device->rotational < 0)
		json_null("rotational");
	else
		json_bool("rotational", device->rotational);
	json_delays(device);
	json_tunable("bucket_ms", device->bucket_ms);
	json_tunable("seek_kb", device->seek_kb);
	json_tunable("share_percent", device->share_percent);
	json_tunable("depth", device->depth);
	json_reservations(device);
	json_counters(device);
	json_end_object();
}

void print_view_json(const struct view *view)
{
	json_object(NULL);
	json_array("processes");
	for (size_t i = 0; i < view->nr_processes; i++)
		json_process(view, &view->processes[i]);
	json_end_array();
	json_array("devices");
	for (size_t i = 0; i < view->nr_devices; i++)
		json_device(&view->devices[i]);
	json_end_array();
	if (view->missing[0])
		json_string("missing", view->missing);
	else
		json_null("missing");
	json_end();
}
