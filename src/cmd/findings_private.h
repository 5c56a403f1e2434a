/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "conf/conf_load.h"
#include "probe/diagnostics.h"
#include "probe/sentinel_query.h"
#include "upstream/reach.h"

/*
 * What the files of `doctor` share: what was looked at, one check for each
 * line of tbl/findings.h, and what they find.  Checks only judge: all asking
 * is done before.  Main thread.
 */
enum finding_name {
#define FINDING(name, ...) FINDING_##name,
#include "tbl/findings.h"
#undef FINDING
	FINDING_COUNT_,
};

enum finding_level { LEVEL_OK, LEVEL_SKIP, LEVEL_WARN, LEVEL_FAIL };

struct finding {
	enum finding_name name;
	enum finding_level level;
	char *where; /* a JSON pointer; NULL: nowhere in the file */
	char *message;
	char *cure; /* "" unless WARN or FAIL */
};

struct doctor {
	const struct conf *conf;
	/* What is wrong with the file: then nothing else is looked at. */
	const struct complaints *complaints;
	struct sentinel_answer *sentinels; /* one for each; NULL: none */
	/* The one Redis, or the masters of a cluster, one after the other. */
	struct diagnostics redis;
	struct diagnostics *redises;
	size_t n_redises;
	struct reached *reached; /* one for each target */
	size_t n_reached;

	struct finding *list;
	size_t count;
};

/*
 * One more finding of that kind.  detail and remedy stand in its words and in
 * its cure, and are taken over; NULL where they have no place for one.
 */
void doctor_found(struct doctor *doctor, enum finding_name name,
    const char *where, char *detail, char *remedy);
/* It is well, in other words than those of the table; taken over. */
void doctor_well(struct doctor *doctor, enum finding_name name, char *message);
/* It could not be looked at, and why. */
void doctor_skipped(
    struct doctor *doctor, enum finding_name name, const char *why);
/* For shells, in single quotes where it needs them; the caller frees it. */
char *doctor_quoted(const char *text);

#define FINDING(name, ...) void check_##name(struct doctor *doctor);
#include "tbl/findings.h"
#undef FINDING
