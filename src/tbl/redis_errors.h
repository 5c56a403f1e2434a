/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REDIS_ERROR(name, word, properties): the errors of Redis that we tell apart
 * by their first word, and what follows from each:
 *
 *   REDIS_NOT_RUN     it is raised before a script runs, or in place of the
 *                     first write, which is the one that matters: nothing has
 *                     happened
 *   REDIS_ONLY_READS  whatever would write is refused; what only reads is not
 *   REDIS_MOVES       a server of a cluster that says so may have been replaced
 *   REDIS_REFUSES     it is about who we are or what we ask, and will not pass
 */
REDIS_ERROR(ASK, "ASK", REDIS_NOT_RUN)
REDIS_ERROR(BUSY, "BUSY", REDIS_NOT_RUN)
REDIS_ERROR(CLUSTERDOWN, "CLUSTERDOWN", REDIS_NOT_RUN | REDIS_MOVES)
REDIS_ERROR(CROSSSLOT, "CROSSSLOT", REDIS_NOT_RUN)
REDIS_ERROR(ERR, "ERR", REDIS_REFUSES)
REDIS_ERROR(LOADING, "LOADING", REDIS_NOT_RUN | REDIS_MOVES)
REDIS_ERROR(MASTERDOWN, "MASTERDOWN", REDIS_NOT_RUN | REDIS_MOVES)
REDIS_ERROR(MISCONF, "MISCONF", REDIS_NOT_RUN | REDIS_ONLY_READS)
REDIS_ERROR(MOVED, "MOVED", REDIS_NOT_RUN)
REDIS_ERROR(NOAUTH, "NOAUTH", REDIS_NOT_RUN | REDIS_REFUSES)
REDIS_ERROR(NOPERM, "NOPERM", REDIS_NOT_RUN | REDIS_REFUSES)
REDIS_ERROR(NOREPLICAS, "NOREPLICAS", REDIS_NOT_RUN | REDIS_ONLY_READS)
REDIS_ERROR(NOSCRIPT, "NOSCRIPT", REDIS_NOT_RUN)
REDIS_ERROR(OOM, "OOM", REDIS_NOT_RUN | REDIS_ONLY_READS)
REDIS_ERROR(READONLY, "READONLY",
	REDIS_NOT_RUN | REDIS_ONLY_READS | REDIS_MOVES)
REDIS_ERROR(TRYAGAIN, "TRYAGAIN", REDIS_NOT_RUN)
REDIS_ERROR(WRONGPASS, "WRONGPASS", REDIS_REFUSES)
