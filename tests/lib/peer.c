/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/must.h"
#include "lib/peer.h"

/* How long anything here waits before the test has failed. */
enum { PATIENCE_S = 20 };

struct talk {
	struct talk *next;
	struct peer *peer;
	pthread_t thread;
	int fd; /* -1: ended */
	unsigned number;
	char *request; /* the last one */
	char *buffer;  /* bytes that were received and not yet used */
	size_t len;
	size_t size;
};

struct peer {
	int fd;
	uint16_t port;
	void (*script)(struct talk *talk);
	void *arg;
	pthread_t thread;
	sem_t gates[PEER_GATES];

	pthread_mutex_t mutex; /* guards the fields below, and talk->fd */
	pthread_cond_t changed;
	struct talk *talks;
	unsigned connections;
	unsigned ended;
	unsigned requests;
	unsigned sent;
	char *last_request;
};

static struct timespec
deadline(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += PATIENCE_S;
	return ts;
}

/* --- talking --- */

void *
talk_arg(struct talk *talk)
{
	return talk->peer->arg;
}

unsigned
talk_number(const struct talk *talk)
{
	return talk->number;
}

const char *
talk_request(const struct talk *talk)
{
	return talk->request;
}

static bool
fill(struct talk *talk)
{
	if (talk->size - talk->len < 65536) {
		talk->size = 2 * talk->size + 65537;
		talk->buffer = mem_grow(talk->buffer, talk->size);
	}
	ssize_t n = recv(talk->fd, talk->buffer + talk->len,
	    talk->size - talk->len - 1, 0);
	if (n <= 0)
		return false;
	talk->len += (size_t)n;
	talk->buffer[talk->len] = '\0';
	return true;
}

static bool
wait_head(struct talk *talk, size_t *ret_len)
{
	const char *end;
	while (talk->len == 0 ||
	    (end = strstr(talk->buffer, "\r\n\r\n")) == NULL)
		if (!fill(talk))
			return false;
	*ret_len = (size_t)(end - talk->buffer) + 4;
	return true;
}

static void
use(struct talk *talk, size_t len)
{
	talk->len -= len;
	memmove(talk->buffer, talk->buffer + len, talk->len + 1);
}

bool
talk_read_head(struct talk *talk)
{
	size_t head;
	if (!wait_head(talk, &head))
		return false;
	use(talk, head);
	return true;
}

bool
talk_read(struct talk *talk)
{
	static const char field[] = "\r\nContent-Length: ";
	struct peer *peer = talk->peer;
	size_t len;
	if (!wait_head(talk, &len))
		return false;
	const char *length = strstr(talk->buffer, field);
	if (length != NULL && length < talk->buffer + len)
		len += strtoul(length + sizeof field - 1, NULL, 10);
	while (talk->len < len)
		if (!fill(talk))
			return false;
	free(talk->request);
	talk->request = mem_str(span_of(talk->buffer, len));
	pthread_mutex_lock(&peer->mutex);
	peer->requests++;
	free(peer->last_request);
	peer->last_request = mem_str(span_of(talk->buffer, len));
	pthread_cond_broadcast(&peer->changed);
	pthread_mutex_unlock(&peer->mutex);
	use(talk, len);
	return true;
}

/* Compares len bytes of the body; false where it is cut. */
static bool
read_body(struct talk *talk, size_t len, char (*byte_at)(size_t i),
    size_t *ret_size)
{
	while (len > 0) {
		if (talk->len == 0 && !fill(talk))
			return false;
		size_t n = talk->len < len ? talk->len : len;
		for (size_t i = 0; i < n; i++)
			must(talk->buffer[i] == byte_at(*ret_size + i));
		use(talk, n);
		*ret_size += n;
		len -= n;
	}
	return true;
}

/*
 * Reads the size of the next chunk, with its line end; false where it is cut.
 */
static bool
read_chunk_size(struct talk *talk, bool first, size_t *ret_size)
{
	const char *end = NULL;
	size_t skip = first ? 0 : 2;
	while (talk->len <= skip ||
	    (end = strstr(talk->buffer + skip, "\r\n")) == NULL)
		if (!fill(talk))
			return false;
	*ret_size = strtoul(talk->buffer + skip, NULL, 16);
	use(talk, (size_t)(end - talk->buffer) + 2);
	return true;
}

