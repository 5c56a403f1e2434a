/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "upstream/outcome.h"

enum outcome
outcome_of(const uint8_t outcomes[600], int status, struct span said)
{
	must(status >= 200 && status <= 599);
	if (span_ieq(said, SPAN("store")))
		return OUTCOME_STORE;
	if (span_ieq(said, SPAN("release")))
		return OUTCOME_RELEASE;
	if (span_ieq(said, SPAN("unknown")))
		return OUTCOME_UNKNOWN;
	return (enum outcome)outcomes[status];
}
