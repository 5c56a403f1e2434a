/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/explore.h"

#define SERIAL ",'entity':['/item'],'serialize':true"
#define ITEM "{\"item\": 7}"

#define WITNESS "{'witness':{'broker':'l','table':'w','enforced_by':'p'}}"

/* Every order of events, for a few clients of one key. */
static const struct scenario scenarios[] = {
    {
	.name = "two keys of one entity are executed one by one",
	.policy = "'lease':'6s'" SERIAL,
	.gateways = 2,
	.callers = {{.key = "k", .body = ITEM},
	    {.key = "l", .body = ITEM, .gateway = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_NOT_HEAR |
	    DOES_HEAR,
	.slow = 2,
    },
    {
	.name = "two clients with one key are paid once",
	.policy = "'lease':'6s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_FAIL | DOES_REFUSE | DOES_NOT_HEAR,
	.slow = 2,
	.close = 1,
    },
    {
	.name = "an unknown outcome is held",
	.policy = "'lease':'6s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_DOUBT | DOES_BREAK | DOES_BABBLE,
	.slow = 8,
    },
    {
	.name = "an unknown outcome is tried again",
	.policy = "'lease':'6s','on_unknown':'retry','max_attempts':3",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.slow = 1,
    },
    {
	.name = "the upstream is asked about an unknown outcome",
	.policy = "'lease':'6s','on_unknown':{'reconcile':{"
	"'path':'/by-key/{key}','settle':'0s'}}",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1},
	    {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK | DOES_NOT_HEAR,
	.slow = 1,
    },
    {
	.name = "a witness is asked about an unknown outcome",
	.policy = "'lease':'6s','on_unknown':" WITNESS,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1},
	    {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_FAIL | DOES_REFUSE | DOES_BREAK,
	.slow = 1,
    },
    {
	.name = "a witness is asked by two gateways",
	.policy = "'lease':'6s','on_unknown':" WITNESS,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1},
	    {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_HEAR,
	.faults = FAULT_STALL | FAULT_KILL | FAULT_CUT | FAULT_DOWN,
	.fault = 1,
	.ills = 2,
	.slow = 2,
    },
    {
	.name = "attempts are used up",
	.policy = "'lease':'6s','on_unknown':'retry','max_attempts':2",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1},
	    {.key = "k", .after = 2}, {.key = "k", .after = 3}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_NOT_HEAR,
    },
    {
	.name = "what is forgotten leaves nothing behind",
	.policy = "'lease':'6s','on_unknown':'retry','max_attempts':3",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_FORGET | DOES_BREAK | DOES_NOT_HEAR,
    },
    {
	.name = "retries that wait get the answer",
	.policy = "'lease':'6s','in_flight':'wait','wait_timeout':'10s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_REFUSE,
	.slow = 2,
	.late = 1,
	.close = 1,
    },
    {
	.name = "other fingerprints, keys and scopes never meet",
	.policy = "'lease':'6s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .body = "pay 2"},
	    {.key = "k", .scope = "b"}},
	.upstream = DOES_PAY,
    },
    {
	.name = "a client may leave at any time",
	.policy = "'lease':'6s','in_flight':'wait','wait_timeout':'4s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY,
	.faults = FAULT_LEAVE,
	.fault = 2,
	.slow = 1,
	.close = 1,
    },
    {
	.name = "an answer waits for memory",
	.policy = "'lease':'30s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_DOUBT | DOES_HEAR,
	.faults = FAULT_SHORT,
	.fault = 1,
	.slow = 14,
    },
    {
	.name = "memory is short while the upstream is asked",
	.policy = "'lease':'30s','on_unknown':{'reconcile':'/by-key/{key}'}",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_SHORT,
	.fault = 1,
	.slow = 14,
    },
    {
	.name = "two gateways, one key",
	.policy = "'lease':'6s','in_flight':'wait','wait_timeout':'10s'",
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY | DOES_REFUSE,
	.slow = 2,
    },
};

int
main(int argc, char **argv)
{
	return explore_all(scenarios, sizeof scenarios / sizeof *scenarios,
	    argc, argv);
}
