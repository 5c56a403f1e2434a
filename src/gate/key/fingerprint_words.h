/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What of two requests with one key is compared on a route, in words for
 * clients: "method, path, query and body (of JSON all but /sent_at)".  It
 * compares nothing (key/fingerprint.h).  Pure; any thread; the caller frees
 * what is returned.
 */
char *fingerprint_words(const struct conf_idempotency *policy);
