/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <strings.h>

#include "conf/review/usual_headers.h"

static bool
is_header_of(const char *header, const char *const *names)
{
	for (; *names != NULL; names++)
		if (!strcasecmp(*names, header))
			return true;
	return false;
}

bool
usual_headers_change(const char *header)
{
	static const char *const names[] = {"Date", "Request-Id", "Signature",
	    "Signature-Input", "Traceparent", "Tracestate",
	    "X-Amzn-Trace-Id", "X-B3-TraceId", "X-Correlation-Id",
	    "X-Request-Id", "X-Request-Start", "X-Signature",
	    "X-Timestamp", NULL};
	return is_header_of(header, names);
}

bool
usual_headers_stay(const char *header)
{
	static const char *const names[] = {"Accept", "Accept-Charset",
	    "Accept-Encoding", "Accept-Language", "Cache-Control",
	    "Content-Encoding", "Content-Language", "Content-Length",
	    "Content-Type", "Forwarded", "If-Match", "If-None-Match",
	    "Origin", "Referer", "User-Agent", "X-Forwarded-For",
	    "X-Real-IP", NULL};
	return is_header_of(header, names);
}
