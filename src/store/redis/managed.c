/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop/log.h"
#include "base/loop/own_file.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/redis/managed.h"
#include "store/redis/managed_process.h"

enum {
	READY_MS = 30000,
	LOOK_MS = 10,
	BACKOFF_FIRST_MS = 100,
	BACKOFF_MAX_MS = 5000,
	STEADY_MS = 30000, /* one that ran so long is restarted at once */
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

static char *
folder_of(const struct conf *conf)
{
	return mem_printf("%s/redis", conf->state_dir);
}

char *
managed_socket(const struct conf *conf)
{
	return mem_printf(
	    "%s/redis/" MANAGED_PROCESS_SOCKET, conf->state_dir);
}

/* --- the state folder --- */

/* *ret_message says why path cannot be used; false. */
static bool
cannot_use(char *path, const char *why, char **ret_message)
{
	*ret_message = mem_printf("%s cannot be used: %s", path, why);
	free(path);
	return false;
}

static bool
is_short(const struct managed *managed, char **ret_message)
{
	size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;
	if (strlen(managed->socket) <= most)
		return true;
	*ret_message = mem_printf("state_dir is too long: the path %s "
		"of the private Redis' socket is %zu bytes long, and "
		"the system allows %zu", managed->socket,
	    strlen(managed->socket), most);
	return false;
}

/* Two gateways that share a folder would end each other's Redis. */
static bool
take_lock(struct managed *managed, const struct conf *conf, int state_dir,
    char **ret_message)
{
	const char *why;
	managed->lock = own_file_open(state_dir, "lock", O_RDWR, &why);
	if (managed->lock < 0)
		return cannot_use(mem_printf("%s/lock", conf->state_dir), why,
		    ret_message);
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

/* The folder of its files, in which nobody else makes any from here on. */
static bool
prepare_folder(const struct managed *managed, int state_dir, char **ret_message)
{
	const char *why;
	int folder = own_file_folder(state_dir, "redis", &why);
	if (folder < 0)
		return cannot_use(
		    mem_str(span_str(managed->folder)), why, ret_message);
	bool ok = fchmod(folder, 0700) == 0;
	if (!ok)
		*ret_message = mem_printf("%s cannot be written to: %s",
		    managed->folder, strerror(errno));
	ok = ok && managed_process_configure(folder, managed->folder,
	    ret_message);
	close(folder);
	return ok;
}

static bool
prepare(struct managed *managed, const struct conf *conf, char **ret_message)
{
	const char *why;
	if (!is_short(managed, ret_message))
		return false;
	int state_dir = own_file_state_dir(conf->state_dir, &why);
	if (state_dir < 0)
		return cannot_use(mem_printf("state_dir %s", conf->state_dir),
		    why, ret_message);
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

/* One whose gateway was killed may not have ended yet. */
static void
end_old(struct managed *managed)
{
	pid_t pid = managed_process_find(managed->folder);
	if (pid == 0)
		return;
	managed_process_end(pid, managed->folder, false);
	struct logline line = log_begin(EV_managed_replaced);
	log_int(&line, "pid", pid);
	log_end(&line);
}

/* --- running --- */

static bool
run(struct managed *managed)
{
	/* Nobody may take the socket of a dead server for the new one's. */
	unlink(managed->socket);
	pid_t pid = managed_process_spawn(managed->folder);
	if (pid < 0)
		return false;
	managed->pid = pid;
	managed->started_us = clock_us();
	return true;
}

static void
say_started(const struct managed *managed)
{
	struct logline line = log_begin(EV_managed_started);
	log_int(&line, "pid", managed->pid);
	log_str(&line, "folder", managed->folder);
	log_end(&line);
}

static bool
wait_until_ready(struct managed *managed, char **ret_message)
{
	int64_t until_us = clock_us() + (int64_t)READY_MS * 1000;
	while (managed_process_ask(managed->socket) != MANAGED_PROCESS_READY) {
		if (waitpid(managed->pid, NULL, WNOHANG) == managed->pid) {
			managed->pid = 0;
			*ret_message = mem_printf(
			    "the private Redis exited while starting; "
			    "%s/" MANAGED_PROCESS_LOG " says why",
			    managed->folder);
			return false;
		}
		if (clock_us() > until_us) {
			*ret_message = mem_printf("the private Redis is not "
				"ready after %d s; %s/" MANAGED_PROCESS_LOG
				" says why", READY_MS / 1000, managed->folder);
			return false;
		}
		poll(NULL, 0, LOOK_MS);
	}
	return true;
}

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
	if (run(managed))
		say_started(managed);
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

/* --- life --- */

struct managed *
managed_start(struct loop *loop, const struct conf *conf, char **ret_message)
{
	struct managed *managed = mem_zero(sizeof *managed);
	managed->folder = folder_of(conf);
	managed->socket = managed_socket(conf);
	managed->lock = -1;
	timer_init(&managed->again, loop, on_again, managed);
	bool ok = prepare(managed, conf, ret_message);
	if (ok) {
		end_old(managed);
		ok = run(managed);
		if (!ok)
			*ret_message = mem_printf("the private Redis cannot be "
				"started: %s", strerror(errno));
	}
	if (!ok || !wait_until_ready(managed, ret_message)) {
		managed_stop(&managed);
		return NULL;
	}
	say_started(managed);
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
		managed_process_end(m->pid, m->folder, true);
	if (m->lock >= 0)
		close(m->lock);
	free(m->folder);
	free(m->socket);
	free(m);
}
