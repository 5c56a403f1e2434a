/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "gate/message.h"
#include "gate/sweeper.h"
#include "gate/trust.h"
#include "gate/worker_state.h"
#include "http/front/route.h"
#include "store/asking.h"
#include "store/claim.h"
#include "store/outcome.h"
#include "store/record/label.h"
#include "store/record/provenance.h"
#include "store/store_health.h"
#include "store/subscriber.h"

enum {
	/* Steps in which all shards are searched, one every STEP_MS. */
	STEPS = 8,
	STEP_MS = 250,
	/* So many records of a route wait here; the others do in Redis. */
	QUEUE_MAX = 64,
	AWAY_FIRST_MS = 1000,
	AWAY_MOST_MS = 60000,
};

/* A route whose gateways can ask alone. */
struct swept {
	const struct conf_route *route;
	struct key_id queue[QUEUE_MAX]; /* the oldest first */
	size_t queued;
	unsigned running;
	int64_t away_ms; /* its API is away: it is left alone so long; 0 */
	int64_t again_us;
};

struct sweeper {
	struct worker_part part; /* first */
	struct worker *worker;
	struct swept *routes; /* of the worker's generation */
	size_t n_routes;
	size_t turn; /* the route that is next */
	struct list probes;
	unsigned running; /* of them; the others wait, asked by operators */
	struct subscriber_hearing hearing;
	struct timer timer;
	/*
	 * Which shards are next.  Where more is due than can be asked about,
	 * some of a step have all the room there is: others in each round.
	 */
	unsigned step, round;
	struct asking_op due;
	bool draining;
};

/* One record that is asked about. */
struct probe {
	struct list item;
	struct sweeper *sweeper;
	struct generation *generation;
	const struct conf_route *route;
	struct arena *arena; /* it lies in there */
	bool runs;
	struct span by;
	struct claim claim;
	struct store_op claimed;
	struct question question;
	struct sweeper_question *asker; /* an operator's; NULL */
	bool sweeps; /* no operator has asked for it */
};

static void pump(struct sweeper *s);

/* --- routes --- */

static struct swept *
find_route(const struct sweeper *s, struct span name)
{
	for (size_t i = 0; i < s->n_routes; i++)
		if (span_eq(span_str(s->routes[i].route->name), name))
			return &s->routes[i];
	return NULL;
}

/* Those of the worker's generation; what waited here is due in Redis. */
static void
find_routes(struct sweeper *s)
{
	const struct conf *conf = s->worker->generation->conf;
	free(s->routes);
	s->routes = mem_zero((conf->n_routes + 1) * sizeof *s->routes);
	s->n_routes = s->turn = 0;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (route->idempotency != NULL && !route->observes &&
		    conf_asks_alone(route->idempotency) &&
		    find_route(s, span_str(route->name)) == NULL)
			s->routes[s->n_routes++].route = route;
	}
	if (s->n_routes > 0 && !s->draining)
		timer_set(&s->timer, 0);
	else
		timer_clear(&s->timer);
}

static void
enqueue(struct swept *swept, const struct key_id *key_id)
{
	for (size_t i = 0; i < swept->queued; i++)
		if (memcmp(&swept->queue[i], key_id, sizeof *key_id) == 0)
			return;
	if (swept->queued < QUEUE_MAX)
		swept->queue[swept->queued++] = *key_id;
}

/* --- a probe --- */

static void
probe_free(struct probe *p)
{
	struct arena *arena = p->arena;
	op_cancel(&p->claimed.op);
	op_cancel(&p->question.op);
	answer_unref(&p->claimed.answer);
	list_remove(&p->item);
	p->sweeper->running -= p->runs;
	generation_unref(&p->generation);
	arena_free(&arena);
}

static void
probe_end(struct probe *p, int error)
{
	struct sweeper *s = p->sweeper;
	struct swept *swept = find_route(s, span_str(p->route->name));
	if (swept != NULL && p->runs && p->sweeps)
		swept->running--;
	if (p->asker != NULL) {
		p->asker->answer = p->question.answer;
		op_done(&p->asker->op, error);
	}
	probe_free(p);
	pump(s);
}

