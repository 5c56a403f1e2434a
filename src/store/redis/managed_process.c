/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop/loop.h"
#include "base/loop/own_file.h"
#include "base/mem.h"
#include "store/redis/managed_process.h"
#include "store/redis/reply_reader.h"

#define PID_FILE "redis.pid"
#define CONF_FILE "redis.conf"

enum {
	POLITE_MS = 10000,
	LOOK_MS = 10,
	LOG_MAX_BYTES = 1024 * 1024,
	FIRST_FD = 3, /* the first after the standard ones */
};

static const char conf_text[] =
    "# Written by onceproxy at every start; changes are lost.\n"
    "port 0\n"
    "unixsocket " MANAGED_PROCESS_SOCKET "\n"
    "unixsocketperm 700\n"
    "dir .\n"
    "daemonize no\n"
    "supervised no\n"
    "pidfile " PID_FILE "\n"
    "logfile " MANAGED_PROCESS_LOG "\n"
    "loglevel notice\n"
    "databases 1\n"
    "save \"\"\n"
    "appendonly yes\n"
    /*
     * With "everysec" Redis delays even the write while a sync is under way: a
     * kill -9 under disk load lost claims that it had acknowledged.
     */
    "appendfsync always\n"
    "maxmemory-policy noeviction\n";

/* --- the folder --- */

