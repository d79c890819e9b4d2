// SPDX-License-Identifier: GPL-2.0
/* An archive that is written in records, as tapes want them and tar does. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program.h"
#include "stream.h"

#define RECORD 10240
/* What fits into a pipe; to a tape, where a write is a record, one at a time. */
#define RECORDS 6

void stream_begin(struct stream *stream, int fd)
{
	struct stat status;
	bool is_tape = fstat(fd, &status) || S_ISCHR(status.st_mode);

	*stream = (struct stream){ .fd = fd, .size = is_tape ? RECORD : RECORD * RECORDS };
	stream->buffer = need(malloc(stream->size));
}

static bool flush(struct stream *stream)
{
	size_t at = 0;
	ssize_t done;

	while (at < stream->used && !stream->error) {
		done = write(stream->fd, stream->buffer + at, stream->used - at);
		if (done >= 0)
			at += (size_t)done;
		else if (errno != EINTR)
			stream->error = errno;
	}
	stream->used = 0;
	return !stream->error;
}

char *stream_room(struct stream *stream, size_t *room)
{
	if (stream->error || (stream->used == stream->size && !flush(stream)))
		return NULL;
	*room = stream->size - stream->used;
	return stream->buffer + stream->used;
}

void stream_took(struct stream *stream, size_t count)
{
	stream->used += count;
}

bool stream_put(struct stream *stream, const void *bytes, size_t count)
{
	const char *from = bytes;
	size_t room;
	char *to;

	for (; count; from += room, count -= room) {
		to = stream_room(stream, &room);
		if (!to)
			return false;
		if (room > count)
			room = count;
		memcpy(to, from, room);
		stream_took(stream, room);
	}
	return !stream->error;
}

bool stream_end(struct stream *stream)
{
	size_t more = (RECORD - stream->used % RECORD) % RECORD;
	bool good;

	memset(stream->buffer + stream->used, 0, more);
	stream->used += more;
	good = flush(stream) && !stream->error;
	free(stream->buffer);
	return good;
}
