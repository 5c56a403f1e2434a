/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <sodium.h>
#include <sys/socket.h>

#include "base/must.h"
#include "operators/probe/secret_write.h"

/* Enough for all commands of a handshake, unless the password is very long. */
enum { ROOM_BYTES = 4096 };

void
secret_write_begin(redisContext *redis)
{
	redis->obuf = sdsMakeRoomFor(redis->obuf, ROOM_BYTES);
	must(redis->obuf != NULL);
}

void
secret_write_end(redisContext *redis)
{
	sodium_memzero(redis->obuf, sdsalloc(redis->obuf));
	sdsclear(redis->obuf);
}

bool
secret_write_send(redisContext *redis)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof peer;
	/*
	 * send() would take away the error of a failed connect, hiredis' to
	 * report.
	 */
	if (getpeername(redis->fd, (struct sockaddr *)&peer, &size) != 0)
		return false;
	ssize_t sent = send(
	    redis->fd, redis->obuf, sdslen(redis->obuf), MSG_NOSIGNAL);
	if (sent < 0)
		return false;
	if ((size_t)sent < sdslen(redis->obuf)) {
		sdsrange(redis->obuf, (int)sent, -1);
		return false;
	}
	secret_write_end(redis);
	return true;
}
