/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "fuzz/fuzz.h"

/*
 * Any text either is a configuration or has complaints, and the same ones each
 * time; each complaint has a pointer and a message.  A configuration that is
 * accepted is complete: every route leads somewhere, and every target can be
 * requested.
 */
static const struct conf *
parse(struct span input, struct complaints *ret_complaints)
{
	*ret_complaints = (struct complaints){NULL, 0};
	const struct conf *conf =
	    conf_load_text("fuzz", input, false, ret_complaints);

	must((conf != NULL) == (ret_complaints->count == 0));
	for (size_t i = 0; i < ret_complaints->count; i++) {
		const struct complaint *c = &ret_complaints->list[i];
		must(c->pointer == NULL || c->pointer[0] == '/');
		must(strlen(c->message) > 0);
		must(strpbrk(c->message, "\r\n") == NULL);
	}
	return conf;
}

static void
policy_is_complete(const struct conf_idempotency *p)
{
	must(p->headers.count > 0 && p->max_length > 0);
	must(p->retention_ms > 0 && p->unknown_retention_ms > 0);
	must(p->lease_ms > 0 && p->max_attempts > 0);
	must(p->max_request_body > 0 && p->max_response_body > 0);
	bool asks = p->on_unknown == UNKNOWN_RECONCILE ||
	    (p->on_unknown == UNKNOWN_WITNESS && p->witness.then_reconcile);
	must(asks == (p->reconcile.path.text != NULL));
	must(p->replay_header && p->attempt_header &&
	    p->namespace.text);
	must(p->fingerprint_json || p->fingerprint_ignore.count == 0);
	for (int status = 200; status < 600; status++)
		must(p->outcomes[status] <= DISPOSITION_UNKNOWN);
}

/* What serves the messages of a source relies on. */
static void
source_is_complete(const struct conf_source *s)
{
	bool table = s->broker->kind == BROKER_POSTGRES;
	must(s->request.path.count > 0 && s->request.method);
	for (size_t i = 0; i < s->request.n_headers; i++) {
		const struct conf_header *h = &s->request.headers[i];
		must((h->secret != NULL) != (h->value.text != NULL));
	}
	must((s->table != NULL) == table && (s->stream != NULL) == !table);
	must(s->dead_letters && s->group && s->poll_ms > 0);
	must(s->columns.id && s->columns.entity && s->columns.payload);
	must((s->key == SOURCE_KEY_POINTERS) == (s->key_pointers.count > 0));
	must((s->order_by == SOURCE_ORDER_HEADER) == (s->order_header != NULL));
	must(s->in_flight > 0 && s->retry_attempts > 0 && s->hold_ms > 0);
	must(s->retry_first_ms <= s->retry_most_ms);
}

static void
is_complete(const struct conf *conf)
{
	must(conf->instance[0] != '\0');
	for (size_t i = 0; i < conf->n_brokers; i++)
		must(conf->brokers[i].index == i);
	for (size_t i = 0; i < conf->n_sources; i++)
		source_is_complete(&conf->sources[i]);
	must(conf->n_listen > 0 && conf->workers > 0);
	must(conf->defaults != NULL);
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		const struct conf_upstream *u = &conf->upstreams[i];
		must(u->index == i && u->n_targets > 0);
		for (size_t t = 0; t < u->n_targets; t++)
			fuzz_asks(&u->targets[t]);
	}
	policy_is_complete(conf->defaults);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *r = &conf->routes[i];
		must(r->index == i && r->upstream && r->path[0] == '/');
		if (r->idempotency)
			policy_is_complete(r->idempotency);
	}
}

void
fuzz_conf(struct span input)
{
	struct complaints first, second;
	const struct conf *conf = parse(input, &first);
	const struct conf *again = parse(input, &second);

	must(first.count == second.count);
	for (size_t i = 0; i < first.count; i++)
		must(!strcmp(first.list[i].message, second.list[i].message));
	if (conf != NULL) {
		is_complete(conf);
		conf_restart_warn(conf, again, &second);
		must(second.count == 0);
	}
	conf_unref(&conf);
	conf_unref(&again);
	complaints_free(&first);
	complaints_free(&second);
}
