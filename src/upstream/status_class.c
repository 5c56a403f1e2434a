/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "upstream/status_class.h"

enum status_class
status_class_of(const uint8_t outcomes[600], int status, struct span said)
{
	must(status >= 200 && status <= 599);
	if (span_ieq(said, SPAN("store")))
		return STATUS_STORE;
	if (span_ieq(said, SPAN("release")))
		return STATUS_RELEASE;
	if (span_ieq(said, SPAN("unknown")))
		return STATUS_UNKNOWN;
	return (enum status_class)outcomes[status];
}
