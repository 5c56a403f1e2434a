/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "gate/access_log.h"
#include "gate/request.h"
#include "gate/worker_state.h"

enum { FULL_EVERY_US = 1000000 };

const char *const access_log_outcomes[] = {
#define OUTCOME(name, word, ...) word,
#include "tbl/outcomes.h"
#undef OUTCOME
};

void
access_log_failed(const struct request *r, int error)
{
	struct logline line = log_begin(EV_pass_failed);
	log_span(&line, "request_id", r->c.id);
	log_str(&line, "route", r->c.route->name);
	log_str(&line, "upstream", r->c.route->upstream->name);
	const struct conf_target *target = r->forward.target;
	if (target != NULL)
		log_str(&line, "target", target->url);
	log_str(&line, "error", error_message(error));
	log_end(&line);
}

static bool
is_due(int64_t *logged_us)
{
	int64_t now_us = clock_us();
	if (*logged_us != 0 && now_us - *logged_us < FULL_EVERY_US)
		return false;
	*logged_us = now_us;
	return true;
}

/*
 * An operator should hear of this besides: a key whose attempts are used up,
 * and memory that is.
 */
static void
log_rare(const struct request *r)
{
	struct worker *w = r->c.worker;
	if (r->c.outcome == OUTCOME_EXHAUSTED) {
		struct span first = span_str(r->c.claim_op.first_id);
		struct logline line = log_begin(EV_attempts_exhausted);
		log_str(&line, "key_id", r->c.key_hex);
		log_str(&line, "route", r->c.route->name);
		log_span(&line, "request_id", r->c.id);
		if (first.len > 0 && !span_eq(first, r->c.id))
			log_span(&line, "first_request_id", first);
		log_any(&line, "label", r->c.label);
		log_end(&line);
	} else if (r->c.problem == PROBLEM_EVENTS_FULL) {
		if (is_due(&w->events_full_logged_us))
			log_event(EV_events_full);
	} else if (r->c.outcome == OUTCOME_OVERLOADED &&
	    is_due(&w->full_logged_us)) {
		struct logline line = log_begin(EV_memory_full);
		log_int(&line, "in_flight_bytes",
		    (int64_t)atomic_load(&w->budget->used));
		log_end(&line);
	}
}

/* Digits in lower case, not all of them zero. */
static bool
is_trace_part(struct span part)
{
	size_t zeros = 0;
	for (size_t i = 0; i < part.len; i++) {
		char c = part.ptr[i];
		if (!ascii_is_digit(c) && (c < 'a' || c > 'f'))
			return false;
		zeros += c == '0';
	}
	return zeros < part.len;
}

/*
 * The trace's id in a request's traceparent (W3C Trace Context, section 3.2),
 * 00-TRACE-PARENT-FLAGS; later versions may have more behind that.  Empty where
 * there is none that is well-formed, or two.
 */
static struct span
trace_id_of(const struct fields *fields)
{
	enum { TRACE = 3, PARENT = 36, FLAGS = 53, WHOLE = 55 };
	size_t at = 0;
	struct span name = SPAN("traceparent");
	const struct field *f = fields_next(fields, name, &at);
	if (f == NULL || fields_next(fields, name, &at) != NULL ||
	    f->value.len < WHOLE)
		return SPAN("");
	const char *p = f->value.ptr;
	bool zero = span_starts(f->value, SPAN("00-"));
	bool dashes = p[TRACE - 1] == '-' && p[PARENT - 1] == '-' &&
	    p[FLAGS - 1] == '-';
	if (!dashes || (zero && f->value.len > WHOLE) ||
	    (f->value.len > WHOLE && p[WHOLE] != '-') ||
	    (!zero && !is_trace_part(span_of(p, 2))) ||
	    span_starts(f->value, SPAN("ff")) ||
	    !is_trace_part(span_of(p + TRACE, 32)) ||
	    !is_trace_part(span_of(p + PARENT, 16)))
		return SPAN("");
	return span_of(p + TRACE, 32);
}

void
access_log(const struct request *r, int status, int64_t took_us)
{
	log_rare(r);
	if (!r->c.conf->log_access || !log_wants(EV_request))
		return;
	struct logline line = log_begin(EV_request);
	log_span(&line, "request_id", r->c.id);
	log_str(&line, "route", r->c.route ? r->c.route->name : "-");
	log_span(&line, "method", r->x->head.method);
	log_cut(&line, "path", r->c.head.target.path, LOG_PATH_BYTES);
	if (status != 0)
		log_int(&line, "status", status);
	log_str(&line, "outcome", access_log_outcomes[r->c.outcome]);
	if (r->detail.len > 0)
		log_cut(&line, "detail", r->detail, 256);
	if (r->c.attempt > 0)
		log_int(&line, "attempt", r->c.attempt);
	log_any(&line, "key_id", span_str(r->c.key_hex));
	log_any(&line, "label", r->c.label);
	log_any(&line, "trace_id", trace_id_of(&r->c.head.fields));
	log_int(&line, "bytes_in", (int64_t)r->x->body_bytes);
	log_int(&line, "bytes_out", (int64_t)r->x->sent_bytes);
	log_put_ms(&line, SPAN("total_ms"), took_us);
	if (r->c.store_us >= 0)
		log_put_ms(&line, SPAN("store_ms"), r->c.store_us);
	if (r->c.upstream_us >= 0)
		log_put_ms(&line, SPAN("upstream_ms"), r->c.upstream_us);
	if (r->c.target != NULL)
		log_str(&line, "upstream", r->c.target->url);
	log_span(&line, "client", r->x->client);
	log_end(&line);
}
