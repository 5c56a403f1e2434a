/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "operators/admin/admin.h"
#include "operators/admin/admin_private.h"

/*
 * Operators, probes and collectors of metrics are few; limits.connections does
 * not count them.  The descriptors for them are kept back
 * (commands/descriptors.c).  Beyond these, one that is idle makes way
 * (front/places.h).
 */
enum { CONNECTIONS_MAX = 64 };

struct admin *
admin_new(struct loop *loop, const struct conf *conf,
    struct store_health *health, int fd, const struct admin_view *view)
{
	struct admin *admin = mem_zero(sizeof *admin);
	list_init(&admin->machines.list);
	admin->loop = loop;
	admin->conf = conf_ref(conf);
	admin->now = conf_ref(conf);
	admin->loaded_ms = view->started_ms;
	admin_request_budget(admin, conf);
	admin->view = *view;
	admin->places.most = CONNECTIONS_MAX;
	admin->places.reserved = true;
	admin->health = health;
	admin->store = store_new(
	    loop, conf, &admin->budget, health, admin->store_took);
	admin->traffic =
	    admin_traffic_new(loop, view->workers, conf->workers);
	admin->front = front_new(loop, conf, &admin->budget, &admin->places,
	    NULL, admin_request_new, admin);
	front_listen(admin->front, fd, FRONT_PLAIN, false);
	return admin;
}

void
admin_reload(struct admin *admin, const struct conf *conf)
{
	if (admin == NULL)
		return;
	const struct conf *old = admin->now;
	admin->now = conf_ref(conf);
	admin->loaded_ms = clock_wall_ms();
	admin->reloads[true]++;
	json_decref(admin->refused);
	admin->refused = NULL;
	admin_request_budget(admin, conf);
	front_reload(admin->front, conf);
	conf_unref(&old);
}

void
admin_reload_tell(struct admin *admin, enum admin_reload_news news,
    const struct complaints *complaints)
{
	if (admin == NULL ||
	    (news == ADMIN_RELOAD_KEYS && complaints->count == 0))
		return;
	json_t **shown = &admin->keys;
	const char *member = "changes";
	if (news == ADMIN_RELOAD_REFUSED) {
		shown = &admin->refused;
		member = "errors";
		admin->reloads[false]++;
	} else if (news == ADMIN_RELOAD_PARTIAL) {
		shown = &admin->restart;
		member = NULL;
	}
	json_decref(*shown);
	*shown = admin_status_reload(member, complaints);
}

void
admin_drain(struct admin *admin)
{
	admin->draining = true;
}

void
admin_free(struct admin **admin)
{
	struct admin *a = *admin;
	*admin = NULL;
	if (a == NULL)
		return;
	struct machine *machine;
	LIST_EACH(machine, &a->machines.list, item)
		machine_end(machine);
	admin_traffic_free(&a->traffic);
	front_free(&a->front);
	store_free(&a->store);
	conf_unref(&a->now);
	conf_unref(&a->conf);
	json_decref(a->refused);
	json_decref(a->restart);
	json_decref(a->keys);
	free(a);
}
