/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of tbl/options.h about when a request is the same as the first with
 * its key, and what is answered where it is not, or in the gateway's own words.
 */

OPT(IDEMPOTENCY, "fingerprint.only", POINTERS, fingerprint_only, ANY, RELOAD,
	"JSON pointers to what alone counts of the body; implies json.",
	[])
OPT(IDEMPOTENCY, "preset", PRESET, preset, WORDS(API_PRESET_WORDS), RELOAD,
	"What clients of a well-known API count on: stands for members of this "
	"object, which the manual has under Presets; those that are said "
	"beside it take precedence.",
	NONE)
OPT(IDEMPOTENCY, "problems", PROBLEMS, problems, ANY, RELOAD,
	"Other statuses for problems, by the last word of their types: "
	"{\"key-reused\": 400}, as clients of the API expect.",
	{})
