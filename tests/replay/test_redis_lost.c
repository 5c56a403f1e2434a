/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/explore.h"

#define HOLD "'lease':'6s'"
#define RETRY "'lease':'6s','on_unknown':'retry','max_attempts':4"
#define RECONCILE                                                             \
	"'lease':'6s','on_unknown':{'reconcile':{'path':'/by-key/{key}',"     \
	"'settle':'0s'}}"

/* Every order of events, with Redis lost, late or refusing at any step. */
static const struct scenario scenarios[] = {
    {
	.name = "Redis is lost at any step, and the outcome is held",
	.policy = HOLD,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_NOT_HEAR,
	.faults = FAULT_CUT | FAULT_GHOST,
	.fault = 2,
	.late = 1,
    },
    {
	.name = "Redis is lost at any step, and the outcome is tried again",
	.policy = RETRY,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_NOT_HEAR,
	.faults = FAULT_CUT | FAULT_GHOST,
	.fault = 2,
	.late = 1,
    },
    {
	.name = "Redis is lost at any step, and the upstream is asked",
	.policy = RECONCILE,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_CUT | FAULT_GHOST,
	.fault = 2,
	.late = 1,
    },
    {
	.name = "Redis forgets the record, and the outcome is held",
	.policy = HOLD,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY | DOES_FAIL | DOES_REFUSE | DOES_BREAK |
	    DOES_NOT_HEAR,
	.faults = FAULT_FORGET,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "Redis forgets the record, and the outcome is tried again",
	.policy = RETRY,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_FORGET,
	.fault = 2,
	.slow = 1,
    },
    {
	.name = "Redis forgets the record, and the upstream is asked",
	.policy = RECONCILE,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_FORGET,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "Redis is down for a while",
	.policy = RETRY,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK | DOES_NOT_HEAR,
	.faults = FAULT_DOWN,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "Redis is down, and the disk is slow",
	.policy = HOLD,
	.gateways = 1,
	.slow_disk = true,
	.callers = {{.key = "k"}, {.key = "l"}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK,
	.faults = FAULT_DOWN,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "Redis is down, the disk is slow, and another may decide",
	.policy = RETRY,
	.gateways = 2,
	.slow_disk = true,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1, .after = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_CUT | FAULT_DISK,
	.fault = 2,
	.slow = 1,
    },
    {
	.name = "requests are forwarded while Redis is down",
	.policy = HOLD ",'on_store_down':'forward'",
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k"}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_DOWN | FAULT_LEAVE,
	.fault = 1,
	.slow = 1,
    },
    {
	.name = "Redis refuses",
	.policy = HOLD,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE | DOES_BREAK,
	.faults = FAULT_REFUSE | FAULT_DISK,
	.fault = 3,
    },
    {
	.name = "Redis answers late",
	.policy = RETRY,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_GHOST,
	.late = 2,
	.slow = 1,
    },
    {
	.name = "a large answer is lost on its way to Redis or back",
	.policy = HOLD,
	.large = true,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_CUT | FAULT_GHOST,
	.fault = 2,
	.late = 1,
    },
    {
	.name = "large answers, and the outcome is tried again",
	.policy = RETRY ",'on_store_down':'forward'",
	.large = true,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_CUT | FAULT_REFUSE,
	.fault = 2,
	.late = 1,
    },
    {
	.name = "a waiting retry's gateway loses Redis",
	.policy = HOLD ",'in_flight':'wait','wait_timeout':'10s'",
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_CUT | FAULT_LEAVE,
	.fault = 1,
	.slow = 1,
    },
};

int
main(int argc, char **argv)
{
	return explore_all(scenarios, sizeof scenarios / sizeof *scenarios,
	    argc, argv);
}
