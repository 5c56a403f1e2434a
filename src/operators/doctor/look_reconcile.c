/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/random.h"
#include "gate/disposition.h"
#include "http/upstream/forward.h"
#include "http/upstream/upstreams.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"

/*
 * The only requests that upstreams get of `doctor`: GETs that gateways send by
 * themselves, of a reconcile with a key that no payment has, and of a target's
 * health.
 */
enum {
	UUID_BYTES = 16,
	SHOWN_BYTES = 60, /* of an answer's body */
	HEAD_MAX_BYTES = 16 * 1024,
	BODY_MAX_BYTES = 64 * 1024,
	ANSWER_MS = 10 * 1000,
};

struct asks {
	struct loop *loop;
	size_t pending;
	struct ask *list;
	size_t count;
};

struct ask {
	struct asks *all;
	const struct conf_route *route; /* NULL: of health */
	const struct conf_upstream *upstream;
	char *target;
	struct forward forward;
};

/* --- asking --- */

static void
add_question(struct asks *all, const struct conf_upstream *upstream,
    const struct conf_route *route, char *target)
{
	all->list[all->count++] = (struct ask){
	    .all = all, .route = route, .upstream = upstream, .target = target};
}

static bool
health_is_asked(const struct asks *all, const struct conf_upstream *upstream)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].route == NULL &&
		    all->list[i].upstream == upstream)
			return true;
	return false;
}

/* The path with the key in the place of all that a request would name. */
static char *
fill_path(const struct template *path, const char *key)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	for (size_t i = 0; i < path->count; i++) {
		const struct template_piece *piece = &path->pieces[i];
		if (piece->kind == TEMPLATE_TEXT)
			fprintf(out, "%.*s", SPAN_FMT(piece->text));
		else
			fputs(key, out);
	}
	must(fclose(out) == 0);
	return text;
}

/* A version 4 UUID (RFC 9562) is taken by what takes keys of any form. */
static void
list_questions(struct asks *all, const struct conf *conf)
{
	uint8_t b[UUID_BYTES];
	random_bytes(b, sizeof b);
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	char *key = mem_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			       "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		const struct conf_idempotency *policy = route->idempotency;
		if (policy == NULL)
			continue;
		if (policy->on_unknown == UNKNOWN_RECONCILE)
			add_question(all, route->upstream, route,
			    fill_path(&policy->reconcile.path, key));
		if (route->upstream->health_path != NULL &&
		    !health_is_asked(all, route->upstream))
			add_question(all, route->upstream, NULL,
			    mem_text(route->upstream->health_path));
	}
	free(key);
}

static void
on_answered(void *arg)
{
	struct ask *one = arg;
	if (--one->all->pending == 0)
		loop_stop(one->all->loop);
}

static void
ask_all(struct asks *all, struct upstreams *upstreams,
    const struct conf_upstream *named)
{
	static struct field agent = {{"User-Agent", sizeof "User-Agent" - 1},
	    {"onceproxy", sizeof "onceproxy" - 1}};
	all->pending = all->count;
	for (size_t i = 0; i < all->count; i++) {
		struct ask *one = &all->list[i];
		const struct message message = {
		    .method = SPAN("GET"),
		    .target = span_str(one->target),
		    .fields = {&agent, 1},
		};
		const struct forward_limits limits = {
		    .timeout_ms = ANSWER_MS,
		    .max_head = HEAD_MAX_BYTES,
		    .max_body = BODY_MAX_BYTES,
		    .close_delimited = one->upstream->close_delimited,
		};
		op_init(&one->forward.op, all->loop, on_answered, one);
		forward_start(upstreams, &one->forward,
		    &named[one->upstream->index], &message, &limits);
	}
	loop_run(all->loop);
}

/* --- judging --- */

/*
 * How its body begins, by which a person knows whose answer it is; what is not
 * plain ASCII is a dot.
 */
static char *
beginning_of(const struct forward *answer)
{
	char text[SHOWN_BYTES];
	struct span body = body_span(&answer->body);
	size_t len = body.len < sizeof text ? body.len : sizeof text;
	for (size_t i = 0; i < len; i++) {
		char c = body.ptr[i];
		text[i] = c < ' ' || c > '~' ? '.' : c;
	}
	return len == 0 ? mem_text("without a body")
			: mem_printf("\"%.*s%s\"", (int)len, text,
			      len < body.len ? "..." : "");
}

