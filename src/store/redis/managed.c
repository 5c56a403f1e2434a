/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop/log.h"
#include "base/loop/own_file.h"
#include "base/mem.h"
#include "store/redis/managed.h"

/* Names in the folder. */
#define SOCKET_FILE "redis.sock"
#define LOG_FILE "redis.log"
#define PID_FILE "redis.pid"
#define CONF_FILE "redis.conf"

enum {
	READY_MS = 30000,
	POLL_MS = 10,
	POLITE_MS = 10000, /* between SIGTERM and SIGKILL */
	BACKOFF_FIRST_MS = 100,
	BACKOFF_MAX_MS = 5000,
	STEADY_MS = 30000, /* one that ran so long is restarted at once */
	LOG_MAX_BYTES = 1024 * 1024,
	FIRST_FD = 3, /* the first after the standard ones */
};

struct managed {
	char *folder; /* state_dir/redis */
	char *socket;
	int lock; /* descriptor; holds state_dir/lock */
	pid_t pid; /* 0: not running */
	int64_t started_us;
	int64_t backoff_ms;
	struct timer again;
};

/*
 * All names are relative to the folder, so its path needs no quoting, and may
 * be longer than a socket's path.
 */
static const char conf_text[] =
    "# Written by onceproxy at every start; changes are lost.\n"
    "port 0\n"
    "unixsocket " SOCKET_FILE "\n"
    "unixsocketperm 700\n"
    "dir .\n"
    "daemonize no\n"
    "supervised no\n"
    "pidfile " PID_FILE "\n"
    "logfile " LOG_FILE "\n"
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

char *
managed_socket(const struct conf *conf)
{
	return mem_printf("%s/redis/" SOCKET_FILE, conf->state_dir);
}

/* --- the state folder --- */

