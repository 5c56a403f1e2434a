/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time of day as Redis asks for it, and so many seconds more as the file
 * CLOCK says; to be preloaded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

int
gettimeofday(struct timeval *now, void *zone)
{
	long step = 0;
	FILE *file = fopen(getenv("CLOCK"), "r");
	if (file == NULL || fscanf(file, "%ld", &step) != 1 ||
	    fclose(file) != 0)
		abort();
	long error = syscall(SYS_gettimeofday, now, zone);
	now->tv_sec += step;
	return (int)error;
}
