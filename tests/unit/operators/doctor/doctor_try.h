/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "unit/conf/conf_try.h"

#include "operators/doctor/doctor_judge_private.h"
#include "operators/doctor/doctor_reconcile_private.h"
#include "operators/probe/rights.h"

/*
 * For the tests of doctor/: what doctor finds in what it was shown, where
 * nothing is asked of anybody.  A test file includes it once.
 */

/* Texts of which what was seen is the owner. */
#define T(text) ((char[]){text})

/* On a machine on which nothing is wrong. */
#define TRY_WELL_FILE(members)                                              \
	"{'listen':['127.0.0.1:0'],'limits':{'connections':8},"             \
	"'state_dir':'/tmp/once-nothing-is-there'," members "}"

/* What is expected of the only finding of a name. */
struct verdict {
	enum finding_name name;
	enum finding_level level;
	const char *where; /* NULL: nowhere in the file */
	const char *message;
	const char *cure; /* NULL: none */
};

/* What the Redis of a file says of itself where all is well, and more of it. */
static const char usual_info[] =
    "redis_version:7.0.15\r\nrole:master\r\naof_enabled:1\r\n"
    "connected_slaves:1\r\nslave0:ip=::1,port=1,state=online\r\n"
    "maxmemory:0\r\nused_memory:1000\r\nmaxmemory_policy:noeviction\r\n"
    "tcp_port:0\r\n";

/* The first finding of that name: there is one at least. */
static inline const struct finding *
try_finding(const struct doctor *doctor, enum finding_name name)
{
	size_t i = 0;
	while (i < doctor->count && doctor->list[i].name != name)
		i++;
	assert_true(i < doctor->count);
	return &doctor->list[i];
}

static inline void
assert_text(const char *shows, const char *got, const char *wanted)
{
	if (got == NULL || wanted == NULL ? got != wanted : strcmp(got, wanted))
		fail_msg("%s:\n  got    %s\n  wanted %s", shows,
		    got ? got : "(nothing)", wanted ? wanted : "(nothing)");
}

/*
 * Judges what was seen, and asserts that this is found, and that nothing else
 * is wrong; but for with, which may come with it.
 */
static inline void
assert_verdict_with(struct doctor *doctor, const char *shows,
    const struct verdict *verdict, enum finding_name with)
{
	static const struct complaints none;
	doctor->complaints = &none;
	doctor_reconcile_look(doctor);
	doctor_judge(doctor);
	const struct finding *is = try_finding(doctor, verdict->name);
	assert_text(shows, is->message, verdict->message);
	assert_text(shows, is->cure, verdict->cure ? verdict->cure : "");
	assert_text(shows, is->where, verdict->where);
	if (is->level != verdict->level)
		fail_msg("%s: level %d", shows, (int)is->level);
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->list[i].level > LEVEL_SKIP &&
		    doctor->list[i].name != verdict->name &&
		    doctor->list[i].name != with)
			fail_msg("%s, and %s", shows, doctor->list[i].message);
	findings_free(doctor);
	doctor_reconcile_clear(doctor);
}

static inline void
assert_verdict(
    struct doctor *doctor, const char *shows, const struct verdict *verdict)
{
	assert_verdict_with(doctor, shows, verdict, verdict->name);
}
