/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/loop/fd_reserve.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/load/certificates.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/key_changes.h"
#include "conf/review/warnings.h"
#include "gate/sweeper.h"
#include "gate/worker.h"
#include "http/front/places.h"
#include "http/front/selftest.h"
#include "messages/relay/relays.h"
#include "messages/source/sources.h"
#include "operators/admin/admin.h"
#include "operators/commands/descriptors.h"
#include "operators/commands/listeners.h"
#include "operators/commands/print.h"
#include "operators/commands/serve.h"
#include "operators/commands/service_manager.h"
#include "operators/commands/token_watch.h"
#include "operators/probe/startup_check.h"
#include "store/journal/journal_awaited.h"
#include "store/journal/journal_folder.h"
#include "store/redis/managed.h"
#include "store/redis/resp.h"
#include "store/redis/sentinel_monitor.h"

struct thread {
	pthread_t id;
	struct worker *worker;
	struct serve *serve;
};

struct serve {
	struct loop *loop;
	const struct conf *conf;
	const struct conf *now; /* of the last reload; counted */
	struct budget budget;
	struct places places; /* for clients, in all workers */
	struct store_health *health;
	struct journal_awaited *awaited;
	struct sentinel_monitor *sentinels; /* NULL: the file names none */
	struct managed *managed;
	struct inherited inherited; /* sockets that are not taken yet */
	struct listeners listeners;
	struct listeners admin_listeners; /* none, or one */
	const char **addresses; /* the texts of listeners */
	struct admin *admin; /* NULL: there is none */
	int64_t started_ms;  /* since 1970 */
	struct journal **journals; /* one for each worker, and its own */
	struct thread *threads;
	struct worker **workers; /* those of the threads */
	struct watchdog watchdog;
	struct token_watch tokens;
	unsigned running; /* threads that have not ended */
	bool draining;
	int64_t adopting;  /* workers that do not serve what was reloaded yet */
	bool reload_again; /* SIGHUP came meanwhile */
	int signal_fd;
	struct watch *signals;
	struct log_hook log;
};

/* --- signals --- */

