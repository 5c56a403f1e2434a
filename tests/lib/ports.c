/* SPDX-License-Identifier: BSD-2-Clause */
#include "lib/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LOWEST = 10000, CLIENTS_LOWEST = 32768 };

/* Where the ports of clients begin, ip(7). */
static unsigned
end_of_range(void)
{
	unsigned end = CLIENTS_LOWEST;
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	if (file != NULL) {
		if (fscanf(file, "%u", &end) != 1 || end < 2 || end > 65535)
			end = CLIENTS_LOWEST;
		fclose(file);
	}
	return end;
}

static bool
is_free(unsigned port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool is = fd >= 0 && bind(fd, (struct sockaddr *)(void *)&address,
	    sizeof address) == 0;
	if (fd >= 0)
		close(fd);
	return is;
}

unsigned
ports_free(void)
{
	unsigned end = end_of_range();
	unsigned begin = LOWEST < end / 2 ? LOWEST : end / 2;
	for (int tries = 0; tries < 1000; tries++) {
		unsigned any;
		if (getrandom(&any, sizeof any, 0) != sizeof any)
			break;
		unsigned port = begin + any % (end - begin);
		if (is_free(port))
			return port;
	}
	fprintf(stderr, "# no free port\n");
	abort();
}