/* Of an answer of that status; it takes both texts. */
static void
judge_answer(
    struct doctor *doctor, const struct ask *one, char *asked, char *url)
{
	const struct forward *answer = &one->forward;
	/* What an execution would take it for (gate/execution.c). */
	enum disposition is =
	    disposition_of_reconcile(&one->route->idempotency->reconcile,
		answer->status, &answer->fields);
	char *where =
	    mem_printf("/routes/%u/idempotency/on_unknown", one->route->index);
	if (answer->status == 401 || answer->status == 403) {
		findings_skip(doctor, FINDING_reconcile,
		    "the API wants credentials where a reconcile asks, and "
		    "doctor has none: see what it answers to a key that no "
		    "payment has, before you rely on absent");
	} else if (is == DISPOSITION_STORE) {
		findings_add(
		    doctor, FINDING_reconcile_invented, where, asked, url);
		asked = url = NULL;
		findings_skip(doctor, FINDING_reconcile,
		    "it finds what nobody made, see reconcile_invented");
	} else if (is == DISPOSITION_UNKNOWN) {
		findings_add(doctor, FINDING_reconcile, where,
		    mem_printf("%s, which absent does not have: a payment "
			       "that did not happen stays unknown",
			asked),
		    url);
		url = NULL;
	} else {
		findings_well(doctor, FINDING_reconcile,
		    mem_printf("%s, as absent says; see that this is the "
			       "ledger's answer, and not a router's",
			asked));
	}
	free(where);
	free(asked);
	free(url);
}

static void
judge_reconcile(struct doctor *doctor, const struct ask *one)
{
	const struct forward *answer = &one->forward;
	const char *base = one->upstream->targets[0].url;
	if (answer->result == FORWARD_ANSWERED) {
		char *begins = beginning_of(answer);
		char *url = mem_printf("%s%s", base, one->target);
		judge_answer(doctor, one,
		    mem_printf("route \"%s\": GET %s, whose key no payment "
			       "has, was answered %d (%s)",
			one->route->name, one->target, answer->status, begins),
		    shell_quote(url));
		free(url);
		free(begins);
	} else if (answer->result == FORWARD_NOT_SENT) {
		findings_skip(doctor, FINDING_reconcile,
		    "the upstream cannot be reached");
	} else {
		findings_add(doctor, FINDING_reconcile, NULL,
		    mem_printf("route \"%s\": GET %s got no answer (%s): "
			       "nothing can be reconciled",
			one->route->name, one->target,
			error_message(answer->op.error)),
		    shell_quote(base));
	}
}

static void
judge(struct doctor *doctor, const struct ask *one)
{
	if (one->forward.op.error == E_NO_LENGTH) {
		char *where =
		    findings_pointer("upstreams", one->upstream->name);
		findings_add(doctor, FINDING_upstream_length, where,
		    mem_printf("GET %s of %s", one->target,
			one->upstream->targets[0].url),
		    NULL);
		free(where);
	}
	if (one->route != NULL)
		judge_reconcile(doctor, one);
}

/* --- all of them --- */

void
look_reconcile(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct asks all = {.loop = loop_new()};
	struct budget budget = {0};
	/* Their hosts are named as they are: no client has named another. */
	size_t n = conf->n_upstreams;
	struct conf_upstream *named =
	    mem_copy(conf->upstreams, n * sizeof *named);
	for (size_t i = 0; i < n; i++)
		named[i].host = HOST_TARGET;
	atomic_store(&budget.limit, SIZE_MAX / 2);
	all.list = mem_zero(2 * conf->n_routes * sizeof *all.list);
	list_questions(&all, conf);
	if (all.count > 0) {
		struct upstreams *upstreams =
		    upstreams_new(all.loop, conf, &budget, named, n);
		ask_all(&all, upstreams, named);
		for (size_t i = 0; i < all.count; i++) {
			judge(doctor, &all.list[i]);
			forward_stop(&all.list[i].forward);
			forward_clear(&all.list[i].forward);
			free(all.list[i].target);
		}
		upstreams_free(&upstreams);
	}
	loop_free(&all.loop);
	free(all.list);
	free(named);
}