/* Its API has answered, or it has not. */
static void
on_asked(void *arg)
{
	struct probe *p = arg;
	struct sweeper *s = p->sweeper;
	struct swept *swept = find_route(s, span_str(p->route->name));
	enum asked answer = p->question.answer;
	bool away = swept != NULL &&
	    (answer == ASKED_AWAY ||
		(answer == ASKED_UNKNOWN && conf_has_witness(swept->route) &&
		    trust_why(
			s->worker->trusts, swept->route, INT64_MAX, 1)));
	/* Of those that were under way together one counts. */
	if (away && clock_us() >= swept->again_us) {
		swept->away_ms = swept->away_ms == 0 ? AWAY_FIRST_MS
						     : 2 * swept->away_ms;
		if (swept->away_ms > AWAY_MOST_MS)
			swept->away_ms = AWAY_MOST_MS;
		swept->again_us = clock_us() + swept->away_ms * 1000;
	} else if (swept != NULL && !away) {
		swept->away_ms = 0;
	}
	probe_end(p, 0);
}

/*
 * The query that rests in the record, of a route that needs one.  NULL, too,
 * where the route of that name does not serve the request any more: its API may
 * be another one, which knows nothing of it.  Who serves a path that was cut
 * nobody knows.
 */
static const struct message *
query_of(struct probe *p, const struct provenance *from)
{
	struct request_target target;
	const struct conf_route *served = NULL;
	if (from->path.len > 0 &&
	    (!request_target_parse(p->arena, from->path, &target) ||
		!route_find(p->generation->conf, from->method, &target,
		    &served) ||
		served != p->route))
		return NULL;
	struct claimant like = {
	    .arena = p->arena,
	    .generation = p->generation,
	    .conf = p->generation->conf,
	    .store_conf = p->sweeper->worker->conf,
	    .route = p->route,
	    .policy = p->claim.policy,
	    .client = SPAN(""),
	    .id = from->request_id,
	};
	return message_of_question(&like, p->claimed.question);
}

/* The record is ours to ask about, and it says whose it is. */
static void
ask(struct probe *p)
{
	struct worker *w = p->sweeper->worker;
	const struct provenance from = provenance_read(p->claimed.provenance);
	struct span label = SPAN("");
	if (!label_read(p->arena, &w->conf->store, &p->claim.key_id,
		from.label, &label))
		label = SPAN("");
	p->claim.asks = false;
	p->claim.provenance = p->claimed.provenance;
	memcpy(p->claim.fingerprint, p->claimed.fingerprint.ptr,
	    sizeof p->claim.fingerprint);
	struct execution *e = execution_new(&(struct execution_terms){
	    .worker = w,
	    .generation = p->generation,
	    .route = p->route,
	    .arena = p->arena,
	    .claim = &p->claim,
	    .claimed = &p->claimed,
	    .query = query_of(p, &from),
	    .request_id = from.request_id,
	    .label = label,
	    .by = p->by,
	    .question = &p->question,
	});
	machine_run(&e->machine);
}

static void
on_claimed(void *arg)
{
	struct probe *p = arg;
	struct worker *w = p->sweeper->worker;
	if (p->claimed.op.error != 0) {
		probe_end(p, p->claimed.op.error);
	} else if (p->claimed.verdict != VERDICT_RECONCILE) {
		probe_end(p, p->claimed.verdict == VERDICT_UNKNOWN
			? E_TIMEOUT : E_NOT_FOUND);
	} else if (w->draining) {
		claim_undo(w->store, &p->claim);
		probe_end(p, E_CANCELLED);
	} else {
		ask(p);
	}
}

static struct probe *
probe_new(struct sweeper *s, const struct conf_route *route,
    const struct key_id *key_id, struct span by)
{
	struct arena *arena = arena_new();
	struct probe *p = arena_alloc(arena, sizeof *p);
	*p = (struct probe){
	    .sweeper = s,
	    .generation = generation_ref(s->worker->generation),
	    .route = route,
	    .arena = arena,
	    .by = by,
	};
	p->claim = (struct claim){
	    .key_id = *key_id,
	    .policy = route->idempotency,
	    .max_attempts = route->idempotency->max_attempts,
	    .provenance = span_str(route->name),
	    .asks = true,
	    .arena = arena,
	};
	claim_own(&p->claim);
	op_init(&p->claimed.op, s->worker->loop, on_claimed, p);
	op_init(&p->question.op, s->worker->loop, on_asked, p);
	list_add_first(&s->probes, &p->item);
	return p;
}

