/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client in an open loop: requests are due at times that do not depend on the
 * answers (as from many clients who know nothing of each other), and a latency
 * counts from when the request was due, also if it had to wait for one of the
 * connections.  wrk waits for each answer before its next request, so what is
 * slow is asked less often, and looks faster than it is.
 *
 *     paced PORT CONNECTIONS PER-SECOND SECONDS KIND WORD < REQUEST
 *
 * @KEY@ in the request becomes a key: KIND first makes a new one each time,
 * any other one of 64.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST_CONNECTIONS 4096
#define BUFFER (1 << 20)
#define NS 1000000000ull

struct conn {
	int sock;
	uint64_t due;
	size_t got;
	char *in;
};

static struct conn conns[MOST_CONNECTIONS];
static struct conn *idle[MOST_CONNECTIONS];
static int idles;
static char head[4096], tail[65536];
static bool has_key, is_first;
static const char *word;
static uint64_t sent, bad;
static uint32_t *taken_us;
static size_t taken;

static uint64_t
now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * NS + (uint64_t)at.tv_nsec;
}

static void
read_request(void)
{
	size_t size = fread(tail, 1, sizeof tail - 1, stdin);
	tail[size] = '\0';
	char *key = strstr(tail, "@KEY@");
	if (!key)
		return;
	has_key = true;
	size_t before = (size_t)(key - tail);
	if (before >= sizeof head)
		errx(1, "the head is too long");
	memcpy(head, tail, before);
	memmove(tail, key + 5, strlen(key + 5) + 1);
}

static void
open_conn(struct conn *conn, int poll, uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int yes = 1;
	conn->sock = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(conn->sock, (struct sockaddr *)&to, sizeof to))
		err(1, "connect");
	setsockopt(conn->sock, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	conn->in = malloc(BUFFER);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
	if (!conn->in || epoll_ctl(poll, EPOLL_CTL_ADD, conn->sock, &event))
		err(1, "a connection");
	idle[idles++] = conn;
}

static void
ask(struct conn *conn, uint64_t due)
{
	static char out[sizeof head + sizeof tail + 256];
	int size;
	uint64_t n = sent++;
	if (!has_key)
		size = snprintf(out, sizeof out, "%s", tail);
	else if (is_first)
		size = snprintf(out, sizeof out, "%s%s-0-%ju%s", head, word,
		    (uintmax_t)n, tail);
	else
		size = snprintf(out, sizeof out, "%s%s-fixed-%ju%s", head, word,
		    (uintmax_t)(n % 64 + 1), tail);
	conn->due = due;
	conn->got = 0;
	if (send(conn->sock, out, (size_t)size, MSG_NOSIGNAL) != size)
		err(1, "send");
}

/* Whether an answer is there as a whole. */
static bool
is_whole(struct conn *conn)
{
	conn->in[conn->got] = '\0';
	char *body = strstr(conn->in, "\r\n\r\n");
	if (!body)
		return false;
	size_t there = conn->got - (size_t)(body + 4 - conn->in);
	char *length = strcasestr(conn->in, "\r\ncontent-length:");
	if (length && length < body)
		return there >= strtoull(length + 17, NULL, 10);
	return there >= 5 && !memcmp(conn->in + conn->got - 5, "0\r\n\r\n", 5);
}

static void
hear(struct conn *conn)
{
	ssize_t size = recv(conn->sock, conn->in + conn->got,
	    BUFFER - 1 - conn->got, 0);
	if (size <= 0)
		errx(1, "a connection was closed");
	conn->got += (size_t)size;
	if (!is_whole(conn))
		return;
	if (conn->got < 12 || memcmp(conn->in + 9, "200", 3))
		bad++;
	taken_us[taken++] = (uint32_t)((now() - conn->due) / 1000);
	idle[idles++] = conn;
}

/* Times between two requests are distributed exponentially. */
static uint64_t
gap(double per_second)
{
	return (uint64_t)(-log(1 - drand48()) / per_second * (double)NS);
}

static void
set_timer(int timer, uint64_t due)
{
	struct itimerspec at = {.it_value = {.tv_sec = (time_t)(due / NS),
	    .tv_nsec = (long)(due % NS)}};
	timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void
run(int poll, int timer, double per_second, uint64_t count)
{
	struct epoll_event events[256];
	uint64_t due = now() + gap(per_second);
	while (taken < count) {
		while (sent < count && idles && due <= now()) {
			ask(idle[--idles], due);
			due += gap(per_second);
		}
		if (sent < count && idles)
			set_timer(timer, due);
		int ready = epoll_wait(poll, events, 256, 10000);
		if (ready == 0)
			errx(1, "no answer for 10 s");
		for (int i = 0; i < ready; i++) {
			uint64_t times;
			if (events[i].data.ptr)
				hear(events[i].data.ptr);
			else if (read(timer, &times, sizeof times) < 0 &&
			    errno != EAGAIN)
				err(1, "timer");
		}
	}
}

static int
compare(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

int
main(int argc, char **argv)
{
	if (argc != 7)
		errx(2, "PORT CONNECTIONS PER-SECOND SECONDS KIND WORD");
	int connections = atoi(argv[2]);
	double per_second = atof(argv[3]);
	uint64_t count = (uint64_t)(per_second * atof(argv[4]));
	is_first = !strcmp(argv[5], "first");
	word = argv[6];
	if (connections < 1 || connections > MOST_CONNECTIONS || !count)
		errx(2, "too few or too many");
	read_request();
	taken_us = malloc(count * sizeof *taken_us);
	int poll = epoll_create1(0);
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct epoll_event event = {.events = EPOLLIN};
	if (!taken_us || epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event))
		err(1, "timer");
	for (int i = 0; i < connections; i++)
		open_conn(&conns[i], poll, (uint16_t)atoi(argv[1]));
	uint64_t began = now();
	run(poll, timer, per_second, count);
	uint64_t took = now() - began;
	qsort(taken_us, count, sizeof *taken_us, compare);
	printf("@{\"requests\":%ju,\"us\":%ju,\"bad\":%ju,\"p50_us\":%u,"
	    "\"p99_us\":%u}\n", (uintmax_t)count, (uintmax_t)(took / 1000),
	    (uintmax_t)bad, taken_us[count / 2], taken_us[count * 99 / 100]);
	return 0;
}
