/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "gate/disposition.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/doctor_reconcile_private.h"
#include "operators/probe/ask.h"

enum {
	UUID_BYTES = 16,
	SHOWN_BYTES = 60, /* of an answer's body */
};

struct reconcile_question {
	const struct conf_route *route;
	char *target;
};

struct reconcile_questions {
	struct reconcile_question *list;
	struct ask_question *asked; /* one for each */
	size_t count;
	struct asks *asks;
};

/* --- asking --- */

/* A version 4 UUID (RFC 9562): what takes keys of any form takes it. */
static char *
new_key(void)
{
	uint8_t b[UUID_BYTES];
	random_bytes(b, sizeof b);
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	return mem_printf("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
			  "%02x%02x%02x%02x%02x%02x",
	    b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10],
	    b[11], b[12], b[13], b[14], b[15]);
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

static bool
reconciles(const struct conf_route *route)
{
	return route->idempotency != NULL &&
	    route->idempotency->on_unknown == UNKNOWN_RECONCILE;
}

void
doctor_reconcile_look(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct reconcile_questions *q = mem_zero(sizeof *q);
	q->list = mem_zero(conf->n_routes * sizeof *q->list);
	q->asked = mem_zero(conf->n_routes * sizeof *q->asked);
	char *key = new_key();
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (!reconciles(route))
			continue;
		char *target =
		    fill_path(&route->idempotency->reconcile.path, key);
		q->list[q->count] = (struct reconcile_question){route, target};
		q->asked[q->count].upstream = route->upstream;
		q->asked[q->count++].target = span_str(target);
	}
	free(key);
	if (q->count > 0)
		q->asks = ask_all(conf, q->asked, q->count);
	doctor->questions = q;
}

void
doctor_reconcile_clear(struct doctor *doctor)
{
	struct reconcile_questions *q = doctor->questions;
	doctor->questions = NULL;
	if (q == NULL)
		return;
	ask_end(&q->asks);
	for (size_t i = 0; i < q->count; i++)
		free(q->list[i].target);
	free(q->list);
	free(q->asked);
	free(q);
}

/* --- judging --- */

/* What an execution would take it for (gate/execution.c). */
static enum disposition
disposition_of(const struct conf_route *route, const struct forward *answer)
{
	return disposition_of_reconcile(&route->idempotency->reconcile,
	    answer->status, &answer->fields);
}

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
	return len == 0 ? mem_str(SPAN("without a body"))
			: mem_printf("\"%.*s%s\"", (int)len, text,
			      len < body.len ? "..." : "");
}

static char *
pointer_of(const struct reconcile_question *one)
{
	return mem_printf(
	    "/routes/%u/idempotency/on_unknown", one->route->index);
}

/* What was asked, and answered. */
static char *
words_of(const struct reconcile_question *one, const struct forward *answer)
{
	char *begins = beginning_of(answer);
	char *words = mem_printf("route \"%s\": GET %s, whose key no payment "
	    "has, was answered %d (%s)", one->route->name, one->target,
	    answer->status, begins);
	free(begins);
	return words;
}

/* As a word of the shell, for the caller to free. */
static char *
url_of(const struct reconcile_question *one)
{
	char *url = mem_printf(
	    "%s%s", one->route->upstream->targets[0].url, one->target);
	char *quoted = shell_quote(url);
	free(url);
	return quoted;
}

static bool
wants_credentials(const struct forward *answer)
{
	return answer->status == 401 || answer->status == 403;
}

static bool
is_invented(const struct reconcile_question *one, const struct forward *answer)
{
	return answer->result == FORWARD_ANSWERED &&
	    !wants_credentials(answer) &&
	    disposition_of(one->route, answer) == DISPOSITION_STORE;
}

void
doctor_reconcile_invented(struct doctor *doctor)
{
	const struct reconcile_questions *q = doctor->questions;
	for (size_t i = 0; i < q->count; i++) {
		const struct forward *answer = &q->asked[i].forward;
		if (!is_invented(&q->list[i], answer))
			continue;
		char *where = pointer_of(&q->list[i]);
		findings_add(doctor, FINDING_reconcile_invented, where,
		    words_of(&q->list[i], answer), url_of(&q->list[i]));
		free(where);
	}
}

static void
judge_answer(struct doctor *doctor, const struct reconcile_question *one,
    const struct forward *answer)
{
	char *where = pointer_of(one);
	char *asked = words_of(one, answer);
	if (wants_credentials(answer))
		findings_add_skipped(doctor, FINDING_reconcile,
		    "the API wants credentials where a reconcile asks, and "
		    "doctor has none: see what it answers to a key that no "
		    "payment has, before you rely on absent");
	else if (is_invented(one, answer))
		findings_add_skipped(doctor, FINDING_reconcile,
		    "it finds what nobody made, see reconcile_invented");
	else if (disposition_of(one->route, answer) == DISPOSITION_UNKNOWN)
		findings_add(doctor, FINDING_reconcile, where,
		    mem_printf("%s, which absent does not have: a payment "
			"that did not happen stays unknown", asked),
		    url_of(one));
	else
		findings_add_well(doctor, FINDING_reconcile,
		    mem_printf("%s, as absent says; see that this is the "
			"ledger's answer, and not a router's", asked));
	free(asked);
	free(where);
}

void
doctor_reconcile_absent(struct doctor *doctor)
{
	const struct reconcile_questions *q = doctor->questions;
	for (size_t i = 0; i < q->count; i++) {
		const struct forward *answer = &q->asked[i].forward;
		if (answer->result == FORWARD_ANSWERED)
			judge_answer(doctor, &q->list[i], answer);
		else if (answer->result == FORWARD_NOT_SENT)
			findings_add_skipped(doctor, FINDING_reconcile,
			    "the upstream cannot be reached");
		else
			findings_add(doctor, FINDING_reconcile, NULL,
			    mem_printf("route \"%s\": GET %s got no answer "
				"(%s): nothing can be reconciled",
				q->list[i].route->name, q->list[i].target,
				error_message(answer->op.error)),
			    shell_quote(q->list[i].route->upstream->targets[0]
				.url));
	}
}
