/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The access line: what became of one request, for the log.  Keys, tokens,
 * queries and bodies are never in it.  The worker's thread only.
 */
struct request;

/* Nothing where log.access is false. */
void access_log(const struct request *r);
