/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/review/said.h"
#include "conf/review/usual_headers.h"
#include "conf/review/warning_private.h"
#include "conf/review/warnings_outcomes_private.h"

static const int64_t hour_ms = 3600 * 1000;

/* --- how an unknown one is asked about --- */

/* A status by which an API says nothing of a payment; 0: none is taken so. */
static int
absent_in_vain(const struct conf_reconcile *reconcile)
{
	static const int statuses[] = {401, 403, 407, 408, 425, 429};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (reconcile->absent[statuses[i]])
			return statuses[i];
	for (int status = 500; status < 600; status++)
		if (reconcile->absent[status])
			return status;
	return 0;
}

static void
warn_of_absent(struct complaints *complaints, const char *pointer, int status)
{
	char *words = mem_printf("%d may say that the API cannot tell just "
	    "now, or not to us: a payment that was made would be made again; "
	    "name only what says that there is none, as 404", status);
	warning_add(complaints, pointer, words);
	free(words);
}

static void
warn_of_reconcile(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	char *pointer = said_pointer(conf, route, "on_unknown");
	char *absent = mem_printf("%s/reconcile/absent", pointer);
	char *place = mem_printf("%s/reconcile", pointer);
	char *stored = mem_printf("%s/status", place);
	const struct conf_reconcile *reconcile = &route->idempotency->reconcile;
	int vain = absent_in_vain(reconcile);
	if (vain != 0)
		warn_of_absent(complaints, absent, vain);
	if (reconcile->status >= 400)
		warning_add(complaints, stored,
		    "clients take a payment that was found for refused, and "
		    "make another: say 200 or 201");
	if (!spots_has(conf->spots, absent))
		warning_add(complaints, place,
		    "a 404 for a mistyped path would mean that nothing "
		    "happened, and the payment be made again: try the path, "
		    "then say what means it: {\"path\": ..., \"absent\": "
		    "[404, 410]}");
	free(pointer);
	free(absent);
	free(place);
	free(stored);
}

/* --- what is remembered, and how it is told --- */

/* Whether some answers that say "done" leave nothing behind. */
static bool
forgets_success(const struct conf_route *route)
{
	json_t *value = said_value(route, "outcomes"), *meaning;
	const char *status;
	bool forgets = false;
	json_object_foreach(value, status, meaning)
	{
		const char *word = json_string_value(meaning);
		forgets |= *status == '2' && word != NULL &&
		    (!strcmp(word, "release") || !strcmp(word, "forget"));
	}
	json_decref(value);
	return forgets;
}

/* Whether an answer after which nobody knows counts as "did not happen". */
static bool
forgets_doubt(const struct conf_idempotency *policy)
{
	/* The last two are of proxies (Cloudflare). */
	static const int statuses[] = {500, 502, 504, 520, 524};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (policy->outcomes[statuses[i]] == DISPOSITION_RELEASE ||
		    policy->outcomes[statuses[i]] == DISPOSITION_FORGET)
			return true;
	return false;
}

static void
warn_of_memory(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy->retention_ms < hour_ms)
		warning_add_said(complaints, conf, route, "retention",
		    "an answer is forgotten within the hour: a retry after "
		    "that is executed again");
	if (policy->unknown_retention_ms < hour_ms)
		warning_add_said(complaints, conf, route, "unknown_retention",
		    "what may have happened is forgotten within the hour: a "
		    "retry after that is executed again");
	if (forgets_success(route))
		warning_add_said(complaints, conf, route, "outcomes",
		    "a payment that was made is not remembered: each retry is "
		    "executed again");
	if (forgets_doubt(policy))
		warning_add_said(complaints, conf, route, "outcomes",
		    "an API may have made the payment before it answers 500, "
		    "502 or 504, and the retry is executed: say \"unknown\" or "
		    "\"store\", and release what says that nothing happened, "
		    "as 503");
}

/* Whether clients take a status for "it did not happen". */
static bool
means_refused(int64_t status)
{
	return status >= 400 && status < 500 && status != 408 &&
	    status != 409 && status != 425 && status != 429;
}

/* --- the headers of an answer --- */

/* Whether a body cannot be read without it (RFC 9110, section 8). */
static bool
is_of_body(const char *header)
{
	return !strcasecmp(header, "Content-Type") ||
	    !strcasecmp(header, "Content-Encoding");
}

static void
warn_of_answer(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route)
{
	const struct conf_idempotency *policy = route->idempotency;
	for (size_t i = 0; i < policy->omit_headers.count; i++)
		if (is_of_body(policy->omit_headers.list[i]))
			warning_add_said(complaints, conf, route,
			    "omit_headers",
			    "a stored answer cannot be read without its "
			    "Content-Type and Content-Encoding: leave them "
			    "out here");
	if (usual_headers_stay(policy->replay_header) ||
	    usual_headers_change(policy->replay_header) ||
	    !strcasecmp(policy->replay_header, "Location"))
		warning_add_said(complaints, conf, route, "replay_header",
		    "the API's own header of this name is lost: name one that "
		    "no answer has");
}

void
warnings_outcomes_find(const struct conf *conf,
    const struct conf_route *route, struct complaints *complaints)
{
	const struct conf_idempotency *policy = route->idempotency;
	if (policy->on_unknown == UNKNOWN_RECONCILE)
		warn_of_reconcile(complaints, conf, route);
	if (means_refused(policy->problems[ROUTE_PROBLEM_OUTCOME_UNKNOWN]))
		warning_add_said(complaints, conf, route, "problems",
		    "outcome-unknown has a status by which clients take the "
		    "payment for refused, and make another: leave it as it "
		    "is, or say 409 or a 5xx");
	warn_of_memory(complaints, conf, route);
	warn_of_answer(complaints, conf, route);
}
