/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stddef.h>
#ifdef HAVE_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#include "gate/worker.h"
#include "operators/commands/service_manager.h"

void
service_manager_tell(const char *state)
{
#ifdef HAVE_SYSTEMD
	sd_notify(0, state);
#else
	(void)state;
#endif
}

void
service_manager_tell_reload(int64_t now_us)
{
#ifdef HAVE_SYSTEMD
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, now_us);
#else
	(void)now_us;
#endif
}

int
service_manager_sockets(char ***ret_names)
{
	*ret_names = NULL;
#ifdef HAVE_SYSTEMD
	_Static_assert(
	    SERVICE_MANAGER_FIRST_FD == SD_LISTEN_FDS_START, "sockets");
	return sd_listen_fds_with_names(1, ret_names);
#else
	return 0;
#endif
}

/* --- the watchdog --- */

enum { SIGNS = 3 }; /* in the time after which we are taken for hung */

/* A worker has come round to its messages. */
static void
on_pong(void *arg)
{
	struct watchdog *w = arg;
	if (--w->silent > 0 || w->pause_ms == 0)
		return;
	service_manager_tell("WATCHDOG=1");
	timer_set(&w->timer, w->pause_ms);
}

static void
ping_workers(void *arg)
{
	struct watchdog *w = arg;
	w->silent = w->n_workers;
	for (unsigned i = 0; i < w->n_workers; i++)
		worker_post_errand(
		    w->workers[i], NULL, w->loop, on_pong, w);
}

void
service_manager_watchdog_start(struct watchdog *w, struct loop *loop,
    struct worker *const *workers, unsigned n_workers)
{
	uint64_t allowed_us = 0;
	*w = (struct watchdog){
	    .workers = workers, .n_workers = n_workers, .loop = loop};
	timer_init(&w->timer, loop, ping_workers, w);
#ifdef HAVE_SYSTEMD
	if (sd_watchdog_enabled(0, &allowed_us) <= 0)
		allowed_us = 0;
#endif
	if (allowed_us == 0)
		return;
	w->pause_ms = (int64_t)(allowed_us / 1000 / SIGNS);
	if (w->pause_ms == 0)
		w->pause_ms = 1;
	timer_set(&w->timer, 0);
}

void
service_manager_watchdog_stop(struct watchdog *w)
{
	w->pause_ms = 0;
	timer_clear(&w->timer);
}