/* Two gateways that share a folder would end each other's Redis. */
static bool
take_lock(struct managed *managed, const struct conf *conf, int state_dir,
    char **ret_message)
{
	const char *why;
	managed->lock = own_file_open(state_dir, "lock", O_RDWR, &why);
	if (managed->lock < 0) {
		*ret_message = mem_printf(
		    "%s/lock cannot be used: %s", conf->state_dir, why);
		return false;
	}
	if (flock(managed->lock, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno == EWOULDBLOCK)
		*ret_message = mem_printf("state_dir %s is used by another "
			"gateway; each one needs a state_dir of its own",
		    conf->state_dir);
	else
		*ret_message = mem_printf("%s/lock cannot be locked: %s",
		    conf->state_dir, strerror(errno));
	return false;
}

/* Neither Redis nor we may write through a link: false, with a sentence. */
static bool
has_no_link(int folder, const char *path, char **ret_message)
{
	const struct dirent *entry;
	const char *why = NULL;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	if (names == NULL) {
		*ret_message = mem_printf(
		    "%s cannot be read: %s", path, strerror(errno));
		return false;
	}
	while (why == NULL && (entry = readdir(names)) != NULL) {
		struct stat st;
		if (fstatat(dirfd(names), entry->d_name, &st,
			AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		/* Redis' own files may be backed up by hard links. */
		if (S_ISLNK(st.st_mode))
			why = "it is a symbolic link";
		else if (S_ISREG(st.st_mode) && st.st_nlink > 1 &&
		    strncmp(entry->d_name, "redis.", strlen("redis.")) == 0)
			why = "it is a hard link: the file has another name "
			      "too";
		if (why != NULL)
			*ret_message = mem_printf("%s/%s cannot be used: %s",
			    path, entry->d_name, why);
	}
	closedir(names);
	return why == NULL;
}

/*
 * The folder of its files, in which nobody else makes any from here on, with
 * the configuration in it.
 */
static bool
prepare_folder(const struct managed *managed, int state_dir, char **ret_message)
{
	const ssize_t len = sizeof conf_text - 1;
	const char *why;
	int folder = own_file_folder(state_dir, "redis", &why);
	if (folder < 0) {
		*ret_message = mem_printf(
		    "%s cannot be used: %s", managed->folder, why);
		return false;
	}
	bool ok = fchmod(folder, 0700) == 0;
	bool clean = ok && has_no_link(folder, managed->folder, ret_message);
	if (clean) {
		int fd = own_file_open(
		    folder, CONF_FILE ".new", O_WRONLY | O_TRUNC, &why);
		ok = fd >= 0 && write(fd, conf_text, (size_t)len) == len;
		if (fd >= 0)
			close(fd);
		ok = ok && renameat(folder, CONF_FILE ".new", folder,
			       CONF_FILE) == 0;
	}
	if (!ok)
		*ret_message = mem_printf("%s cannot be written to: %s",
		    managed->folder, strerror(errno));
	close(folder);
	return clean && ok;
}

static bool
prepare(struct managed *managed, const struct conf *conf, char **ret_message)
{
	const char *why;
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	if (strlen(managed->socket) > most) {
		*ret_message = mem_printf("state_dir is too long: the path %s "
			"of the private Redis' socket is %zu bytes long, and "
			"the system allows %zu", managed->socket,
		    strlen(managed->socket), most);
		return false;
	}
	int state_dir = own_file_state_dir(conf->state_dir, &why);
	if (state_dir < 0) {
		*ret_message = mem_printf("state_dir %s cannot be used: %s",
		    conf->state_dir, why);
		return false;
	}
	bool ok = take_lock(managed, conf, state_dir, ret_message) &&
	    prepare_folder(managed, state_dir, ret_message);
	close(state_dir);
	if (ok && access(REDIS_SERVER, X_OK) != 0) {
		*ret_message = mem_printf("%s, which store.redis \"managed\" "
			"needs, cannot be run: %s", REDIS_SERVER,
		    strerror(errno));
		return false;
	}
	return ok;
}

/* --- finding and ending a process --- */

/* A process id may be that of another program by now. */
static bool
is_redis_of(pid_t pid, const char *folder)
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

/* The process that the folder's pid file names, if it is one; else 0. */
static pid_t
find_process(const char *folder)
{
	char *name = mem_printf("%s/" PID_FILE, folder);
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
	return pid > 1 && pid <= INT_MAX && is_redis_of((pid_t)pid, folder)
	    ? (pid_t)pid
	    : 0;
}

/* Waits until it is gone; a child is reaped. */
static void
end_process(pid_t pid, const char *folder, bool is_child)
{
	int64_t kill_us = clock_us() + (int64_t)POLITE_MS * 1000;
	kill(pid, SIGTERM);
	for (;;) {
		if (is_child) {
			pid_t got = waitpid(pid, NULL, WNOHANG);
			if (got == pid || (got < 0 && errno == ECHILD))
				return;
		} else if (!is_redis_of(pid, folder)) {
			return;
		}
		if (clock_us() > kill_us)
			kill(pid, SIGKILL);
		poll(NULL, 0, POLL_MS);
	}
}

/* --- starting --- */

/*
 * Runs in the child of a process that may have threads: nothing but
 * async-signal-safe calls until Redis takes over.
 */
static _Noreturn void
become_redis(const char *folder, int log_fd, pid_t parent)
{
	char *argv[] = {(char[]){"redis-server"}, (char[]){CONF_FILE}, NULL};
	char *envp[] = {(char[]){"LC_ALL=C"}, NULL};
	char digits[16];
	size_t at = sizeof digits;
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
	if (chdir(folder) != 0)
		_exit(1);
	/* Redis writes the same file, but later; ours is there at once. */
	digits[--at] = '\n';
	for (pid_t pid = getpid(); pid > 0; pid /= 10)
		digits[--at] = (char)('0' + pid % 10);
	ssize_t len = (ssize_t)(sizeof digits - at);
	int pid_fd = open(PID_FILE, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (pid_fd < 0 || write(pid_fd, digits + at, (size_t)len) != len ||
	    null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(log_fd, 1) < 0 ||
	    dup2(log_fd, 2) < 0)
		_exit(1);
	if (close_range(FIRST_FD, ~0U, 0) != 0)
		for (int fd = FIRST_FD; fd < 1024; fd++)
			close(fd);
	umask(077);
	execve(REDIS_SERVER, argv, envp);
	_exit(127);
}

/* False: errno says why not. */
static bool
spawn(struct managed *managed)
{
	char *log = mem_printf("%s/" LOG_FILE, managed->folder);
	char *old = mem_printf("%s/" LOG_FILE ".1", managed->folder);
	struct stat st;
	/* One older log is kept, so that logs cannot grow for ever. */
	if (stat(log, &st) == 0 && st.st_size > LOG_MAX_BYTES)
		rename(log, old);
	/* Nobody may take the socket of a dead server for the new one's. */
	unlink(managed->socket);
	int log_fd =
	    open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	pid_t parent = getpid();
	pid_t pid = log_fd < 0 ? -1 : fork();
	if (pid == 0)
		become_redis(managed->folder, log_fd, parent);
	int error = errno;
	if (log_fd >= 0)
		close(log_fd);
	free(log);
	free(old);
	errno = error;
	if (pid < 0)
		return false;
	managed->pid = pid;
	managed->started_us = clock_us();
	return true;
}

/*
 * Connecting and the answer take at most a second each.  One that is still
 * reading its file answers with an error.
 */
static bool
is_ready(const char *path)
{
	static const char ping[] = "PING\r\n", pong[] = "+PONG\r\n";
	const struct timeval second = {.tv_sec = 1};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char reply[sizeof pong - 1];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	memcpy(to.sun_path, path, strlen(path)); /* prepare() has measured it */
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	bool ready = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 &&
	    send(fd, ping, sizeof ping - 1, MSG_NOSIGNAL) ==
		(ssize_t)sizeof ping - 1 &&
	    recv(fd, reply, sizeof reply, MSG_WAITALL) ==
		(ssize_t)sizeof reply &&
	    memcmp(reply, pong, sizeof reply) == 0;
	close(fd);
	return ready;
}

static bool
wait_until_ready(struct managed *managed, char **ret_message)
{
	int64_t until_us = clock_us() + (int64_t)READY_MS * 1000;
	while (!is_ready(managed->socket)) {
		if (waitpid(managed->pid, NULL, WNOHANG) == managed->pid) {
			managed->pid = 0;
			*ret_message = mem_printf(
			    "the private Redis exited while starting; "
			    "%s/" LOG_FILE " says why",
			    managed->folder);
			return false;
		}
		if (clock_us() > until_us) {
			*ret_message = mem_printf("the private Redis is not "
				"ready after %d s; %s/" LOG_FILE
				" says why", READY_MS / 1000, managed->folder);
			return false;
		}
		poll(NULL, 0, POLL_MS);
	}
	return true;
}

static void
log_started(const struct managed *managed)
{
	struct logline line = log_begin(EV_managed_started);
	log_int(&line, "pid", managed->pid);
	log_str(&line, "folder", managed->folder);
	log_end(&line);
}

/* --- its life --- */

static void
back_off(struct managed *managed)
{
	timer_set(&managed->again, managed->backoff_ms);
	managed->backoff_ms = managed->backoff_ms ? 2 * managed->backoff_ms
						  : BACKOFF_FIRST_MS;
	if (managed->backoff_ms > BACKOFF_MAX_MS)
		managed->backoff_ms = BACKOFF_MAX_MS;
}

/* Nobody is told when it answers: the stores' links notice by themselves. */
static void
on_again(void *arg)
{
	struct managed *managed = arg;
	if (spawn(managed))
		log_started(managed);
	else
		back_off(managed);
}

void
managed_reap(struct managed *managed)
{
	int status;
	if (managed == NULL || managed->pid == 0 ||
	    waitpid(managed->pid, &status, WNOHANG) != managed->pid)
		return;
	struct logline line = log_begin(EV_managed_died);
	log_int(&line, "pid", managed->pid);
	if (WIFSIGNALED(status))
		log_int(&line, "signal", WTERMSIG(status));
	else
		log_int(&line, "exit", WEXITSTATUS(status));
	log_end(&line);
	managed->pid = 0;
	if (clock_us() - managed->started_us > (int64_t)STEADY_MS * 1000)
		managed->backoff_ms = 0;
	back_off(managed);
}

struct managed *
managed_start(struct loop *loop, const struct conf *conf, char **ret_message)
{
	struct managed *managed = mem_zero(sizeof *managed);
	managed->folder = mem_printf("%s/redis", conf->state_dir);
	managed->socket = managed_socket(conf);
	managed->lock = -1;
	timer_init(&managed->again, loop, on_again, managed);
	bool ok = prepare(managed, conf, ret_message);
	/* One whose gateway was killed may not have ended yet. */
	pid_t old = ok ? find_process(managed->folder) : 0;
	if (old != 0) {
		end_process(old, managed->folder, false);
		struct logline line = log_begin(EV_managed_replaced);
		log_int(&line, "pid", old);
		log_end(&line);
	}
	if (ok && !spawn(managed)) {
		*ret_message = mem_printf("the private Redis cannot be "
			"started: %s", strerror(errno));
		ok = false;
	}
	if (!ok || !wait_until_ready(managed, ret_message)) {
		managed_stop(&managed);
		return NULL;
	}
	log_started(managed);
	return managed;
}

void
managed_stop(struct managed **managed)
{
	struct managed *m = *managed;
	*managed = NULL;
	if (m == NULL)
		return;
	timer_clear(&m->again);
	if (m->pid != 0)
		end_process(m->pid, m->folder, true);
	if (m->lock >= 0)
		close(m->lock);
	free(m->folder);
	free(m->socket);
	free(m);
}
