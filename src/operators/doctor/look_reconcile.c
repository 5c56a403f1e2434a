/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "base/must.h"
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
	SHOWN_BYTES = 60, /* of an answer's body */
	HEAD_MAX_BYTES = 16 * 1024,
	BODY_MAX_BYTES = 64 * 1024,
	ANSWER_MS = 10 * 1000,
};

/* A UUID is taken by what takes keys of any form; this one nobody has. */
static const char no_key[] = "5d1f20c9-6b41-4e0f-8a3e-7b0c1a5296d4";

struct look_reconcile {
	struct doctor *doctor;
	struct loop *loop;
	struct upstreams *upstreams;
};

struct ask {
	const struct conf_route *route;
	const struct conf_upstream *upstream;
	char *target;
	struct forward forward;
};

/* --- what is asked --- */

/* The text with the key in the place of all that a request would name. */
static char *
fill_text(const struct template *path)
{
	char *text = NULL;
	FILE *out = mem_stream(&text);
	for (size_t i = 0; i < path->count; i++) {
		const struct template_piece *piece = &path->pieces[i];
		if (piece->kind == TEMPLATE_TEXT)
			fprintf(out, "%.*s", SPAN_FMT(piece->text));
		else
			fputs(no_key, out);
	}
	must(fclose(out) == 0);
	return text;
}

/* What a gateway sends without a client. */
static struct fields
fields_of(struct arena *arena, const struct conf_reconcile *asked)
{
	size_t count = asked != NULL ? asked->n_headers : 0;
	struct fields fields = fields_new(arena, count + 1);
	fields_add(&fields, SPAN("User-Agent"), SPAN("onceproxy"));
	for (size_t i = 0; i < count; i++) {
		const struct conf_header *header = &asked->headers[i];
		char *text = header->secret == NULL ? fill_text(&header->value)
						    : NULL;
		fields_add(&fields, span_str(header->name),
		    text == NULL ? span_str(header->secret)
				 : arena_dup(arena, span_str(text)));
		free(text);
	}
	return fields;
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

static void
judge_answer(struct doctor *doctor, const struct ask *one, const char *asked,
    const char *url)
{
	const struct forward *answer = &one->forward;
	/* What an execution would take it for (gate/execution.c). */
	enum disposition is =
	    disposition_of_reconcile(&one->route->idempotency->reconcile,
		answer->status, &answer->fields);
	char *where =
	    mem_printf("/routes/%u/idempotency/on_unknown", one->route->index);
	if ((answer->status == 401 || answer->status == 403) &&
	    one->route->idempotency->reconcile.n_headers == 0) {
		findings_skip(doctor, FINDING_reconcile,
		    "the API wants credentials where a reconcile asks, and "
		    "doctor has none: see what it answers to a key that no "
		    "payment has, before you rely on absent");
	} else if (is == DISPOSITION_STORE) {
		findings_add(doctor, FINDING_reconcile_invented, where,
		    mem_text(asked), shell_quote(url));
		findings_skip(doctor, FINDING_reconcile,
		    "it finds what nobody made, see reconcile_invented");
	} else if (is == DISPOSITION_UNKNOWN) {
		findings_add(doctor, FINDING_reconcile, where,
		    mem_printf("%s, which absent does not have: a payment "
			       "that did not happen stays unknown",
			asked),
		    shell_quote(url));
	} else {
		findings_well(doctor, FINDING_reconcile,
		    mem_printf("%s, as absent says; see that this is the "
			       "ledger's answer, and not a router's",
			asked));
	}
	free(where);
}

static void
judge_reconcile(struct doctor *doctor, const struct ask *one)
{
	const struct forward *answer = &one->forward;
	const char *base = one->upstream->targets[0].url;
	if (answer->result == FORWARD_ANSWERED) {
		char *begins = beginning_of(answer);
		char *url = mem_printf("%s%s", base, one->target);
		char *asked =
		    mem_printf("route \"%s\": GET %s, whose key no payment "
			       "has, was answered %d (%s)",
			one->route->name, one->target, answer->status, begins);
		judge_answer(doctor, one, asked, url);
		free(asked);
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

/* --- asking --- */

static void
on_answered(void *arg)
{
	loop_stop(arg);
}

/* Takes the target; of a route, the answer is judged. */
static void
put_question(struct look_reconcile *look, struct ask *one)
{
	struct arena *arena = arena_new();
	/* Without an authority the upstream hears its target's own name. */
	const struct message message = {
	    .method = SPAN("GET"),
	    .target = span_str(one->target),
	    .fields = fields_of(arena,
		one->route != NULL ? &one->route->idempotency->reconcile
				   : NULL),
	};
	const struct forward_limits limits = {
	    .timeout_ms = ANSWER_MS,
	    .max_head = HEAD_MAX_BYTES,
	    .max_body = BODY_MAX_BYTES,
	    .close_delimited = one->upstream->close_delimited,
	};
	op_init(&one->forward.op, look->loop, on_answered, look->loop);
	forward_start(
	    look->upstreams, &one->forward, one->upstream, &message, &limits);
	loop_run(look->loop);
	arena_free(&arena);
	if (one->forward.op.error == E_NO_LENGTH) {
		char *where =
		    findings_pointer("upstreams", one->upstream->name);
		findings_add(look->doctor, FINDING_upstream_length, where,
		    mem_printf("GET %s of %s", one->target,
			one->upstream->targets[0].url),
		    NULL);
		free(where);
	}
	if (one->route != NULL)
		judge_reconcile(look->doctor, one);
	forward_stop(&one->forward);
	forward_clear(&one->forward);
	free(one->target);
}

/* --- all of them --- */

/* That of an idempotent route, once. */
static void
ask_health(struct look_reconcile *look, const struct conf_route *route)
{
	const struct conf *conf = look->doctor->conf;
	const struct conf_upstream *upstream = route->upstream;
	struct ask health = {.upstream = upstream};
	if (upstream->health_path == NULL)
		return;
	for (const struct conf_route *r = conf->routes; r < route; r++)
		if (r->idempotency != NULL && r->upstream == upstream)
			return;
	health.target = mem_text(upstream->health_path);
	put_question(look, &health);
}

static void
ask_route(struct look_reconcile *look, const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy == NULL)
		return;
	ask_health(look, route);
	if (policy->reconcile.path.text == NULL)
		return;
	struct ask one = {.route = route,
	    .upstream = route->upstream,
	    .target = fill_text(&policy->reconcile.path)};
	put_question(look, &one);
}

void
look_reconcile(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct look_reconcile look = {.doctor = doctor, .loop = loop_new()};
	struct budget budget = {0};
	atomic_store(&budget.limit, SIZE_MAX / 2);
	look.upstreams = upstreams_new(
	    look.loop, conf, &budget, conf->upstreams, conf->n_upstreams);
	for (size_t i = 0; i < conf->n_routes; i++)
		ask_route(&look, &conf->routes[i]);
	upstreams_free(&look.upstreams);
	loop_free(&look.loop);
}
