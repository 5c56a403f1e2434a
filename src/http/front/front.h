/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The front: it listens for clients, and each request that they send becomes
 * an exchange (front/exchange.h), which it hands to its owner.  libmicrohttpd
 * is behind it, and nothing above it ever sees that.  It knows no routes,
 * keys or upstreams.  A worker has one, and so has the admin interface; that
 * thread only.
 */
struct budget;
struct conf;
struct counter;
struct exchange;
struct front;
struct loop;
struct places;

/*
 * arrived() is called once for each request, when its head is in and before
 * anything of its body is read.  It may act on the exchange at once.  Clients
 * for whom there is no place are counted there, unless that is NULL.  Loop,
 * budget, places and counter outlive the front; it holds a reference to conf.
 */
struct front *front_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct places *places, struct counter *turned_away,
    void (*arrived)(void *arg, struct exchange *x), void *arg);
/*
 * All exchanges have ended; closes all connections, and arrived() is not
 * called any more.  Nulls the pointer, accepts NULL.
 */
void front_free(struct front **front);

/*
 * Accepts on a listening socket from now on, and closes it in the end.
 * entry: its place in the configuration's listen; FRONT_PLAIN: it has none.
 * kept: other processes have it too, so it is still there when we close it.
 */
void front_listen(struct front *front, int fd, size_t entry, bool kept);
#define FRONT_PLAIN SIZE_MAX
/*
 * Time-outs and limits of requests, and certificates of new connections, are
 * from now on those of that configuration.
 */
void front_reload(struct front *front, const struct conf *conf);
/*
 * Closes the listening sockets, and first takes who waits there, if nobody
 * else would; every answer says Connection: close.
 */
void front_drain(struct front *front);
/*
 * No client is about to send a request: none has begun one whose head is not
 * in yet, and none has connected within the last second and sent nothing.
 * False: the loop will have another turn when that may have changed.
 */
bool front_is_quiet(struct front *front);
