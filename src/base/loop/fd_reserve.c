/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <unistd.h>

#include "base/loop/fd_reserve.h"

struct fd_reserve fd_reserve = {.first = INT_MAX, .idle_most = SIZE_MAX};

int
fd_reserve_move(int fd)
{
	if (fd_reserve.first == INT_MAX || fd >= fd_reserve.first)
		return fd;
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, fd_reserve.first);
	close(fd);
	return moved;
}
