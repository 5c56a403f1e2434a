/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop/log_sink.h"

static struct {
	int fd;
	size_t most; /* per write; a pipe takes PIPE_BUF or nothing */
	bool socket;
} sink = {.fd = STDERR_FILENO, .most = SIZE_MAX};

/*
 * The buffer whose line is half written, so that no other may write; or NULL.
 */
static _Atomic(const void *) torn_by;

void
log_sink_open(void)
{
	struct stat is;
	if (fstat(STDERR_FILENO, &is) != 0 || S_ISREG(is.st_mode))
		return;
	sink.most = PIPE_BUF;
	sink.socket = S_ISSOCK(is.st_mode);
	if (sink.socket)
		return;
	int again = open("/proc/self/fd/2",
	    O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again >= 0)
		sink.fd = again;
}

static ssize_t
write_once(const char *bytes, size_t len)
{
	ssize_t n;
	do
		n = sink.socket ? send(sink.fd, bytes, len,
				      MSG_DONTWAIT | MSG_NOSIGNAL)
				: write(sink.fd, bytes, len);
	while (n < 0 && errno == EINTR);
	return n;
}

/* The bytes for one write: whole lines, or a part of one long line. */
static size_t
portion(const char *lines, size_t len)
{
	if (len <= sink.most)
		return len;
	const char *end = memrchr(lines, '\n', sink.most);
	return end != NULL ? (size_t)(end - lines) + 1 : sink.most;
}

size_t
log_sink_write(const void *self, const char *lines, size_t len)
{
	const void *torn = atomic_load(&torn_by);
	if (torn != NULL && torn != self)
		return 0;
	size_t done = 0;
	while (done < len) {
		size_t part = portion(lines + done, len - done);
		ssize_t n = write_once(lines + done, part);
		if (n < 0 && errno == EAGAIN)
			break;
		done += n < 0 ? part : (size_t)n;
	}
	if (done > 0)
		atomic_store(
		    &torn_by, lines[done - 1] == '\n' ? NULL : self);
	return done;
}

void
log_sink_wait(int ms)
{
	struct pollfd fd = {sink.fd, POLLOUT, 0};
	(void)poll(&fd, 1, ms);
}

void
log_sink_leave(const void *self)
{
	const void *torn = self;
	(void)atomic_compare_exchange_strong(&torn_by, &torn, NULL);
}
