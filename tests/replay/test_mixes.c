/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "replay/explore.h"

/*
 * Larger mixes than can be explored, drawn from a seed: several keys, clients
 * and gateways, and all that can go wrong.
 */
static uint64_t state;

static unsigned
draw(unsigned count)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(state >> 33) % count;
}

#define WITNESS "{'witness':{'broker':'l','table':'w','enforced_by':'p'}}"

/* What a reload changes: members that may change while a key is in use. */
static const char *const policies[][2] = {
    {"'lease':'6s'", "'lease':'9s','in_flight':'wait'"},
    {"'lease':'6s','in_flight':'wait','wait_timeout':'8s'", "'lease':'4s'"},
    {"'lease':'4s','on_store_down':'forward'", "'lease':'4s'"},
    {"'lease':'6s','on_unknown':'retry','max_attempts':2",
	"'lease':'6s','on_unknown':'retry','max_attempts':2"},
    {"'lease':'6s','on_unknown':'retry','max_attempts':6,"
     "'in_flight':'wait','wait_timeout':'30s'",
	"'lease':'2s','on_unknown':'retry','max_attempts':6"},
    {"'lease':'6s','on_unknown':{'reconcile':{"
	"'path':'/by-key/{key}','settle':'0s'}}",
	"'lease':'6s','on_unknown':{'reconcile':{"
	"'path':'/by-key/{key}','settle':'0s'}},"
	"'in_flight':'wait','wait_timeout':'3s'"},
    {"'lease':'3s','on_unknown':{'reconcile':{"
	"'path':'/by-key/{key}','settle':'0s'}},"
     "'in_flight':'wait','max_attempts':3",
	"'lease':'3s','on_unknown':{'reconcile':{"
	"'path':'/by-key/{key}','settle':'0s'}},"
	"'max_attempts':3"},
};

static void
draw_caller(struct scenario *s, unsigned index)
{
	static const char *const keys[] = {"k", "k", "k", "l"};
	struct caller *c = &s->callers[index];
	*c = (struct caller){
	    .key = keys[draw(4)],
	    .scope = draw(6) == 0 ? "b" : NULL,
	    .body = draw(12) == 0 ? "pay 2" : NULL,
	    .gateway = draw(s->gateways),
	    .wait_s = draw(4) == 0 ? 5 : 0,
	    .after = index > 0 && draw(3) == 0 ? 1 + draw(index) : 0,
	};
}

static void
draw_scenario(uint64_t seed, struct scenario *s)
{
	state = seed * 0x9e3779b97f4a7c15 + 1;
	const char *const *policy =
	    policies[draw(sizeof policies / sizeof *policies)];
	*s = (struct scenario){
	    .name = "a mix",
	    .policy = policy[0],
	    .reloaded = policy[1],
	    .cached = draw(3) == 0,
	    .gateways = 1 + draw(2),
	    .upstream = DOES_PAY | draw(1024),
	    .faults = draw(256) | draw(2) * FAULT_SHORT,
	    .fault = draw(5),
	    .late = draw(5),
	    .slow = draw(9),
	    .close = draw(4),
	};
	unsigned callers = 2 + draw(6);
	for (unsigned i = 0; i < callers; i++)
		draw_caller(s, i);
	s->replicas = draw(3) == 0;
	if (s->replicas > 0)
		s->faults |= draw(2) * FAULT_FEW | draw(2) * FAULT_FAILOVER;
	s->large = draw(5) == 0;
	for (unsigned i = 0; i < 2; i++)
		if (draw(4) == 0)
			s->acts[i] = (struct act){
			    draw(2) ? ACT_DRAIN : ACT_RELOAD,
			    draw(s->gateways), 0};
	s->slow_disk = draw(4) == 0;
	/* A fifth ask a witness; all else that is drawn is as it was. */
	if (seed % 5 == 0) {
		s->policy = "'lease':'6s','on_unknown':" WITNESS;
		s->reloaded = "'lease':'3s','in_flight':'wait','on_unknown':"
		    WITNESS;
	}
}

int
main(void)
{
	return simulate_all(draw_scenario, 1000);
}
