/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * REDIS_ERROR(name, word, properties): the errors of Redis that we tell apart
 * by their first word, and what follows from each:
 *
 *   NOT_RUN     it is raised before a script runs, or in place of the first
 *               write, which is the one that matters: nothing has happened
 *   ONLY_READS  whatever would write is refused; what only reads is not
 *   MOVES       a server of a cluster that says so may have been replaced
 *   REFUSES     it is about who we are or what we ask, and will not pass
 */
REDIS_ERROR(ASK, "ASK", NOT_RUN)
REDIS_ERROR(BUSY, "BUSY", NOT_RUN)
REDIS_ERROR(CLUSTERDOWN, "CLUSTERDOWN", NOT_RUN | MOVES)
REDIS_ERROR(CROSSSLOT, "CROSSSLOT", NOT_RUN)
REDIS_ERROR(ERR, "ERR", REFUSES)
REDIS_ERROR(LOADING, "LOADING", NOT_RUN | MOVES)
REDIS_ERROR(MASTERDOWN, "MASTERDOWN", NOT_RUN | MOVES)
REDIS_ERROR(MISCONF, "MISCONF", NOT_RUN | ONLY_READS)
REDIS_ERROR(MOVED, "MOVED", NOT_RUN)
REDIS_ERROR(NOAUTH, "NOAUTH", NOT_RUN | REFUSES)
REDIS_ERROR(NOPERM, "NOPERM", NOT_RUN | REFUSES)
REDIS_ERROR(NOREPLICAS, "NOREPLICAS", NOT_RUN | ONLY_READS)
REDIS_ERROR(NOSCRIPT, "NOSCRIPT", NOT_RUN)
REDIS_ERROR(OOM, "OOM", NOT_RUN | ONLY_READS)
REDIS_ERROR(READONLY, "READONLY", NOT_RUN | ONLY_READS | MOVES)
REDIS_ERROR(TRYAGAIN, "TRYAGAIN", NOT_RUN)
REDIS_ERROR(WRONGPASS, "WRONGPASS", REFUSES)
