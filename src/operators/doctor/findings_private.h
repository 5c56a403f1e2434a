/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"
#include "operators/probe/diagnostics.h"
#include "operators/probe/reach.h"
#include "operators/probe/sentinel_query.h"
#include "operators/probe/source_query.h"
#include "store/journal/journal_folder.h"

/*
 * What the files of `doctor` share: what was looked at, and what they have
 * found.  Main thread.
 */
enum finding_name {
#define FINDING(name, ...) FINDING_##name,
#include "tbl/findings.h"
#undef FINDING
	FINDING_COUNT_,
};

enum finding_level { LEVEL_OK, LEVEL_SKIP, LEVEL_WARN, LEVEL_FAIL };

/* tbl/findings.h as data, by name. */
struct finding_kind {
	const char *name;
	enum finding_level level;
	const char *well;
	const char *message;
	const char *cure;
};
extern const struct finding_kind finding_kinds[FINDING_COUNT_];

struct finding {
	enum finding_name name;
	enum finding_level level;
	char *where; /* a JSON pointer; NULL: nowhere in the file */
	/* Of an error in the file, from 1; 0: not known. */
	size_t line;
	size_t column;
	char *message;
	char *cure; /* "" unless WARN or FAIL */
};

struct reconcile_questions;

struct doctor {
	const char *file;
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
	struct source_seen *sources; /* one for each source */
	struct source_seen *relays;  /* one for each relay */
	struct reconcile_questions *questions; /* doctor_reconcile.c */
	struct journal_survey journal;
	int journal_error; /* an errno: it could not be looked at; or 0 */

	struct finding *list;
	size_t count;
};

/*
 * One more finding of that kind.  detail and remedy stand in its message and
 * in its cure, and are taken over; NULL where they have no place for one.
 */
void findings_add(struct doctor *doctor, enum finding_name name,
    const char *where, char *detail, char *remedy);
/* It is well, by another message than the table's; taken over. */
void findings_add_well(
    struct doctor *doctor, enum finding_name name, char *message);
/* It could not be looked at, and why. */
void findings_add_skipped(
    struct doctor *doctor, enum finding_name name, const char *why);

/* How many there are of a level. */
unsigned findings_count(
    const struct doctor *doctor, enum finding_level level);
/* Takes one off the list. */
void findings_drop(struct doctor *doctor, size_t index);
/* Frees the list. */
void findings_free(struct doctor *doctor);