/*
 * What this process knows of the attempt, and Redis does not, is not asked: the
 * claim is refused then, and the record due later.
 */
static void
probe_start(struct probe *p)
{
	struct worker *w = p->sweeper->worker;
	p->runs = true;
	p->sweeper->running++;
	p->claim.has_outcome =
	    outcome_is_awaited(w->store, w->awaited, &p->claim);
	claim_start(w->store, &p->claimed, &p->claim);
}

/* --- whose turn it is --- */

/*
 * That of which the fewest are asked about now, and of those each in turn: an
 * API that takes long would have all that others leave, one after the other.
 */
static struct swept *
next_route(struct sweeper *s)
{
	struct swept *next = NULL;
	for (size_t i = 0; i < s->n_routes; i++) {
		size_t at = (s->turn + i) % s->n_routes;
		struct swept *swept = &s->routes[at];
		bool away = swept->away_ms > 0 &&
		    (swept->running > 0 || clock_us() < swept->again_us) &&
		    INVARIANT(sweep_backs_off);
		if (swept->queued > 0 && !away &&
		    (next == NULL || swept->running < next->running))
			next = swept;
	}
	if (next != NULL)
		s->turn = (size_t)(next - s->routes) + 1;
	return next;
}

static void
pump(struct sweeper *s)
{
	const struct worker *w = s->worker;
	unsigned most = (unsigned)w->generation->conf->max_probes;
	struct swept *swept;
	struct probe *p;
	while (!s->draining && store_is_up(w->store) && s->running < most) {
		struct probe *asked = NULL; /* an operator's, that waits */
		LIST_EACH(p, &s->probes, item)
			asked = p->runs ? asked : p;
		if (asked != NULL) {
			probe_start(asked);
		} else if ((swept = next_route(s)) != NULL) {
			p = probe_new(
			    s, swept->route, &swept->queue[0], SPAN("sweep"));
			swept->queued--;
			memmove(swept->queue, swept->queue + 1,
			    swept->queued * sizeof *swept->queue);
			p->sweeps = true;
			swept->running++;
			probe_start(p);
		} else {
			break;
		}
	}
}

/* --- what is due --- */

static void
on_due(void *arg)
{
	struct sweeper *s = arg;
	for (size_t i = 0; i < s->due.count; i++)
		if (s->due.list[i].index < s->n_routes)
			enqueue(&s->routes[s->due.list[i].index],
			    &s->due.list[i].key_id);
	arena_free(&s->due.arena);
	pump(s);
}

static void
on_timer(void *arg)
{
	struct sweeper *s = arg;
	struct store *store = s->worker->store;
	unsigned shards = (unsigned)s->worker->conf->store.shards;
	unsigned count = (shards + STEPS - 1) / STEPS;
	timer_set(&s->timer, STEP_MS);
	pump(s);
	/* A replica would refuse the claims of what is found. */
	if (s->due.op.op.state == OP_PENDING || s->due.arena != NULL ||
	    !store_is_up(store) ||
	    store_health_fault(store->health) == FAULT_ROLE)
		return;
	s->due.arena = arena_new();
	struct asking_index *indexes = arena_alloc(
	    s->due.arena, (s->n_routes + 1) * sizeof *indexes);
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct swept *swept = &s->routes[i];
		/* While one is away, one record is enough to ask with. */
		unsigned most = swept->away_ms > 0 ? 1 : QUEUE_MAX;
		indexes[i].route = swept->route->name;
		indexes[i].most = swept->queued < most
		    ? most - (unsigned)swept->queued : 0;
	}
	asking_find(store, &s->due, s->step * count + s->round,
	    count, indexes, s->n_routes);
	if (++s->step * count >= shards) {
		s->step = 0;
		s->round = (s->round + 1) % shards;
	}
}

