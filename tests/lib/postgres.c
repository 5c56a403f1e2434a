/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/ports.h"
#include "lib/postgres.h"

enum { PATIENCE_MS = 60000, LOOK_MS = 20, WORDS = 24, PIDS = 64 };

static _Noreturn void
give_up(const char *what)
{
	fprintf(stderr, "# PostgreSQL of the test: %s\n", what);
	abort();
}

/* The server refuses to be root's. */
static const struct passwd *
other_user(void)
{
	if (geteuid() != 0)
		return NULL;
	const struct passwd *user = getpwnam("postgres");
	return user != NULL ? user : getpwnam("nobody");
}

static void
become_other_user(void)
{
	const struct passwd *user = other_user();
	if (user != NULL &&
	    (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
		_exit(126);
}

/* What a program says goes to a file of the folder. */
static pid_t
run(struct postgres *postgres, const char *program, const char *const *args)
{
	pid_t parent = getpid(), pid = fork();
	if (pid < 0)
		give_up(strerror(errno));
	if (pid > 0)
		return pid;
	char path[512];
	become_other_user();
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
	if (getppid() != parent || chdir(postgres->folder) != 0 ||
	    !freopen("output", "a", stdout) || dup2(1, 2) < 0)
		_exit(125);
	signal(SIGPIPE, SIG_DFL);
	snprintf(path, sizeof path, "%s/%s", POSTGRES_BIN, program);
	/* initdb looks for the others where its own name says that it is. */
	const char *words[WORDS] = {path};
	for (size_t i = 1; args[i] != NULL; i++)
		words[i] = args[i];
	union {
		const char *const *args;
		char *const *argv;
	} of_execv = {words};
	execv(path, of_execv.argv);
	_exit(127);
}

static void
make_cluster(struct postgres *postgres)
{
	static const char *const args[] = {"initdb", "-D", "data", "-N",
	    "-U", "once", "-A", "trust", "-E", "UTF8", "--locale=C", NULL};
	const struct passwd *user = other_user();
	if (user != NULL &&
	    chown(postgres->folder, user->pw_uid, user->pw_gid) != 0)
		give_up(strerror(errno));
	int status;
	pid_t pid = run(postgres, "initdb", args);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		give_up("initdb failed");
}

PGconn *
postgres_connection(const struct postgres *postgres)
{
	char *uri = postgres_uri(postgres, "once");
	PGconn *client = PQconnectdb(uri);
	free(uri);
	if (PQstatus(client) == CONNECTION_OK)
		return client;
	PQfinish(client);
	return NULL;
}

static void
start_server(struct postgres *postgres)
{
	char port[16];
	snprintf(port, sizeof port, "%d", postgres->port);
	const char *args[WORDS] = {"postgres", "-D", "data", "-k",
	    postgres->folder, "-h", "127.0.0.1", "-p", port, "-c",
	    "fsync=off", "-c", "full_page_writes=off", "-c",
	    "shared_buffers=16MB", "-c", "max_connections=40", NULL};
	postgres->pid = run(postgres, "postgres", args);
	for (int ms = 0; ; ms += LOOK_MS) {
		postgres->client = postgres_connection(postgres);
		if (postgres->client != NULL)
			break;
		if (ms > PATIENCE_MS)
			give_up("does not answer");
		if (waitpid(postgres->pid, NULL, WNOHANG) == postgres->pid)
			give_up("ended while it started");
		poll(NULL, 0, LOOK_MS);
	}
	postgres_just(postgres, NULL, "SET client_min_messages = error");
}

struct postgres *
postgres_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	struct postgres *postgres = calloc(1, sizeof *postgres);
	if (postgres == NULL)
		give_up("no memory");
	folder_make("postgres", postgres->folder);
	postgres->port = (int)ports_free();
	make_cluster(postgres);
	start_server(postgres);
	return postgres;
}

/* The server's processes: each session is one. */
static size_t
children(const struct postgres *postgres, pid_t pids[PIDS])
{
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children",
	    (int)postgres->pid, (int)postgres->pid);
	FILE *file = fopen(path, "re");
	int pid;
	while (file != NULL && count < PIDS && fscanf(file, "%d", &pid) == 1)
		pids[count++] = pid;
	if (file != NULL)
		fclose(file);
	return count;
}

static void
signal_all(const struct postgres *postgres, int signal_number)
{
	pid_t pids[PIDS];
	kill(postgres->pid, signal_number);
	size_t count = children(postgres, pids);
	for (size_t i = 0; i < count; i++)
		kill(pids[i], signal_number);
}

void
postgres_freeze(struct postgres *postgres)
{
	int status;
	signal_all(postgres, SIGSTOP);
	if (waitpid(postgres->pid, &status, WUNTRACED) != postgres->pid ||
	    !WIFSTOPPED(status))
		give_up("does not freeze");
}

void
postgres_thaw(struct postgres *postgres)
{
	signal_all(postgres, SIGCONT);
}

void
postgres_stop(struct postgres **postgres)
{
	struct postgres *p = *postgres;
	*postgres = NULL;
	if (p == NULL)
		return;
	PQfinish(p->client);
	if (p->pid > 0) {
		signal_all(p, SIGCONT);
		kill(p->pid, SIGQUIT);
		waitpid(p->pid, NULL, 0);
	}
	folder_remove(p->folder);
	free(p);
}

char *
postgres_uri(const struct postgres *postgres, const char *user)
{
	char *uri;
	if (asprintf(&uri, "postgresql://%s@/postgres?host=%s&port=%d", user,
		postgres->folder, postgres->port) < 0)
		give_up("no memory");
	return uri;
}

static PGresult *__attribute__((format(printf, 2, 0)))
execute(PGconn *on, const char *fmt, va_list args)
{
	char *sql;
	if (vasprintf(&sql, fmt, args) < 0)
		give_up("no memory");
	PGresult *result = PQexec(on, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
		fprintf(stderr, "# %s\n", sql);
		give_up(PQresultErrorMessage(result));
	}
	free(sql);
	return result;
}

void
postgres_just(struct postgres *postgres, PGconn *on, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	PQclear(execute(on != NULL ? on : postgres->client, fmt, args));
	va_end(args);
}

char *
postgres_text(struct postgres *postgres, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	PGresult *result = execute(postgres->client, fmt, args);
	va_end(args);
	if (PQntuples(result) == 0)
		give_up("no row");
	char *text = strdup(PQgetvalue(result, 0, 0));
	PQclear(result);
	return text;
}

long long
postgres_number(struct postgres *postgres, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	PGresult *result = execute(postgres->client, fmt, args);
	va_end(args);
	if (PQntuples(result) == 0)
		give_up("no row");
	long long number = atoll(PQgetvalue(result, 0, 0));
	PQclear(result);
	return number;
}
