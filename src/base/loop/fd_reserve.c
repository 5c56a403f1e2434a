/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "base/loop/fd_reserve.h"

static int reserve_first = INT_MAX;
static size_t idle_most = SIZE_MAX;

void
fd_reserve_set(int first, size_t most)
{
	reserve_first = first;
	idle_most = most;
}

bool
fd_reserve_has(int fd)
{
	return fd >= reserve_first;
}

int
fd_reserve_move(int fd)
{
	if (reserve_first == INT_MAX || fd_reserve_has(fd))
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, reserve_first);
	close(fd);
	return moved;
}

size_t
fd_reserve_idle(size_t wanted)
{
	return wanted < idle_most ? wanted : idle_most;
}
