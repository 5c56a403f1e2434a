/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "operators/probe/servers.h"

/*
 * What the files of `doctor` have found: each looks at one subject and adds
 * what its questions bring, in any order; tbl/findings.h has the sentences, the
 * cures and the order of the report.  Main thread.
 */
enum finding_name {
#define FINDING(name, ...) FINDING_##name,
#include "tbl/findings.h"
#undef FINDING
	FINDING_COUNT_,
};

enum finding_level { LEVEL_OK, LEVEL_SKIP, LEVEL_WARN, LEVEL_FAIL };

enum finding_needs {
	NEEDS_NOTHING,
	NEEDS_REDIS,
	NEEDS_INFO,
	NEEDS_BROKER,
	NEEDS_RELAY,
	NEEDS_WITNESS,
};

/* tbl/findings.h as data, by name. */
struct finding_kind {
	const char *name;
	enum finding_level level;
	enum finding_needs needs;
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

struct doctor {
	const char *file;
	const struct conf *conf;
	const char *place; /* HOST:PORT of a master of a cluster; NULL: none */
	/*
	 * What leads a redis-cli to the Redis that is, or was last, looked at,
	 * and how it has to speak to it; NULL: none was yet.
	 */
	char *cli_there;
	char *cli_manner;

	struct sentinel_named
	    master;     /* of the store, by Sentinels; host "": none */
	char *store_id; /* that the store's Redis has; NULL: none */
	struct finding *list;
	size_t count;
};

/* "/MEMBER/NAME", for free(). */
char *findings_pointer(const char *member, const char *name);
/*
 * One more finding of that kind.  detail and remedy stand in its message and
 * in its cure, and are taken over; NULL where they have no place for one.
 */
void findings_add(struct doctor *doctor, enum finding_name name,
    const char *where, char *detail, char *remedy);
/* It is well, by another message than the table's; taken over. */
void findings_well(
    struct doctor *doctor, enum finding_name name, char *message);
/* It could not be looked at, and why. */
void findings_skip(
    struct doctor *doctor, enum finding_name name, const char *why);
/* So it is with all that need this, and of which nothing is known yet. */
void findings_skip_all(
    struct doctor *doctor, enum finding_needs needs, const char *why);

/* Whether anything is known of it. */
bool findings_has(const struct doctor *doctor, enum finding_name name);
/* All in the report's order; what has no finding is well. */
void findings_sort(struct doctor *doctor);
/* How many there are of a level. */
unsigned findings_count(const struct doctor *doctor, enum finding_level level);
/* Frees the list. */
void findings_free(struct doctor *doctor);
/*
 * Leads the commands of cures to a Redis: its host and port, or its socket, its
 * database, and the files for TLS.  Where the file has a password, redis-cli
 * asks for one: an administrator has another, and may have another name, than
 * the gateway.  host NULL: where redis says, as far as that is one server.
 */
void findings_cli(struct doctor *doctor, const struct conf_redis *redis,
    const char *host, uint16_t port);