/* "asking:ROUTE", a newline, and the record that has just become UNKNOWN. */
static void
on_heard(void *arg, struct span notice)
{
	struct sweeper *s = arg;
	struct span word, name;
	struct key_id key_id;
	struct swept *swept;
	if (s->draining || !span_cut(&notice, ':', &word) ||
	    !span_eq(word, SPAN("asking")) ||
	    !span_cut(&notice, '\n', &name) ||
	    !hex_decode(notice, key_id.bytes, sizeof key_id.bytes) ||
	    (swept = find_route(s, name)) == NULL)
		return;
	enqueue(swept, &key_id);
	pump(s);
}

/* --- what the worker says --- */

static struct worker_part *
sweeper_begin(struct worker *worker)
{
	if (worker->index != 0)
		return NULL;
	struct sweeper *s = mem_zero(sizeof *s);
	s->part.kind = &sweeper_kind;
	s->worker = worker;
	list_init(&s->probes);
	timer_init(&s->timer, worker->loop, on_timer, s);
	op_init(&s->due.op.op, worker->loop, on_due, s);
	s->hearing = (struct subscriber_hearing){
	    .heard = on_heard, .arg = s};
	subscriber_hear(worker->store, &s->hearing);
	find_routes(s);
	return &s->part;
}

static void
stop_searching(struct sweeper *s)
{
	timer_clear(&s->timer);
	op_cancel(&s->due.op.op);
	arena_free(&s->due.arena);
}

static void
sweeper_reload(struct worker_part *part, struct generation *generation)
{
	struct sweeper *s = CONTAINER_OF(part, struct sweeper, part);
	(void)generation;
	stop_searching(s);
	find_routes(s);
	struct probe *p;
	LIST_EACH(p, &s->probes, item) {
		struct swept *swept = find_route(s, span_str(p->route->name));
		if (swept != NULL && p->runs && p->sweeps)
			swept->running++;
	}
}

/* What has begun ends; of a claim that is on its way nothing is asked. */
static void
sweeper_drain(struct worker_part *part)
{
	struct sweeper *s = CONTAINER_OF(part, struct sweeper, part);
	struct probe *p;
	s->draining = true;
	stop_searching(s);
	LIST_EACH(p, &s->probes, item)
		if (!p->runs)
			probe_end(p, E_CANCELLED);
}

static bool
sweeper_is_idle(const struct worker_part *part)
{
	const struct sweeper *s = (const void *)part;
	return list_empty(&s->probes);
}

static void
sweeper_end(struct worker_part *part)
{
	struct sweeper *s = CONTAINER_OF(part, struct sweeper, part);
	struct probe *p;
	s->draining = true;
	stop_searching(s);
	list_remove(&s->hearing.in_store);
	LIST_EACH(p, &s->probes, item) {
		if (p->asker != NULL)
			op_done(&p->asker->op, E_CANCELLED);
		probe_free(p);
	}
}

static void
sweeper_free(struct worker_part *part)
{
	struct sweeper *s = CONTAINER_OF(part, struct sweeper, part);
	free(s->routes);
	free(s);
}

const struct worker_part_kind sweeper_kind = {
    .begin = sweeper_begin,
    .reload = sweeper_reload,
    .drain = sweeper_drain,
    .over = NULL, /* executions that ask are cut by the worker, and end */
    .is_idle = sweeper_is_idle,
    .end = sweeper_end,
    .free = sweeper_free,
};

/* --- an operator's question --- */

/* The operator does not wait any more; what has begun goes on. */
static void
on_given_up(struct op *op, int error)
{
	struct sweeper_question *question =
	    CONTAINER_OF(op, struct sweeper_question, op);
	(void)error;
	question->probe->asker = NULL;
}

void
sweeper_ask(struct worker *worker, struct sweeper_question *question,
    struct span route, const struct key_id *key_id, struct span by)
{
	struct worker_part *part = worker->parts;
	while (part != NULL && part->kind != &sweeper_kind)
		part = part->next;
	must(part != NULL);
	struct sweeper *s = CONTAINER_OF(part, struct sweeper, part);
	struct swept *swept = find_route(s, route);
	op_start(&question->op, 0, on_given_up);
	if (swept == NULL || s->draining) {
		op_done(&question->op, E_STORE_REFUSED);
		return;
	}
	struct probe *p = probe_new(s, swept->route, key_id, by);
	p->by = arena_dup(p->arena, by);
	p->asker = question;
	question->probe = p;
	pump(s);
}
