/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "base/loop/reserve.h"

static int reserve_first = INT_MAX;
static size_t idle_most = SIZE_MAX;

void
reserve_set(int first, size_t most)
{
	reserve_first = first;
	idle_most = most;
}

bool
reserve_has(int fd)
{
	return fd >= reserve_first;
}

int
reserve_move(int fd)
{
	if (reserve_first == INT_MAX || reserve_has(fd))
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, reserve_first);
	close(fd);
	return moved;
}

size_t
reserve_idle(size_t wanted)
{
	return wanted < idle_most ? wanted : idle_most;
}