bool
talk_read_upload(
    struct talk *talk, char (*byte_at)(size_t i), size_t *ret_size)
{
	static const char field[] = "\r\nContent-Length: ";
	size_t head;
	*ret_size = 0;
	if (!wait_head(talk, &head))
		return false;
	const char *length = strstr(talk->buffer, field);
	bool chunked = length == NULL || length >= talk->buffer + head;
	size_t len =
	    chunked ? 0 : strtoul(length + sizeof field - 1, NULL, 10);
	use(talk, head);
	if (!chunked)
		return read_body(talk, len, byte_at, ret_size);
	for (bool first = true;; first = false) {
		if (!read_chunk_size(talk, first, &len))
			return false;
		if (len == 0)
			break;
		if (!read_body(talk, len, byte_at, ret_size))
			return false;
	}
	while (talk->len < 2)
		if (!fill(talk))
			return false;
	must(!strncmp(talk->buffer, "\r\n", 2));
	use(talk, 2);
	return true;
}

void
talk_wait_end(struct talk *talk)
{
	char byte;
	while (talk->fd >= 0 && recv(talk->fd, &byte, 1, 0) > 0)
		;
}

void
talk_wait(struct talk *talk, unsigned gate)
{
	struct timespec until = deadline();
	sem_t *sem = &talk->peer->gates[gate];
	while (sem_timedwait(sem, &until) != 0 && errno == EINTR)
		;
}

void
talk_send(struct talk *talk, const void *bytes, size_t len)
{
	const char *at = bytes;
	while (len > 0) {
		ssize_t n = send(talk->fd, at, len, MSG_NOSIGNAL);
		if (n <= 0)
			return;
		at += n;
		len -= (size_t)n;
	}
	pthread_mutex_lock(&talk->peer->mutex);
	talk->peer->sent++;
	pthread_cond_broadcast(&talk->peer->changed);
	pthread_mutex_unlock(&talk->peer->mutex);
}

void
talk_say(struct talk *talk, const char *text)
{
	talk_send(talk, text, strlen(text));
}

void
talk_close(struct talk *talk)
{
	struct peer *peer = talk->peer;
	pthread_mutex_lock(&peer->mutex);
	if (talk->fd >= 0) {
		close(talk->fd);
		talk->fd = -1;
		peer->ended++;
		pthread_cond_broadcast(&peer->changed);
	}
	pthread_mutex_unlock(&peer->mutex);
}

void
talk_reset(struct talk *talk)
{
	struct linger linger = {1, 0};
	must(setsockopt(talk->fd, SOL_SOCKET, SO_LINGER, &linger,
		 sizeof linger) == 0);
	talk_close(talk);
}

/* --- threads --- */

static void *
talk_thread(void *arg)
{
	struct talk *talk = arg;
	talk->peer->script(talk);
	talk_close(talk);
	return NULL;
}

static void *
accept_thread(void *arg)
{
	struct peer *peer = arg;
	int fd;
	while ((fd = accept(peer->fd, NULL, NULL)) >= 0) {
		struct talk *talk = mem_zero(sizeof *talk);
		talk->peer = peer;
		talk->fd = fd;
		pthread_mutex_lock(&peer->mutex);
		talk->number = peer->connections++;
		talk->next = peer->talks;
		peer->talks = talk;
		pthread_mutex_unlock(&peer->mutex);
		must(pthread_create(
			 &talk->thread, NULL, talk_thread, talk) == 0);
	}
	return NULL;
}

static struct peer *
peer_start(int fd, void (*script)(struct talk *talk), void *arg)
{
	struct peer *peer = mem_zero(sizeof *peer);
	peer->fd = fd;
	peer->script = script;
	peer->arg = arg;
	must(listen(fd, 128) == 0);
	for (unsigned i = 0; i < PEER_GATES; i++)
		must(sem_init(&peer->gates[i], 0, 0) == 0);
	pthread_mutex_init(&peer->mutex, NULL);
	pthread_cond_init(&peer->changed, NULL);
	must(pthread_create(&peer->thread, NULL, accept_thread, peer) == 0);
	return peer;
}

struct peer *
peer_new(void (*script)(struct talk *talk), void *arg)
{
	struct sockaddr_in address = {
	    .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof address;
	struct sockaddr *any = (struct sockaddr *)(void *)&address;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0 && bind(fd, any, len) == 0);
	must(getsockname(fd, any, &len) == 0);
	struct peer *peer = peer_start(fd, script, arg);
	peer->port = ntohs(address.sin_port);
	return peer;
}

