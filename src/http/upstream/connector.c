/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop/fd_reserve.h"
#include "base/mem.h"
#include "base/must.h"
#include "http/upstream/connector.h"

/* A socket that libcurl wants watched while it connects. */
struct curl_socket {
	struct connector *connector;
	struct dial *dial;
	int fd;
	unsigned wanted;
	struct watch *watch;
};

/* --- libcurl on our loop --- */

static struct dial *
dial_of(CURL *easy)
{
	char *private = NULL;
	must(curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private) == CURLE_OK);
	return (struct dial *)(void *)private;
}

/* Lets libcurl work, and tells of what that has brought about. */
static void
act_on_socket(struct connector *connector, curl_socket_t fd, int events)
{
	int running, left;
	CURLMsg *msg;
	must(curl_multi_socket_action(connector->multi, fd, events,
		 &running) == CURLM_OK);
	while ((msg = curl_multi_info_read(connector->multi, &left)) != NULL) {
		/* The next call to libcurl may end the life of msg. */
		struct dial *dial = dial_of(msg->easy_handle);
		CURLcode result = msg->data.result;
		must(msg->msg == CURLMSG_DONE);
		task_cancel(&dial->nudge);
		dial->done(dial->arg, result);
	}
}

static void
on_curl_alarm(void *arg)
{
	act_on_socket(arg, CURL_SOCKET_TIMEOUT, 0);
}

/* CURLMOPT_TIMERFUNCTION: sets the one timer, -1 for never. */
static int
set_time(CURLM *multi, long ms, void *arg)
{
	struct connector *connector = arg;
	(void)multi;
	timer_clear(&connector->alarm);
	task_cancel(&connector->kick);
	if (ms == 0)
		task_ready(connector->loop, &connector->kick);
	else if (ms > 0)
		timer_set(&connector->alarm, ms);
	return 0;
}

static void
on_socket_event(void *arg, unsigned events)
{
	struct curl_socket *s = arg;
	act_on_socket(s->connector, s->fd,
	    (events & WATCH_READ ? CURL_CSELECT_IN : 0) |
		(events & WATCH_WRITE ? CURL_CSELECT_OUT : 0));
}

/* Returns the one with that descriptor, or NULL: it has a place then. */
static struct curl_socket *
socket_at(struct connector *connector, int fd)
{
	size_t at = (size_t)fd;
	if (at >= connector->n_sockets) {
		size_t n = 2 * at + 16;
		connector->sockets = mem_grow(
		    connector->sockets, n * sizeof(struct curl_socket *));
		memset(connector->sockets + connector->n_sockets, 0,
		    (n - connector->n_sockets) *
			sizeof(struct curl_socket *));
		connector->n_sockets = n;
	}
	return connector->sockets[at];
}

/*
 * When an address of a name refuses, libcurl 7.88 picks the next one and
 * waits for a timer that has nothing to do with it before it connects.  A
 * handle that waits for no descriptor is made to go on at once: unpausing is
 * the one call that asks for that.
 */
static void
nudge(void *arg)
{
	struct dial *dial = arg;
	(void)curl_easy_pause(dial->easy, CURLPAUSE_ALL);
	(void)curl_easy_pause(dial->easy, CURLPAUSE_CONT);
}

/* CURLMOPT_SOCKETFUNCTION: libcurl says what it waits for on a socket. */
static int
set_wanted(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused)
{
	struct connector *connector = arg;
	struct curl_socket *s = socket_at(connector, fd);
	unsigned wanted = (what & CURL_POLL_IN ? WATCH_READ : 0) |
	    (what & CURL_POLL_OUT ? WATCH_WRITE : 0);
	(void)unused;
	if (what == CURL_POLL_REMOVE && s != NULL) {
		connector->sockets[fd] = NULL;
		if (--s->dial->n_sockets == 0)
			task_ready(connector->loop, &s->dial->nudge);
		watch_free(&s->watch);
		free(s);
	} else if (what != CURL_POLL_REMOVE && s != NULL) {
		s->wanted = wanted;
		watch_want(s->watch, wanted);
	} else if (what != CURL_POLL_REMOVE) {
		s = mem_zero(sizeof *s);
		s->connector = connector;
		s->dial = dial_of(easy);
		s->fd = fd;
		s->wanted = wanted;
		s->watch = watch_new(
		    connector->loop, fd, wanted, on_socket_event, s);
		connector->sockets[fd] = s;
		s->dial->n_sockets++;
		task_cancel(&s->dial->nudge);
	}
	return 0;
}

/*
 * CURLOPT_OPENSOCKETFUNCTION.  libcurl 7.88 closes a socket that it has given
 * up without a word, and says only later that it need not be watched.  Should
 * the next one get its number before that, it is watched anew: what libcurl
 * believes to be watched has gone with the old one.
 */
static curl_socket_t
open_curl_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct dial *dial = arg;
	(void)purpose;
	int fd = socket(address->family, address->socktype | SOCK_CLOEXEC,
	    address->protocol);
	if (fd < 0 || fd >= fd_reserve.first) {
		dial->no_descriptor = fd >= 0 || errno == EMFILE;
		if (fd >= 0)
			close(fd);
		return CURL_SOCKET_BAD;
	}
	struct curl_socket *stale = socket_at(dial->connector, fd);
	if (stale != NULL) {
		watch_free(&stale->watch);
		stale->watch = watch_new(stale->connector->loop, fd,
		    stale->wanted, on_socket_event, stale);
	}
	return fd;
}

void
connector_add(struct connector *connector, CURL *easy, struct dial *dial)
{
	dial->connector = connector;
	dial->easy = easy;
	dial->n_sockets = 0;
	dial->no_descriptor = false;
	dial->nudge = (struct task){.run = nudge, .arg = dial};
	must(curl_easy_setopt(easy, CURLOPT_PRIVATE, dial) == CURLE_OK);
	must(curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
		 open_curl_socket) == CURLE_OK);
	must(curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, dial) ==
	    CURLE_OK);
	must(curl_multi_add_handle(connector->multi, easy) == CURLM_OK);
}

void
connector_remove(struct connector *connector, struct dial *dial)
{
	must(curl_multi_remove_handle(connector->multi, dial->easy) ==
	    CURLM_OK);
	must(dial->n_sockets == 0);
	task_cancel(&dial->nudge);
}

/* --- life --- */

struct connector *
connector_new(struct loop *loop)
{
	struct connector *connector = mem_zero(sizeof *connector);
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	connector->loop = loop;
	connector->multi = curl_multi_init();
	must(connector->multi != NULL);
	timer_init(&connector->alarm, loop, on_curl_alarm, connector);
	connector->kick = (struct task){.run = on_curl_alarm, .arg = connector};
	curl_multi_setopt(
	    connector->multi, CURLMOPT_SOCKETFUNCTION, set_wanted);
	curl_multi_setopt(connector->multi, CURLMOPT_SOCKETDATA, connector);
	curl_multi_setopt(connector->multi, CURLMOPT_TIMERFUNCTION, set_time);
	curl_multi_setopt(connector->multi, CURLMOPT_TIMERDATA, connector);
	return connector;
}

void
connector_free(struct connector **connector)
{
	struct connector *c = *connector;
	*connector = NULL;
	if (c == NULL)
		return;
	must(curl_multi_cleanup(c->multi) == CURLM_OK);
	timer_clear(&c->alarm);
	task_cancel(&c->kick);
	for (size_t i = 0; i < c->n_sockets; i++)
		must(c->sockets[i] == NULL);
	free(c->sockets);
	curl_global_cleanup();
	free(c);
}