static char *
in_folder(const char *folder, const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

/* One older log is kept, so that logs cannot grow for ever. */
static void
turn_log(const char *folder)
{
	char *log = in_folder(folder, MANAGED_PROCESS_LOG);
	char *old = in_folder(folder, MANAGED_PROCESS_LOG ".1");
	struct stat st;
	if (stat(log, &st) == 0 && st.st_size > LOG_MAX_BYTES)
		rename(log, old);
	free(log);
	free(old);
}

/* A link to where Redis, or we, would write; NULL: there is none. */
static const char *
find_link(DIR *names, const char **ret_why)
{
	const struct dirent *entry;
	struct stat st;
	while ((entry = readdir(names)) != NULL) {
		if (fstatat(dirfd(names), entry->d_name, &st,
			AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		*ret_why = "it is a symbolic link";
		if (S_ISLNK(st.st_mode))
			return entry->d_name;
		/* Redis' own files may be backed up by hard links. */
		*ret_why = "it is a hard link: the file has another name too";
		if (S_ISREG(st.st_mode) && st.st_nlink > 1 &&
		    strncmp(entry->d_name, "redis.", strlen("redis.")) == 0)
			return entry->d_name;
	}
	return NULL;
}

static bool
has_no_link(int folder, const char *path, char **ret_message)
{
	const char *why = NULL;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	if (names == NULL) {
		*ret_message = mem_printf(
		    "%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	const char *link = find_link(names, &why);
	if (link != NULL)
		*ret_message = mem_printf(
		    "%s/%s cannot be used: %s", path, link, why);
	closedir(names);
	return link == NULL;
}

bool
managed_process_configure(int folder, const char *path, char **ret_message)
{
	const char *why;
	if (!has_no_link(folder, path, ret_message))
		return false;
	int fd = own_file_open(
	    folder, CONF_FILE ".new", O_WRONLY | O_TRUNC, &why);
	bool ok = fd >= 0;
	if (ok) {
		size_t len = sizeof conf_text - 1;
		ok = write(fd, conf_text, len) == (ssize_t)len;
		close(fd);
	}
	ok = ok &&
	    renameat(folder, CONF_FILE ".new", folder, CONF_FILE) == 0;
	if (!ok)
		*ret_message = mem_printf("%s cannot be written to: %s", path,
		    strerror(errno));
	return ok;
}

/* --- starting --- */

/*
 * Redis writes the same file, but later; ours is there from the first moment.
 */
static bool
write_pid(pid_t pid)
{
	char digits[16];
	size_t at = sizeof digits;
	for (digits[--at] = '\n'; pid > 0; pid /= 10)
		digits[--at] = (char)('0' + pid % 10);
	int fd = open(PID_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ssize_t len = (ssize_t)(sizeof digits - at);
	return fd >= 0 && write(fd, digits + at, (size_t)len) == len;
}

/*
 * Runs in the child of a process that may have threads: nothing but
 * async-signal-safe calls until Redis takes over.
 */
static _Noreturn void
become_redis(const char *folder, int log_fd, pid_t parent)
{
	char *argv[] = {(char[]){"redis-server"}, (char[]){CONF_FILE}, NULL};
	char *envp[] = {(char[]){"LC_ALL=C"}, NULL};
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/*
	 * A terminal's ^C is for the gateway, which needs Redis until it ends.
	 */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1); /* the gateway died before prctl took effect */
	int null_fd = open("/dev/null", O_RDONLY);
	if (chdir(folder) != 0 || !write_pid(getpid()) || null_fd < 0 ||
	    dup2(null_fd, 0) < 0 || dup2(log_fd, 1) < 0 ||
	    dup2(log_fd, 2) < 0)
		_exit(1);
	if (close_range(FIRST_FD, ~0U, 0) != 0)
		for (int fd = FIRST_FD; fd < 1024; fd++)
			close(fd);
	umask(077);
	execve(REDIS_SERVER, argv, envp);
	_exit(127);
}

pid_t
managed_process_spawn(const char *folder)
{
	turn_log(folder);
	char *log = in_folder(folder, MANAGED_PROCESS_LOG);
	int log_fd =
	    open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	free(log);
	if (log_fd < 0)
		return -1;
	pid_t parent = getpid();
	pid_t pid = fork();
	if (pid == 0)
		become_redis(folder, log_fd, parent);
	int error = errno;
	close(log_fd);
	errno = error;
	return pid;
}

/* --- finding and ending --- */

bool
managed_process_is(pid_t pid, const char *folder)
{
	char name[64], cwd[PATH_MAX + 1], path[PATH_MAX + 1], comm[32] = "";
	snprintf(name, sizeof name, "/proc/%d/cwd", (int)pid);
	ssize_t len = readlink(name, cwd, sizeof cwd - 1);
	if (len < 0 || realpath(folder, path) == NULL)
		return false;
	cwd[len] = '\0';
	snprintf(name, sizeof name, "/proc/%d/comm", (int)pid);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, comm, sizeof comm - 1);
	close(fd);
	return len > 0 && strcmp(cwd, path) == 0 &&
	    strncmp(comm, "redis", strlen("redis")) == 0;
}

pid_t
managed_process_find(const char *folder)
{
	char *name = in_folder(folder, PID_FILE);
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	free(name);
	if (fd < 0)
		return 0;
	char text[32];
	ssize_t len = read(fd, text, sizeof text - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	long pid = strtol(text, NULL, 10);
	if (pid <= 1 || pid > INT_MAX ||
	    !managed_process_is((pid_t)pid, folder))
		return 0;
	return (pid_t)pid;
}

static bool
is_gone(pid_t pid, const char *folder, bool is_child)
{
	if (!is_child)
		return !managed_process_is(pid, folder);
	pid_t got = waitpid(pid, NULL, WNOHANG);
	return got == pid || (got < 0 && errno == ECHILD);
}

void
managed_process_end(pid_t pid, const char *folder, bool is_child)
{
	int64_t kill_us = clock_us() + (int64_t)POLITE_MS * 1000;
	kill(pid, SIGTERM);
	while (!is_gone(pid, folder, is_child)) {
		if (clock_us() > kill_us)
			kill(pid, SIGKILL);
		poll(NULL, 0, LOOK_MS);
	}
}

/* --- asking --- */

enum managed_process_answer
managed_process_ask(const char *socket)
{
	enum managed_process_answer answer = MANAGED_PROCESS_SILENT;
	struct timeval second = {.tv_sec = 1};
	redisContext *redis = redisConnectUnixWithTimeout(socket, second);
	if (redis == NULL)
		return answer;
	redisReply *reply = NULL;
	reply_reader_guard(redis->reader);
	if (redis->err == 0 && redisSetTimeout(redis, second) == REDIS_OK)
		reply = redisCommand(redis, "PING");
	if (reply != NULL && reply->type == REDIS_REPLY_STATUS)
		answer = MANAGED_PROCESS_READY;
	else if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		answer = MANAGED_PROCESS_LOADING;
	if (reply != NULL)
		freeReplyObject(reply);
	redisFree(redis);
	return answer;
}
