/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/explore.h"

#define SERIAL ",'entity':['/item'],'serialize':true"
#define ITEM "{\"item\": 7}"
#define HOLD "'lease':'6s'"
#define RETRY "'lease':'6s','on_unknown':'retry','max_attempts':4"
#define RECONCILE                                                             \
	"'lease':'6s','on_unknown':{'reconcile':{'path':'/by-key/{key}',"     \
	"'settle':'0s'}}"

/*
 * Every order of events, with gateways killed, frozen, drained and reloaded at
 * any step.
 */
static const struct scenario scenarios[] = {
    {
	.name = "an owner of an entity stands still until its lease is over",
	.policy = HOLD SERIAL,
	.gateways = 2,
	.callers = {{.key = "k", .body = ITEM},
	    {.key = "l", .body = ITEM, .gateway = 1}},
	.upstream = DOES_PAY | DOES_REFUSE,
	.faults = FAULT_STALL,
	.fault = 1,
	.slow = 2,
    },
    {
	.name = "an owner of an entity is killed at any step",
	.policy = RETRY SERIAL,
	.gateways = 2,
	.callers = {{.key = "k", .body = ITEM},
	    {.key = "l", .body = ITEM, .gateway = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_KILL,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "a gateway is killed at any step, and the outcome is held",
	.policy = HOLD,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK,
	.faults = FAULT_KILL | FAULT_CUT | FAULT_GHOST,
	.fault = 2,
    },
    {
	.name = "a gateway is killed at any step, and the outcome is tried "
		"again",
	.policy = RETRY,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_KILL | FAULT_CUT | FAULT_GHOST,
	.fault = 2,
    },
    {
	.name = "an owner stands still until its lease is over",
	.policy = RETRY,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_STALL,
	.fault = 1,
	.slow = 2,
    },
    {
	.name = "an owner stands still, and the upstream is asked",
	.policy = RECONCILE,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY | DOES_HEAR,
	.faults = FAULT_STALL,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "an answer lies ready when its owner goes on",
	.policy = HOLD,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_HEAR,
	.faults = FAULT_STALL,
	.fault = 1,
	.slow = 2,
    },
    {
	.name = "half a request is sent when its owner stands still",
	.policy = RECONCILE,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY | DOES_TAKE,
	.faults = FAULT_STALL,
	.fault = 1,
	.slow = 2,
    },
    {
	.name = "only the journal of one that stands still has the answer",
	.policy = RETRY,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_CUT | FAULT_STALL,
	.fault = 2,
	.slow = 1,
    },
    {
	.name = "a drain at any step",
	.policy = HOLD,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.acts = {{.kind = ACT_DRAIN}},
	.upstream = DOES_PAY | DOES_NOT_HEAR,
	.faults = FAULT_CUT,
	.fault = 1,
	.slow = 3,
    },
    {
	.name = "a gateway ends at any step while the disk is slow",
	.policy = HOLD,
	.gateways = 1,
	.slow_disk = true,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.acts = {{.kind = ACT_DRAIN}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_CUT | FAULT_KILL,
	.fault = 2,
	.slow = 2,
    },
    {
	.name = "a drain at any step, and Redis goes down",
	.policy = HOLD,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "l"}},
	.acts = {{.kind = ACT_DRAIN}},
	.upstream = DOES_PAY,
	.faults = FAULT_DOWN | FAULT_GHOST,
	.fault = 1,
	.slow = 2,
    },
    {
	.name = "a drain while a retry waits",
	.policy = HOLD ",'in_flight':'wait','wait_timeout':'10s'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.acts = {{.kind = ACT_DRAIN}},
	.upstream = DOES_PAY,
	.slow = 5,
    },
    {
	.name = "a reload at any step",
	.policy = HOLD,
	.reloaded = RETRY ",'in_flight':'wait'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.acts = {{.kind = ACT_RELOAD}},
	.upstream = DOES_PAY,
	.slow = 1,
    },
};

int
main(int argc, char **argv)
{
	return explore_all(scenarios, sizeof scenarios / sizeof *scenarios,
	    argc, argv);
}
