/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of tbl/options.h about what a route with idempotency answers in the
 * gateway's own words.
 */

OPT(IDEMPOTENCY, "problems", PROBLEMS, problems, ANY, RELOAD,
	"Other statuses for problems, by the last word of their types: "
	"{\"key-reused\": 400}, as clients of the API expect.",
	{})
