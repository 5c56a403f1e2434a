/* SPDX-License-Identifier: BSD-2-Clause */
#include "replay/explore.h"

/*
 * Every order of events, with replicas that lag and a failover that loses what
 * they do not have: with store.wait_replicas nothing is executed twice, and
 * every answer that a client got stays the answer.
 */
static const struct scenario scenarios[] = {
    {
	.name = "a replica that lags takes over at any step",
	.policy = "'lease':'6s'",
	.replicas = 1,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_FEW | FAULT_FAILOVER,
	.fault = 3,
	.slow = 1,
    },
    {
	.name = "a replica takes over between two gateways",
	.policy = "'lease':'6s'",
	.replicas = 1,
	.gateways = 2,
	.callers = {{.key = "k"}, {.key = "k", .gateway = 1}},
	.upstream = DOES_PAY,
	.faults = FAULT_FEW | FAULT_FAILOVER,
	.fault = 2,
    },
    {
	.name = "connections break while replicas are waited for",
	.policy = "'lease':'6s'",
	.replicas = 1,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_REFUSE,
	.faults = FAULT_FEW | FAULT_CUT | FAULT_FAILOVER,
	.fault = 2,
	.late = 1,
	.close = 1,
    },
    {
	.name = "replicas lag, and the outcome is tried again",
	.policy = "'lease':'6s','on_unknown':'retry','max_attempts':4",
	.replicas = 1,
	.gateways = 1,
	.callers = {{.key = "k"}, {.key = "k", .after = 1}},
	.upstream = DOES_PAY | DOES_BREAK,
	.faults = FAULT_FEW | FAULT_FAILOVER,
	.fault = 3,
	.late = 1,
    },
};

int
main(int argc, char **argv)
{
	return explore_all(scenarios, sizeof scenarios / sizeof *scenarios,
	    argc, argv);
}
