// SPDX-License-Identifier: GPL-2.0
/* Control groups that are created, reserve bandwidth, get workers and are removed. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <sys/stat.h>

#include "soak.h"

/* A control group; each time that it is created it has another ID. */
struct group {
	char path[64];
	uint64_t id;			/* 0: it does not exist */
};

static struct group groups[MAX_GROUPS];	/* only the director uses them */

void set_up_groups(void)
{
	if (!job.nr_groups)
		return;
	must_mount("cgroup2", CGROUPS, NULL);
	write_file(CGROUPS "/cgroup.subtree_control", "+io +memory");
	/* a tenth of the default, so that pages are written back before their group is removed */
	write_file("/proc/sys/vm/dirty_expire_centisecs", "300");
	for (unsigned int i = 0; i < job.nr_groups; i++)
		snprintf(groups[i].path, sizeof(groups[i].path), CGROUPS "/group%u", i);
}

/* Returns the index of a group that exists, or -1, the root, for half of all workers. */
int draw_group(uint64_t *state)
{
	unsigned int i;

	if (!job.nr_groups || chance(state, 50))
		return -1;
	i = draw_below(state, job.nr_groups);
	return groups[i].id ? (int)i : -1;
}

/* @group: index of the group; -1: the root */
void move_worker(struct disk *d, struct slot *s, int group)
{
	const char *folder = group < 0 ? CGROUPS : groups[group].path;
	char path[PATH_MAX], pid[16];
	int ret;

	s->group = group;
	log_event(d, "move pid %d %s", s->pid, folder);
	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	snprintf(pid, sizeof(pid), "%d", s->pid);
	ret = try_write_file(path, pid);
	/* the worker may have ended by itself */
	if (ret && ret != ESRCH)
		fail("write '%s' to %s: %s", pid, path, strerror(ret));
}

static void set_line(uint64_t *state, const struct group *g, const struct disk *d)
{
	const char *line = job.lines.choices[draw_below(state, job.lines.nr)];
	char path[PATH_MAX], text[256];

	log_event(d, "line %" PRIu64 " %s", g->id, line);
	snprintf(path, sizeof(path), "%s/io.bw", g->path);
	snprintf(text, sizeof(text), "%s %s", d->dev, line);
	write_file(path, text);
}

static void make_group(uint64_t *state, struct group *g)
{
	struct stat st;

	if (mkdir(g->path, 0755) || stat(g->path, &st))
		fail("%s: %s", g->path, strerror(errno));
	g->id = st.st_ino;
	log_event(&shared->disks[0], "group %" PRIu64 " made", g->id);
	for (unsigned int i = 0; i < job.nr_disks; i++)
		if (chance(state, 70))
			set_line(state, g, &shared->disks[i]);
}

void make_missing_groups(uint64_t *state)
{
	for (unsigned int i = 0; i < job.nr_groups; i++)
		if (!groups[i].id && chance(state, 80))
			make_group(state, &groups[i]);
}

/* Moves its workers to the root. */
static void remove_group(struct group *g)
{
	for (unsigned int i = 0; i < job.nr_disks * job.slots; i++) {
		struct disk *d = &shared->disks[i / job.slots];
		struct slot *s = &d->slots[i % job.slots];

		if (s->pid && s->group == g - groups)
			move_worker(d, s, -1);
	}
	log_event(&shared->disks[0], "group %" PRIu64 " removed", g->id);
	if (rmdir(g->path))
		fail("rmdir %s: %s", g->path, strerror(errno));
	g->id = 0;
}

void change_group(uint64_t *state, struct disk *d, struct slot *s)
{
	struct group *g = &groups[draw_below(state, job.nr_groups)];
	unsigned int dice = draw_below(state, 100);

	if (!g->id)
		make_group(state, g);
	else if (dice < 10)
		remove_group(g);
	else if (dice < 50 && s)
		move_worker(d, s, draw_group(state));
	else
		set_line(state, g, d);
}

/* Removes all groups, and logs how many the kernel still has once their pages are written and freed. */
void log_dying_groups(void)
{
	char text[512];
	const char *found;

	for (unsigned int i = 0; i < job.nr_groups; i++)
		if (groups[i].id)
			remove_group(&groups[i]);
	write_file("/proc/sys/vm/drop_caches", "3");
	sleep_until(now_ns() + QUIET_NS);
	read_file(CGROUPS "/cgroup.stat", text, sizeof(text));
	found = strstr(text, "nr_dying_descendants ");
	if (!found)
		fail("no nr_dying_descendants: '%s'", text);
	log_event(&shared->disks[0], "slab groups %d", atoi(strchr(found, ' ')));
}
