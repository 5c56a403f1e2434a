/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "messages/source/delivery_private.h"
#include "messages/source/shape.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * A request is made of the message: anew for each try, under the configuration
 * of that time.
 */

/*
 * Older than max_age when it was taken, as far as its age is known; whether
 * that was the first time its record says.  A dead letter that comes back is
 * not taken for the first time.
 */
static bool
is_expired(const struct delivery *d)
{
	int64_t most_ms = d->source->source->max_age_ms;
	return most_ms > 0 && d->tries == 0 && !delivery_is_letter(d) &&
	    d->message->time_ms >= 0 &&
	    d->first_ms - d->message->time_ms > most_ms;
}

/* It and its body, which is as large, never fit beside what clients need. */
static bool
is_beyond_memory(const struct delivery *d)
{
	return d->message->bytes >
	    budget_limit(d->source->worker->budget) / 8 * 3;
}

static void
condemn_misshapen(
    struct delivery *d, enum shape_verdict verdict, struct span detail)
{
	delivery_condemn(d,
	    verdict == SHAPE_KEY_MISSING ? MESSAGE_KEY_MISSING
		: verdict == SHAPE_TOO_LARGE ? MESSAGE_TOO_LARGE
					     : MESSAGE_MALFORMED,
	    detail);
}

static enum shape_verdict
make_request(struct delivery *d, struct span *ret_detail)
{
	claimant_init(&d->c, d->source->worker, arena_new(), &d->machine);
	/* Nobody but its record knows how often it was tried. */
	d->c.counts = COUNTS_ALWAYS;
	return shape_request(d->source->source, d->message, &d->c, &d->body,
	    ret_detail);
}

static struct span
why_unordered(const struct delivery *d, struct span body)
{
	static const char purpose[] = "nothing to be ordered by";
	const struct conf_source *source = d->source->source;
	struct arena *arena = d->message->arena;
	if (source->order_by == SOURCE_ORDER_POINTERS)
		return shape_lacks(
		    arena, &source->order_pointers, body, purpose);
	if (source->order_by == SOURCE_ORDER_HEADER)
		return arena_printf(arena,
		    "it has no field \"%s\", so it has %s",
		    source->order_header, purpose);
	return arena_printf(arena, "it has no %s, so it has %s",
	    source->order_by == SOURCE_ORDER_KEY ? "key" : "entity", purpose);
}

/* Its place in its lane, before anything else is known of it. */
static void
take_place(struct delivery *d, struct span body)
{
	const struct conf_source *conf = d->source->source;
	uint8_t order[DIGEST_BYTES];
	d->placed = true;
	if (conf->order_by == SOURCE_ORDER_NONE)
		return;
	if (shape_order(conf, d->message, body, order)) {
		memcpy(d->lane.bytes, order, sizeof d->lane.bytes);
		lanes_enter(d->source->lanes, order, &d->place);
		source_credit_place(d->source, d);
	} else if (!d->buried) {
		delivery_condemn(d, MESSAGE_MALFORMED, why_unordered(d, body));
	}
}

/* None can be executed before it is renewed, and none becomes a dead letter. */
static enum after
stand_for_token(struct delivery *d, struct span detail)
{
	char *words = mem_str(detail);
	source_standing_begin(d->source, STANDING_TOKEN, words);
	free(words);
	delivery_probed(d);
	delivery_unshape(d);
	return delivery_to(d, DELIVERY_STAND, MORE);
}

enum after
delivery_shape(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	const struct broker_message *m = d->message;
	struct span detail = SPAN("");
	enum shape_verdict verdict = SHAPE_GOOD;
	/* One that was condemned before comes here once more for its body. */
	d->outcome = d->buried ? d->reason : MESSAGE_COUNT_;
	if (delivery_letter_must_confirm(d))
		return delivery_to(d, DELIVERY_CONFIRM, MORE);
	if (d->shed)
		return delivery_to(d, DELIVERY_FETCH, MORE);
	if (m->too_large || is_beyond_memory(d))
		delivery_condemn(d, MESSAGE_TOO_LARGE, SPAN(""));
	else if (m->odd != NULL)
		delivery_condemn(d, MESSAGE_MALFORMED, span_str(m->odd));
	else
		verdict =
		    shape_body(d->source->source, m, &d->body, &detail);
	if (verdict == SHAPE_NO_MEMORY)
		return delivery_memory_await(d);
	source_credit_starve(d->source, d, false);
	if (verdict != SHAPE_GOOD)
		condemn_misshapen(d, verdict, detail);
	if (!d->placed)
		take_place(d, body_span(&d->body));
	d->old = is_expired(d);
	if (d->buried)
		return delivery_to(d, DELIVERY_TURN, MORE);
	verdict = make_request(d, &detail);
	if (verdict == SHAPE_OWN_SCOPE)
		return stand_for_token(d, detail);
	if (verdict == SHAPE_GOOD &&
	    shape_has_own_scope(d->source->source, &d->c))
		source_standing_end(d->source, STANDING_TOKEN);
	if (verdict != SHAPE_GOOD)
		condemn_misshapen(d, verdict, detail);
	return delivery_to(d, DELIVERY_TURN, MORE);
}