/* Signals come to the main thread alone, as events of its loop. */
static void
block_signals(sigset_t *ret_set)
{
	sigemptyset(ret_set);
	sigaddset(ret_set, SIGTERM);
	sigaddset(ret_set, SIGINT);
	sigaddset(ret_set, SIGHUP);
	sigaddset(ret_set, SIGCHLD);
	must(pthread_sigmask(SIG_BLOCK, ret_set, NULL) == 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

static void
begin_drain(struct serve *s)
{
	if (s->draining)
		return;
	s->draining = true;
	log_event(EV_draining);
	service_manager_tell("STOPPING=1");
	service_manager_watchdog_stop(&s->watchdog);
	if (s->admin != NULL)
		admin_drain(s->admin);
	for (int64_t i = 0; i < s->conf->workers; i++)
		worker_post_drain(s->threads[i].worker);
}

/* Logs the warnings of check; certificates have an event of their own. */
static void
log_warnings(const struct conf *conf)
{
	struct complaints complaints = {0};
	warnings_find(conf, clock_wall_ms(), &complaints);
	conf_load_log(conf, &complaints, EV_configuration_warning);
}

static void on_adopted(void *arg);

/* Gives the configuration to every worker and to the admin interface. */
static void
adopt_conf(struct serve *s, const struct conf *next)
{
	log_level = (int)next->log_level;
	certificates_log(next);
	/* The rest of what leads to the store's Redis waits for a restart. */
	conf_restart_renew(s->conf, next);
	atomic_store(&s->budget.limit, (size_t)next->in_flight_bytes);
	conf_share_keys(next, s->now);
	s->adopting = s->conf->workers;
	conf_unref(&s->now);
	s->now = conf_ref(next);
	for (int64_t i = 0; i < s->conf->workers; i++)
		worker_post_errand(
		    s->threads[i].worker, next, s->loop, on_adopted, s);
	admin_reload(s->admin, next);
}

/*
 * Reads the file again.  One that cannot be adopted changes nothing: the log
 * says so, and /status does until a reload succeeds.
 */
static void
reload_file(struct serve *s)
{
	struct complaints complaints = {0};
	if (s->adopting > 0) {
		s->reload_again = true;
		return;
	}
	service_manager_tell_reload(clock_us());
	const struct conf *next = conf_load(s->conf->file, false, &complaints);
	bool fits = next != NULL &&
	    (s->conf->store.redis.cluster.count == 0 ||
		conf_restart_finds(s->now, next, &complaints)) &&
	    conf_restart_has_events(
		s->conf->store.events_maxlen > 0, next, &complaints);
	if (fits) {
		conf_restart_warn(s->conf, next, &complaints);
		conf_load_place(next, &complaints);
		admin_reload_tell(
		    s->admin, ADMIN_RELOAD_PARTIAL, &complaints);
		conf_load_log(next, &complaints, EV_reload_partial);
		key_changes_find(s->now, next, false, &complaints);
		conf_load_place(next, &complaints);
		admin_reload_tell(s->admin, ADMIN_RELOAD_KEYS, &complaints);
		conf_load_log(next, &complaints, EV_reload_keys);
		log_warnings(next);
		adopt_conf(s, next);
	} else {
		if (next != NULL)
			conf_load_place(next, &complaints);
		admin_reload_tell(
		    s->admin, ADMIN_RELOAD_REFUSED, &complaints);
		complaints_log(&complaints, s->conf->file, EV_reload_refused);
		service_manager_tell("READY=1");
	}
	conf_unref(&next);
}

/* A reload is logged when no worker serves the old file any more. */
static void
on_adopted(void *arg)
{
	struct serve *s = arg;
	if (--s->adopting > 0)
		return;
	log_event(EV_reloaded);
	if (s->draining)
		return; /* the manager was told of the end meanwhile */
	service_manager_tell("READY=1");
	if (s->reload_again) {
		s->reload_again = false;
		reload_file(s);
	}
}

static void
on_signal(void *arg, unsigned events)
{
	struct serve *s = arg;
	struct signalfd_siginfo info;
	(void)events;
	while (read(s->signal_fd, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			begin_drain(s);
		else if (info.ssi_signo == SIGHUP && !s->draining)
			reload_file(s);
		else if (info.ssi_signo == SIGCHLD && s->managed != NULL)
			managed_reap(s->managed);
	}
}

/* --- workers --- */

static void
on_worker_ended(void *arg)
{
	struct serve *s = arg;
	if (--s->running == 0)
		loop_stop(s->loop);
}

static void *
thread_main(void *arg)
{
	struct thread *thread = arg;
	worker_run(thread->worker);
	loop_post(thread->serve->loop, on_worker_ended, thread->serve);
	return NULL;
}

static void
start_workers(struct serve *s)
{
	static const struct worker_part_kind *const parts[] = {
	    &sweeper_kind, &sources_kind, &relays_kind, NULL};
	size_t n_sockets = s->listeners.count;
	struct worker_socket *sockets = mem_zero(n_sockets * sizeof *sockets);
	s->running = (unsigned)s->conf->workers;
	s->threads = mem_zero(s->running * sizeof *s->threads);
	s->workers = mem_zero(s->running * sizeof *s->workers);
	for (unsigned i = 0; i < s->running; i++) {
		struct thread *thread = &s->threads[i];
		for (size_t k = 0; k < n_sockets; k++)
			sockets[k] = (struct worker_socket){
			    s->listeners.list[k].fds[i],
			    s->listeners.list[k].entry,
			    s->listeners.list[k].passed};
		thread->serve = s;
		thread->worker = worker_new(s->conf, &s->budget, &s->places,
		    s->health, s->awaited, i, sockets, n_sockets,
		    s->journals[i], parts);
		s->workers[i] = thread->worker;
	}
	for (unsigned i = 0; i < s->running; i++)
		must(pthread_create(&s->threads[i].id, NULL, thread_main,
			 &s->threads[i]) == 0);
	free(sockets);
	free(s->journals);
}

/* A state_dir that cannot be written is found before anything is served. */
static bool
open_journals(struct serve *s, char **ret_message)
{
	unsigned workers = (unsigned)s->conf->workers;
	s->journals = mem_zero(workers * sizeof *s->journals);
	for (unsigned i = 0; i < workers; i++)
		if (!journal_folder_open(s->conf->state_dir, i, &s->journals[i],
			ret_message)) {
			while (i-- > 0)
				journal_close(&s->journals[i]);
			free(s->journals);
			return false;
		}
	return true;
}

/* --- start and end --- */

static void
log_ready(const struct serve *s)
{
	struct logline line = log_begin(EV_ready);
	log_list(&line, "listen", s->addresses, s->listeners.count);
	if (s->admin_listeners.count > 0)
		log_str(&line, "admin", s->admin_listeners.list[0].text);
	else
		log_word(&line, "admin", "null");
	log_str(&line, "version", PACKAGE_VERSION);
	log_int(&line, "workers", s->conf->workers);
	log_end(&line);
	log_flush();
	service_manager_tell("READY=1");
}

/*
 * Makes and checks all that the first worker needs.  False with a message,
 * which the caller frees.
 */
static bool
make_ready(struct serve *s, char **ret_message)
{
	certificates_log(s->conf);
	struct descriptors d =
	    descriptors_share(s->conf, descriptors_raise());
	s->places.most = (unsigned)d.clients;
	fd_reserve = (struct fd_reserve){
	    (int)(d.limit - d.reserve), (size_t)d.idle_each};
	if (d.clients != s->conf->max_connections)
		descriptors_log(&d);
	if (!selftest(s->conf, ret_message) ||
	    !listeners_inherit(s->conf, &s->inherited, ret_message))
		return false;
	if (s->conf->store.redis.managed) {
		s->managed = managed_start(s->loop, s->conf, ret_message);
		if (s->managed == NULL)
			return false;
	}
	if (startup_check(s->conf, ret_message) == STARTUP_CHECK_REFUSED)
		return false;
	/* A Redis that is away may come; requests get 503 until then. */
	free(*ret_message);
	*ret_message = NULL;
	/* The listening sockets, then the journals; all of them or none. */
	if (!listeners_open(
		s->conf, &s->inherited, &s->listeners, ret_message))
		return false;
	if ((s->conf->admin.text == NULL ||
		listeners_open_admin(s->conf, &s->inherited,
		    &s->admin_listeners, ret_message)) &&
	    open_journals(s, ret_message))
		return true;
	listeners_close(&s->admin_listeners);
	listeners_close(&s->listeners);
	return false;
}

static void
run_until_ended(struct serve *s)
{
	s->addresses = mem_zero(s->listeners.count * sizeof *s->addresses);
	for (size_t i = 0; i < s->listeners.count; i++)
		s->addresses[i] = s->listeners.list[i].text;
	if (s->conf->store.redis.sentinels.count > 0)
		s->sentinels = sentinel_monitor_new(s->loop, s->conf,
		    &s->conf->store.redis, store_health_master(s->health));
	start_workers(s);
	if (s->admin_listeners.count > 0) {
		const struct listening *own = &s->admin_listeners.list[0];
		/* It reads our members until the workers have ended. */
		const struct admin_view view = {
		    .address = own->text,
		    .listen = s->addresses,
		    .n_listen = s->listeners.count,
		    .workers = s->workers,
		    .started_ms = s->started_ms,
		};
		s->admin = admin_new(
		    s->loop, s->conf, s->health, own->fds[0], &view);
	}
	log_ready(s);
	service_manager_watchdog_start(
	    &s->watchdog, s->loop, s->workers, s->running);
	token_watch_start(&s->tokens, s->loop, &s->now);
	loop_run(s->loop);
	timer_clear(&s->tokens.timer);
	admin_free(&s->admin);
	for (int64_t i = 0; i < s->conf->workers; i++) {
		must(pthread_join(s->threads[i].id, NULL) == 0);
		worker_free(&s->threads[i].worker);
	}
	free(s->threads);
	free(s->workers);
	free(s->addresses);
	sentinel_monitor_free(&s->sentinels);
	listeners_free(&s->admin_listeners);
	listeners_free(&s->listeners);
}

static int
serve_conf(const struct conf *conf)
{
	sigset_t set;
	block_signals(&set);
	struct serve s = {
	    .conf = conf,
	    .now = conf_ref(conf),
	    .loop = loop_new(),
	    .health = store_health_new(),
	    .awaited = journal_awaited_new(),
	    .started_ms = clock_wall_ms(),
	    .signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC),
	};
	must(s.signal_fd >= 0);
	atomic_store(&s.budget.limit, (size_t)conf->in_flight_bytes);
	s.signals = watch_new(s.loop, s.signal_fd, WATCH_READ, on_signal, &s);
	log_attach(&s.log, s.loop);

	char *message = NULL;
	bool started = make_ready(&s, &message);
	if (!started) {
		log_event_str(EV_fatal, "error", message);
		log_flush();
		free(message);
	}
	listeners_drop_inherited(&s.inherited);
	if (started)
		run_until_ended(&s);
	managed_stop(&s.managed);
	if (started)
		log_event(EV_stopped);
	arena_trim();
	resp_trim();
	log_flush_last();
	log_detach(&s.log);
	watch_free(&s.signals);
	loop_free(&s.loop);
	store_health_free(&s.health);
	journal_awaited_free(&s.awaited);
	close(s.signal_fd);
	conf_unref(&s.now);
	return started ? 0 : 1;
}

int
serve_run(const struct command_line *line)
{
	const char *file = line->file;
	const struct conf *conf = print_unless_valid(file);
	if (conf == NULL)
		return 1;
	log_level = (int)conf->log_level;
	log_open(conf->instance);
	struct logline starting = log_begin(EV_starting);
	log_str(&starting, "version", PACKAGE_VERSION);
	log_str(&starting, "configuration", file);
	log_end(&starting);
	log_warnings(conf);
	int code = serve_conf(conf);
	conf_unref(&conf);
	return code;
}
