/* SPDX-License-Identifier: GPL-2.0 */
/* An archive that is written in records, as tapes want them and tar does. */
#ifndef SWEEP_STREAM_H
#define SWEEP_STREAM_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct stream - what is written
 * @fd: where to
 * @buffer: of @size bytes, @used of which wait to be written
 * @error: the errno of a write that failed; all that follows fails too
 */
struct stream {
	int fd;
	char *buffer;
	size_t size;
	size_t used;
	int error;
};

void stream_begin(struct stream *stream, int fd);

/* Room for at least a byte, into which the next ones are read; NULL: a write failed. */
char *stream_room(struct stream *stream, size_t *room);

/* So many bytes were put into the room. */
void stream_took(struct stream *stream, size_t count);

bool stream_put(struct stream *stream, const void *bytes, size_t count);

/* Write all of it, with zeros to the end of a record.  Frees the buffer. */
bool stream_end(struct stream *stream);

#endif
