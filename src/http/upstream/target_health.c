/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/loop/timer.h"
#include "base/mem.h"
#include "http/upstream/forward_private.h"
#include "http/upstream/target_health.h"

enum { HEAD_MAX_BYTES = 16 * 1024, BODY_MAX_BYTES = 64 * 1024 };

/* A check asks one target, through an upstream that has no other. */
struct health_check {
	struct target_health *health;
	struct target *target;
	const struct conf_upstream *of; /* the target's */
	struct message request;
	struct forward forward;
	struct timer timer;
	bool under_way;
};

struct target_health {
	const struct conf *conf;
	struct conf_upstream *alone; /* of each target, with no other in it */
	struct upstreams *upstreams; /* made of these */
	struct health_check *list;
	size_t count;
};

static struct field agent = {
    {"User-Agent", sizeof "User-Agent" - 1},
    {"onceproxy", sizeof "onceproxy" - 1}};

/* Where there was no memory for its answer, nothing is known. */
static void
on_target_answered(void *arg)
{
	struct health_check *c = arg;
	const struct forward *f = &c->forward;
	bool whole = f->result == FORWARD_ANSWERED;
	bool out = !whole || f->status < 200 || f->status > 399;
	c->under_way = false;
	if (f->op.error != E_NO_MEMORY && out != c->target->out) {
		target_judge(c->target, out);
		struct logline line =
		    log_begin(out ? EV_target_out : EV_target_in);
		log_str(&line, "upstream", c->of->name);
		log_str(&line, "target", c->target->conf->url);
		if (whole)
			log_int(&line, "status", f->status);
		if (f->op.error != 0)
			log_str(&line, "error", error_message(f->op.error));
		log_end(&line);
	}
	forward_stop(&c->forward);
	forward_clear(&c->forward);
}

static void
on_interval(void *arg)
{
	struct health_check *c = arg;
	size_t index = (size_t)(c - c->health->list);
	const struct forward_limits limits = {
	    .timeout_ms = c->of->health_interval_ms,
	    .max_head = HEAD_MAX_BYTES,
	    .max_body = BODY_MAX_BYTES,
	    .close_delimited = true,
	};
	timer_set(&c->timer, c->of->health_interval_ms);
	if (c->under_way)
		return;
	c->under_way = true;
	forward_start(c->health->upstreams, &c->forward,
	    &c->health->alone[index], &c->request, &limits);
}

static void
add_check(struct target_health *h, struct loop *loop,
    const struct conf_upstream *of, struct target *target)
{
	struct conf_upstream *alone = &h->alone[h->count];
	struct health_check *c = &h->list[h->count];
	*alone = *of;
	alone->index = (unsigned)h->count++;
	alone->targets = (struct conf_target *)(uintptr_t)target->conf;
	alone->n_targets = 1;
	alone->keepalive = 1;
	c->health = h;
	c->target = target;
	c->of = of;
	c->request = (struct message){
	    .method = SPAN("GET"),
	    .target = span_str(of->health_path),
	    .fields = {&agent, 1},
	};
	op_init(&c->forward.op, loop, on_target_answered, c);
	timer_init(&c->timer, loop, on_interval, c);
	timer_set(&c->timer, 0);
}

struct target_health *
target_health_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct upstreams *upstreams)
{
	size_t count = 0;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		if (conf->upstreams[i].health_path != NULL)
			count += conf->upstreams[i].n_targets;
	if (count == 0)
		return NULL;
	struct target_health *h = mem_zero(sizeof *h);
	h->conf = conf_ref(conf);
	h->alone = mem_zero(count * sizeof *h->alone);
	h->list = mem_zero(count * sizeof *h->list);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		for (size_t k = 0; k < conf->upstreams[i].n_targets &&
		     conf->upstreams[i].health_path != NULL; k++)
			add_check(h, loop, &conf->upstreams[i],
			    &upstreams->targets[i].list[k]);
	h->upstreams = upstreams_new(loop, conf, budget, h->alone, count);
	return h;
}

void
target_health_free(struct target_health **health)
{
	struct target_health *h = *health;
	*health = NULL;
	if (h == NULL)
		return;
	for (size_t i = 0; i < h->count; i++) {
		timer_clear(&h->list[i].timer);
		forward_stop(&h->list[i].forward);
		forward_clear(&h->list[i].forward);
	}
	upstreams_free(&h->upstreams);
	conf_unref(&h->conf);
	free(h->alone);
	free(h->list);
	free(h);
}