struct peer *
peer_new_unix(const char *path, void (*script)(struct talk *talk), void *arg)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	must(strlen(path) < sizeof address.sun_path);
	strcpy(address.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(fd >= 0 &&
	    bind(fd, (struct sockaddr *)(void *)&address, sizeof address) ==
		0);
	return peer_start(fd, script, arg);
}

void
peer_free(struct peer **peer)
{
	struct peer *p = *peer;
	*peer = NULL;
	if (p == NULL)
		return;
	shutdown(p->fd, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->fd);
	pthread_mutex_lock(&p->mutex);
	for (struct talk *talk = p->talks; talk; talk = talk->next) {
		if (talk->fd >= 0)
			shutdown(talk->fd, SHUT_RDWR);
		for (unsigned i = 0; i < PEER_GATES; i++)
			sem_post(&p->gates[i]);
	}
	pthread_mutex_unlock(&p->mutex);
	while (p->talks != NULL) {
		struct talk *talk = p->talks;
		p->talks = talk->next;
		pthread_join(talk->thread, NULL);
		free(talk->request);
		free(talk->buffer);
		free(talk);
	}
	for (unsigned i = 0; i < PEER_GATES; i++)
		sem_destroy(&p->gates[i]);
	pthread_mutex_destroy(&p->mutex);
	pthread_cond_destroy(&p->changed);
	free(p->last_request);
	free(p);
}

/* --- what it has seen --- */

uint16_t
peer_port(const struct peer *peer)
{
	return peer->port;
}

static unsigned
read_count(struct peer *peer, const unsigned *count)
{
	pthread_mutex_lock(&peer->mutex);
	unsigned n = *count;
	pthread_mutex_unlock(&peer->mutex);
	return n;
}

unsigned
peer_requests(struct peer *peer)
{
	return read_count(peer, &peer->requests);
}

unsigned
peer_ended(struct peer *peer)
{
	return read_count(peer, &peer->ended);
}

unsigned
peer_connections(struct peer *peer)
{
	return read_count(peer, &peer->connections);
}

char *
peer_last_request(struct peer *peer)
{
	pthread_mutex_lock(&peer->mutex);
	char *copy = mem_str(span_str(peer->last_request));
	pthread_mutex_unlock(&peer->mutex);
	return copy;
}

static void
wait_count(struct peer *peer, const unsigned *count, unsigned least)
{
	struct timespec until = deadline();
	int error = 0;
	pthread_mutex_lock(&peer->mutex);
	while (*count < least && error == 0)
		error = pthread_cond_timedwait(
		    &peer->changed, &peer->mutex, &until);
	pthread_mutex_unlock(&peer->mutex);
	must(error == 0);
}

void
peer_wait_ended(struct peer *peer, unsigned connections)
{
	wait_count(peer, &peer->ended, connections);
}

void
peer_wait_requests(struct peer *peer, unsigned requests)
{
	wait_count(peer, &peer->requests, requests);
}

void
peer_wait_sent(struct peer *peer, unsigned texts)
{
	wait_count(peer, &peer->sent, texts);
}

void
peer_go(struct peer *peer, unsigned gate)
{
	sem_post(&peer->gates[gate]);
}

/* --- places where nobody answers --- */

static void
say_nothing(struct talk *talk)
{
	(void)talk;
}

uint16_t
peer_closed_port(void)
{
	struct peer *peer = peer_new(say_nothing, NULL);
	uint16_t port = peer_port(peer);
	peer_free(&peer);
	return port;
}

bool
full_open(struct full *full, bool v6, uint16_t port)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at = {.any.sa_family = v6 ? AF_INET6 : AF_INET};
	socklen_t len = v6 ? sizeof at.v6 : sizeof at.v4;
	if (v6) {
		at.v6.sin6_addr = in6addr_loopback;
		at.v6.sin6_port = htons(port);
	} else {
		at.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	full->listener = socket(at.any.sa_family, SOCK_STREAM, 0);
	if (bind(full->listener, &at.any, len) != 0) {
		close(full->listener);
		return false;
	}
	must(listen(full->listener, 0) == 0);
	must(getsockname(full->listener, &at.any, &len) == 0);
	full->port = v6 ? port : ntohs(at.v4.sin_port);
	for (int i = 0; i < 4; i++) {
		full->clients[i] =
		    socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)connect(full->clients[i], &at.any, len);
	}
	return true;
}

void
full_close(struct full *full)
{
	for (int i = 0; i < 4; i++)
		close(full->clients[i]);
	close(full->listener);
}
