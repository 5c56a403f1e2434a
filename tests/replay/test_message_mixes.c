/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/explore.h"

/*
 * Messages beside requests, drawn from a seed: several keys and lanes, two
 * gateways, operators, and all that can go wrong.
 */
static uint64_t state;

static unsigned
draw(unsigned count)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(state >> 33) % count;
}

#define DRAW(list) (list)[draw(sizeof(list) / sizeof *(list))]

static const char *const policies[] = {
    "'lease':'6s'",
    "'lease':'4s','in_flight':'wait','wait_timeout':'8s'",
    "'lease':'6s','on_unknown':'retry','max_attempts':3",
    ("'lease':'6s','on_unknown':{'reconcile':{'path':'/by-key/{key}',"
     "'settle':'0s'}}"),
};

#define TIMES "'hold':'40s','retry':{'attempts':4,'first':'1s','most':'4s'}"
#define ORDER ",'order_by':{'header':'lane'}"

/* What may be reloaded into each other. */
static const char *const sources[][2] = {
    {TIMES, TIMES ",'results':{'stream':'r'}"},
    {TIMES ",'results':{'stream':'r'},'refused':'ack'", TIMES},
    {TIMES ",'in_flight':2", TIMES ",'in_flight':1"},
    {TIMES ORDER, TIMES ORDER ",'in_flight':2"},
    {TIMES ORDER, TIMES ORDER},
    {TIMES ORDER ",'behind':'go-on'", TIMES ORDER},
    {TIMES ",'order_by':'partition','in_flight':3",
	TIMES ",'order_by':'partition'"},
};

static const char *const keys[] = {"k", "l", "m", "n", "o", "p"};

static void
draw_caller(struct scenario *s, unsigned index)
{
	/* Of a key that a client has, too, the order cannot be checked. */
	s->callers[index] = (struct caller){
	    .key = draw(2) ? "q" : keys[draw(4)],
	    .body = draw(12) == 0 ? "pay 2" : NULL,
	    .gateway = draw(s->gateways),
	    .after = index > 0 && draw(3) == 0 ? 1 + draw(index) : 0,
	};
}

static void
draw_message(struct scenario *s, unsigned index, unsigned callers)
{
	static const char *const lanes[] = {"a", "a", "b"};
	s->messages[index] = (struct sent_message){
	    .key = keys[index],
	    .lane = draw(20) == 0 ? NULL : DRAW(lanes),
	    .odd = draw(20) == 0 ? "it is odd" : NULL,
	    .large = draw(20) == 0,
	    .after = callers > 0 && draw(4) == 0 ? 1 + draw(callers) : 0,
	};
}

static void
draw_act(struct scenario *s, unsigned index, unsigned messages)
{
	static const enum act_kind kinds[] = {ACT_DRAIN, ACT_RELOAD,
	    ACT_PAUSE, ACT_RESUME, ACT_DROP, ACT_REPLAY, ACT_REPLAY};
	s->acts[index] = (struct act){
	    DRAW(kinds), draw(s->gateways), draw(messages)};
}

static void
draw_scenario(uint64_t seed, struct scenario *s)
{
	state = seed * 0x9e3779b97f4a7c15 + 1;
	const char *const *source = DRAW(sources);
	*s = (struct scenario){
	    .name = "a mix with messages",
	    .policy = DRAW(policies),
	    .source = source[0],
	    .resourced = source[1],
	    .cached = draw(3) == 0,
	    .gateways = 1 + draw(2),
	    .upstream = DOES_PAY | draw(512),
	    .faults = draw(256) | draw(64) << 14 | draw(2) * FAULT_SHORT,
	    .ills = 1 + draw(6),
	    .fault = draw(5),
	    .late = draw(5),
	    .slow = draw(9),
	    .close = draw(4),
	};
	unsigned callers = draw(5), messages = 1 + draw(MESSAGES_MAX);
	for (unsigned i = 0; i < callers; i++)
		draw_caller(s, i);
	for (unsigned i = 0; i < messages; i++)
		draw_message(s, i, callers);
	for (unsigned i = 0; i < ACTS_MAX; i++)
		if (draw(3) == 0)
			draw_act(s, i, messages);
	s->slow_disk = draw(4) == 0;
	s->prompt = draw(2);
}

int
main(void)
{
	return simulate_all(draw_scenario, 3000);
}
