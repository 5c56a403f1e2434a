/* SPDX-License-Identifier: BSD-2-Clause */
#include "http/upstream/status_class.h"

enum status_class
status_class_said(struct span said, uint8_t meaning)
{
	if (span_ieq(said, SPAN("store")))
		return STATUS_STORE;
	if (span_ieq(said, SPAN("release")))
		return STATUS_RELEASE;
	if (span_ieq(said, SPAN("forget")))
		return STATUS_FORGET;
	if (span_ieq(said, SPAN("unknown")))
		return STATUS_UNKNOWN;
	return (enum status_class)meaning;
}
