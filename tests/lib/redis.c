/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/redis.h"

enum { OPTIONS_MAX = 32, PATIENCE_MS = 10000, LOOK_MS = 5 };

static _Noreturn void
give_up(const char *what)
{
	fprintf(stderr, "# redis-server of the test: %s\n", what);
	abort();
}

static _Noreturn void
become_redis(const struct redis *redis, pid_t parent)
{
	const char *argv[OPTIONS_MAX] = {"redis-server", "--port", "0",
	    "--unixsocket", redis->socket, "--dir", redis->folder, "--save",
	    "", "--logfile", "redis.log"};
	size_t count = 11;
	for (size_t i = 0; redis->options && redis->options[i]; i++)
		if (count < OPTIONS_MAX - 1)
			argv[count++] = redis->options[i];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	char *const *args = (char *const *)(void *)argv;
	execv(REDIS_SERVER, args);
	_exit(127);
}

static bool
answers(struct redis *redis)
{
	redis->client = redisConnectUnix(redis->socket);
	if (redis->client != NULL && redis->client->err == 0) {
		redisReply *reply = redisCommand(redis->client, "PING");
		bool ready =
		    reply != NULL && reply->type == REDIS_REPLY_STATUS;
		if (reply != NULL)
			freeReplyObject(reply);
		if (ready)
			return true;
	}
	if (redis->client != NULL)
		redisFree(redis->client);
	redis->client = NULL;
	return false;
}

void
redis_again(struct redis *redis)
{
	pid_t parent = getpid();
	unlink(redis->socket);
	redis->pid = fork();
	if (redis->pid == 0)
		become_redis(redis, parent);
	if (redis->pid < 0)
		give_up(strerror(errno));
	for (int ms = 0; !answers(redis); ms += LOOK_MS) {
		if (ms > PATIENCE_MS)
			give_up("does not answer");
		if (waitpid(redis->pid, NULL, WNOHANG) == redis->pid)
			give_up("ended while it started");
		poll(NULL, 0, LOOK_MS);
	}
}

struct redis *
redis_start(const char *const *options)
{
	/* Writing to a server that is gone is an error, and must not end us. */
	signal(SIGPIPE, SIG_IGN);
	struct redis *redis = calloc(1, sizeof *redis);
	if (redis == NULL)
		give_up("no memory");
	folder_make("redis", redis->folder);
	snprintf(redis->socket, sizeof redis->socket, "%s/redis.sock",
	    redis->folder);
	redis->options = options;
	redis_again(redis);
	return redis;
}

void
redis_freeze(struct redis *redis)
{
	kill(redis->pid, SIGSTOP);
	int status;
	if (waitpid(redis->pid, &status, WUNTRACED) != redis->pid ||
	    !WIFSTOPPED(status))
		give_up("does not freeze");
}

void
redis_thaw(struct redis *redis)
{
	kill(redis->pid, SIGCONT);
}

void
redis_kill(struct redis *redis)
{
	if (redis->client != NULL)
		redisFree(redis->client);
	redis->client = NULL;
	if (redis->pid > 0) {
		kill(redis->pid, SIGKILL);
		waitpid(redis->pid, NULL, 0);
	}
	redis->pid = 0;
}

void
redis_stop(struct redis **redis)
{
	struct redis *r = *redis;
	*redis = NULL;
	if (r == NULL)
		return;
	redis_kill(r);
	folder_remove(r->folder);
	free(r);
}

redisContext *
redis_connect(const struct redis *redis)
{
	redisContext *client = redisConnectUnix(redis->socket);
	if (client == NULL || client->err != 0)
		give_up("no connection");
	return client;
}

static redisReply *
command(struct redis *redis, const char *fmt, va_list args)
{
	redisReply *reply = redisvCommand(redis->client, fmt, args);
	if (reply == NULL)
		give_up(redis->client->errstr);
	return reply;
}

redisReply *
redis_do(struct redis *redis, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	redisReply *reply = command(redis, fmt, args);
	va_end(args);
	return reply;
}

long long
redis_integer(struct redis *redis, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	redisReply *reply = command(redis, fmt, args);
	va_end(args);
	if (reply->type != REDIS_REPLY_INTEGER)
		give_up(reply->str ? reply->str : "no integer");
	long long number = reply->integer;
	freeReplyObject(reply);
	return number;
}

void
redis_just(struct redis *redis, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	freeReplyObject(command(redis, fmt, args));
	va_end(args);
}
