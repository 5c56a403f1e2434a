/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "gate/worker.h"
#include "operators/admin/admin_answer.h"
#include "operators/admin/admin_body.h"
#include "operators/admin/admin_metrics.h"
#include "operators/admin/admin_private.h"
#include "store/record/answer_json.h"
#include "store/redis/master.h"
#include "store/store_health.h"

/* --- /healthz, /readyz and /status --- */

json_t *
admin_status_reload(const char *member, const struct complaints *complaints)
{
	json_t *list = json_array();
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		bool placed = c->line > 0;
		json_array_append_new(list,
		    json_pack("{s:o*, s:o*, s:o*, s:o}", "member",
			c->pointer ? answer_json_text(span_str(c->pointer))
				   : NULL,
			"line",
			placed ? json_integer((json_int_t)c->line) : NULL,
			"column",
			placed ? json_integer((json_int_t)c->column) : NULL,
			"error", answer_json_text(span_str(c->message))));
	}
	return member == NULL
	    ? list
	    : json_pack("{s:o, s:o}", "time", admin_body_time(clock_wall_ms()),
		  member, list);
}

/* Redis is asked whether it answers: a link may be up to a frozen one. */
enum after
admin_status(struct admin_request *a)
{
	static const struct key_id nobody;
	if (a->endpoint->what == ADMIN_STATUS_HEALTH)
		return admin_answer_json(
		    a, 200, json_pack("{s:s}", "status", "ok"));
	records_show(a->admin->store, &a->look, &nobody, RECORDS_HEAD);
	return admin_request_to(a, ADMIN_PROBED, WAIT);
}

/* Says why Redis, which answers, is not given new claims; NULL: it is. */
static const char *
fault_of(const struct admin *admin)
{
	return store_is_up(admin->store)
	    ? info_fault_messages[store_health_fault(admin->health)]
	    : NULL;
}

/* A worker whose journal cannot be written takes no new claims. */
static bool
is_journal_writable(const struct admin *admin)
{
	for (int64_t i = 0; i < admin->conf->workers; i++)
		if (atomic_load(
			&admin->view.workers[i]->journal_replay.unwritable))
			return false;
	return true;
}

/*
 * Counts requests and executions, of all workers together and of each, and adds
 * up the counts of their journals.
 */
static json_t *
counts_json(const struct admin *admin, json_t **ret_journal)
{
	json_int_t requests = 0, executions = 0;
	json_int_t entries = 0, blocked = 0, foreign = 0, aside = 0;
	json_t *each = json_array();
	for (int64_t i = 0; i < admin->conf->workers; i++) {
		const struct worker *w = admin->view.workers[i];
		json_int_t r = atomic_load(&w->requests.count);
		json_int_t e = atomic_load(&w->executions.count);
		requests += r;
		executions += e;
		json_array_append_new(each,
		    json_pack("{s:I, s:I}", "requests", r, "executions", e));
		const struct meter *m = &w->meter;
		entries += (json_int_t)counter_read(&m->journal_entries);
		blocked += (json_int_t)counter_read(&m->journal_broken);
		foreign += (json_int_t)counter_read(&m->journal_foreign);
		aside += (json_int_t)counter_read(&m->journal_aside);
	}
	*ret_journal = json_pack("{s:I, s:b, s:I, s:I, s:I}",
	    "entries", entries, "writable", is_journal_writable(admin),
	    "blocked", blocked, "foreign", foreign, "damaged", aside);
	return json_pack("{s:I, s:I, s:o}", "requests", requests,
	    "executions", executions, "workers", each);
}

static enum after
say_status(struct admin_request *a, bool up)
{
	const struct admin *admin = a->admin;
	const struct conf *conf = admin->conf;
	json_t *listen = json_array();
	for (size_t i = 0; i < admin->view.n_listen; i++)
		json_array_append_new(
		    listen, json_string(admin->view.listen[i]));
	int64_t up_ms = clock_wall_ms() - admin->view.started_ms;
	const char *redis = conf->store.redis.managed
	    ? "managed"
	    : conf->store.redis.address.text;
	const struct strings *seeds = &conf->store.redis.cluster;
	json_t *cluster = seeds->count > 0 ? json_array() : NULL;
	for (size_t i = 0; i < seeds->count; i++)
		json_array_append_new(cluster, json_string(seeds->list[i]));
	char *master = master_text(store_health_master(admin->health));
	char *reason = up ? NULL : store_health_reason(admin->health);
	json_t *journal, *in_flight = counts_json(admin, &journal);
	json_t *status =
	    json_pack("{s:s, s:o, s:I, s:o, s:s, s:I, s:b, "
		      "s:{s:s, s:s?, s:o*, s:s*, s:s, s:s*, s:s*}, s:o, s:o, "
		      "s:{s:s, s:o, s:O?, s:o, s:O?}, s:{s:o, s:b}, s:o, s:s}",
		"version", PACKAGE_VERSION,
		"started", admin_body_time(admin->view.started_ms),
		"uptime_seconds", (json_int_t)(up_ms / 1000),
		"listen", listen, "admin", admin->view.address,
		"workers", (json_int_t)conf->workers,
		"draining", admin->draining,
		"store", "state", up ? "up" : "down", "redis", redis,
		"cluster", cluster, "master", master, "prefix",
		conf->store.prefix, "fault", fault_of(admin),
		"error", reason,
		"journal", journal, "in_flight", in_flight,
		"configuration", "file", conf->file,
		"loaded", admin_body_time(admin->loaded_ms),
		"refused", admin->refused, "restart",
		admin->restart != NULL ? json_incref(admin->restart)
				       : json_array(),
		"keys", admin->keys,
		"you", "name",
		a->who.len > 0 ? answer_json_text(a->who) : json_null(),
		"read_only", a->looks_only,
		"witnesses", admin_witness_list(a),
		"instance", conf->instance);
	free(master);
	free(reason);
	return admin_answer_json(a, 200, status);
}

enum after
admin_status_probed(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	bool up = a->look.op.op.error == 0;
	if (a->endpoint->what == ADMIN_STATUS_ALL)
		return say_status(a, up);
	const char *detail = fault_of(a->admin), *reason = NULL;
	if (a->admin->draining) {
		reason = "draining";
	} else if (!up || detail != NULL) {
		reason = "store";
	} else if (!is_journal_writable(a->admin)) {
		reason = "journal";
		detail = "the journal below state_dir cannot be written, and "
			 "no new claims are forwarded; the log says why";
	}
	if (reason == NULL)
		return admin_answer_json(
		    a, 200, json_pack("{s:s}", "status", "ready"));
	return admin_answer_json(a, 503,
	    json_pack("{s:s, s:s, s:s*}", "status", "unready", "reason",
		reason, "detail", detail));
}

/* --- /metrics, and /keys/groups --- */

enum after
admin_status_count(struct admin_request *a)
{
	records_count(a->admin->store, &a->count);
	return admin_request_to(a, ADMIN_COUNTED, WAIT);
}

/* Samples of records are left out where Redis does not tell them. */
enum after
admin_status_counted(struct machine *machine)
{
	struct admin_request *a = admin_request_of(machine);
	bool counted = a->count.op.op.error == 0;
	if (a->endpoint->what == ADMIN_COUNT_GROUPS)
		return counted
		    ? admin_keys_groups(a)
		    : admin_answer_store_failed(
			  a, &a->count.op.op, "; nothing was counted.");
	struct body body = {0};
	admin_metrics_write(a->admin, counted ? &a->count : NULL, &body);
	return admin_answer_bytes(a, 200,
	    SPAN("text/plain; version=0.0.4; charset=utf-8"), &body);
}
