/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of one key: two gateways, two requests through each, one after
 * the other, and whatever may go wrong on the way.  README in this folder
 * tells how to run it and what is left out.
 *
 * Without a macro: one Redis, and on_unknown is "hold".
 *   RETRY      on_unknown is "retry"
 *   RECONCILE  on_unknown is "reconcile", and the API may take its time
 *   FAILOVER   Redis has a replica, which may take over once; wait_replicas
 *              is 1
 *   FORGETS    Redis forgets the record once, while its owner is there; no
 *              retry comes, and no gateway dies, before the outcome does
 *   DAMAGES    the record is damaged once, before it is COMPLETED; an operator
 *              deletes it
 * To have fewer states:
 *   THREE      only one request goes through the second gateway
 *   PROMPT     no claim is executed late
 *
 * Mutants, mistakes that somebody might make; a promise is then broken:
 *   RECLAIM_EXPIRED      a lease that ran out leaves a free key
 *   RELEASE_AFTER_SEND   a failure that may have followed a send releases
 *   NO_FENCING           a step is taken from anybody
 *   SAME_OWNER           an owner is a gateway, not a request
 *   NO_DEADLINE          Redis executes a claim however late it comes
 *   NO_SWEEPER           only retries notice that a lease ran out
 *   ANSWER_BEFORE_STORE  the client has the answer before Redis has it
 *   JOURNAL_IN_MEMORY    the journal dies with the process
 *   FENCED_ANSWERS       (RETRY) a fenced owner hands out its own answer
 *   JOURNAL_ANSWERS      (RETRY) an answer that only the journal has is
 *                        handed out
 *   FORGET_BEFORE        (RETRY) an attempt of which nothing was sent leaves
 *                        a free key
 *   RESTORE_AFTER_SEND   (RETRY) an attempt that the upstream refused puts
 *                        the one before back
 *   JOURNAL_FORGETS      (RETRY) the journal drops the truth of an attempt
 *                        that another one has replaced
 *   LATEST_ONLY          (RETRY) once the attempt after it is unknown, the
 *                        truth of an attempt is refused
 *   NO_SETTLE            (RECONCILE) the API is asked at once
 *   SEND_LATE            (RECONCILE) a request is sent after its lease
 *   REFUSE_ASKED         (RECONCILE) the truth of an attempt is refused while
 *                        the API is asked about it
 *   OLD_DENIAL           (RECONCILE) what the API denied is executed although
 *                        somebody else has asked since
 *   GONE_IS_LATE         (FORGETS) an outcome that finds no record is given up
 *   BROKEN_IS_LATE       (DAMAGES) an outcome whose record is damaged is given
 *                        up
 *   DELETE_FREES         (DAMAGES) an operator's delete of a damaged record
 *                        leaves a free key
 *   DELETE_DECIDES       (DAMAGES) what it leaves takes no outcome
 *   NO_WAIT              (FAILOVER) it is enough that the master has it
 *   WAIT_ELSEWHERE       (FAILOVER) WAIT is asked on another connection
 *                        than the one that wrote
 *   EARLY_REPLAY         (FAILOVER) a retry is given an answer that no
 *                        replica has yet
 *
 * Limits, which are not the gateway's to overcome:
 *   OPERATOR_COMPLETES, OPERATOR_RELEASES  somebody decides about an UNKNOWN
 *                        whose owner may still act
 *
 * ONLY=PROMISE checks that promise alone:
 */
#define ONCE		1 /* the upstream executes at most once (hold) */
#define NUMBERED	2 /* no two sends have the same attempt number */
#define ONE_ANSWER	3 /* all clients are given the same answer */
#define LASTING		4 /* and it is there for all who come later */
#define UNSTUCK		5 /* no record stays PROCESSING without an owner */
#define NO_IDLE_DOUBT	6 /* what was never sent is not UNKNOWN, as long as
			     no gateway dies (one Redis, hold) */
#define TRUTH		7 /* a whole answer that no gateway died with ends a
			     doubt (one Redis) */

#ifndef ONLY
#define ASKED(promise)	1
#else
#define ASKED(promise)	(ONLY == promise)
#endif

/* Each request is an owner: 0 and 1 of one gateway, 2 and 3 of the other. */
#define TRIES		2
#define OWNERS		4
#ifdef THREE
#define REQUESTS	3
#else
#define REQUESTS	OWNERS
#endif
#define NOBODY		4
#define OPERATOR	5

/* A record's states; the last three are verdicts as well. */
mtype = { NONE, RELEASED, PROCESSING, BROKEN, UNKNOWN, COMPLETED };
/* The other verdicts of the scripts; what is gone is FENCED here. */
mtype = { OURS, ASK, IN_FLIGHT, DONE, FENCED, BEFORE };
/*
 * Where a request is, as in src/tbl/steps.h, where KEEP is COMPLETE and DOUBT
 * is MARK_UNKNOWN; UNSENT is a RELEASE of which nothing was sent, and TELL
 * answers the client.  KEEP, RELEASE, UNSENT and DOUBT are also what a journal
 * may have to do.  ASK is the verdict RECONCILE as well.
 */
mtype = { CLAIM, CLAIMED, RECLAIM, FORWARD, KEEP, KEPT, RELEASE, UNSENT, DOUBT,
	REPLAY, TELL, END };
/* How far a request's last write has come. */
mtype = { WRITTEN, REPLICATED };

/* --- Redis --- */

/*
 * An answer is identified by its owner.  There is no lease here: whoever looks
 * may find it expired or not, so that every delay, renewal and jump of a clock
 * is covered.
 */
typedef Record {
	mtype state = NONE;
	byte owner = NOBODY;
	byte attempt;
#ifdef RETRY
	short before	/* owners of unknown attempts before, see KEEP_BEFORE */
#endif
#ifdef RECONCILE
	byte asked = NOBODY;	/* whose attempt the owner asks about */
	byte back = NOBODY	/* who asked, and has put it back */
#endif
};

/* The first master, and its replica, which is the master once promoted. */
Record redis[2];

#ifdef FAILOVER
bool promoted;
bool spared;		/* it will never be promoted */
bool moved[2];		/* this gateway uses the new master */
mtype write[OWNERS];	/* what WAIT is asked about; 0: nothing */
#define MASTER		redis[promoted]
#define MINE		redis[moved[me / TRIES]]
#else
#define MASTER		redis[0]
#define MINE		redis[0]
#endif

/* --- what gateways have of each request --- */

byte held[OWNERS];	/* the attempt that the claim brought */
bool late[OWNERS];	/* a claim that Redis may still execute */
bool giveback[OWNERS];	/* in memory: a claim to be given back */
mtype journal[OWNERS];	/* on disk: the step that Redis did not take, or 0 */

/* --- the API that reconcile asks --- */

#ifdef RECONCILE
bool late_denial[OWNERS]; /* a claim after a denial, as late */
bool pending[OWNERS];	/* it has got the request, and may execute it yet */
#endif

/* --- what is watched --- */

byte seen = NOBODY;	/* the answer that clients were given */
#ifndef RETRY
byte executions;
#endif
#if !(defined(RETRY) && defined(FAILOVER)) && !defined(FORGETS)
byte numbers;		/* a bit for each attempt number that was sent */
#endif
#if !defined(FAILOVER) && !defined(FORGETS)
byte truths;		/* and for each whose owner has a whole answer, as long
			   as the record has none */
#endif
#if !defined(RETRY) && !defined(RECONCILE) && !defined(FAILOVER)
bool in_doubt;		/* a request was sent, and no answer came */
bool crashed;
#define NOTE(what)	what = true
#else
#define NOTE(what)	skip
#endif
bool begun;

#ifdef DAMAGES
bool damaged;
#define WAS_DAMAGED	damaged
#else
#define WAS_DAMAGED	false
#endif
#ifdef FORGETS
bool forgot;
/* The record is gone, and somebody has what it takes to make it again. */
#define IS_AWAITED	(forgot && MASTER.state == NONE && \
			(held[0] || held[1] || held[2] || held[3]))
#else
#define IS_AWAITED	false
#endif

#if !defined(FAILOVER) && !defined(FORGETS)
#define WHOLE(o)	truths = truths | \
			((MINE.state == COMPLETED -> 0 : 1) << held[o])
#define LOST(o)		truths = truths & ~(1 << held[o])
#define KNOWN		truths = 0
#else
#define WHOLE(o)	skip
#define LOST(o)		skip
#define KNOWN		skip
#endif

hidden mtype verdict;	/* of a step; never looked at after its atomic */

/* --- the scripts of src/store/record/lua: record r, owner o --- */

#ifdef NO_FENCING
#define IS_OF(r, o)	true
#define IS_HELD(r, o)	true
#else
#define IS_OF(r, o)	(r.owner == o)
#define IS_HELD(r, o)	(r.owner == o && r.attempt == held[o])
#endif
#define IS_OPEN(r)	(r.state == PROCESSING || r.state == UNKNOWN)

/*
 * The notes of a record.  before is a list of up to three owners, the latest
 * in the lowest digit, of base 8: an owner and 1.
 */
#ifdef RETRY
#define KEEP_BEFORE(r)	r.before = (r.before << 3) | (r.owner + 1)
#define NO_BEFORE(r)	r.before = 0
#define IS_BEFORE(r, o)	((r.before & 7) == o + 1 || \
			((r.before >> 3) & 7) == o + 1 || \
			((r.before >> 6) & 7) == o + 1)
#define NOT_SENT	UNSENT
#else
#define NO_BEFORE(r)	skip
#define NOT_SENT	RELEASE
#endif
#ifdef RECONCILE
#define IS_ASKING(r)	(r.asked != NOBODY)
#define NO_NOTES(r)	r.asked = NOBODY; r.back = NOBODY
#define IS_BACK(r, o)	(r.state == UNKNOWN && r.back == o && \
			r.attempt == held[o])
#ifdef REFUSE_ASKED
#define IS_ASKED(r, o)	false
#else
#define IS_ASKED(r, o)	(r.asked == o && r.attempt == held[o])
#endif
#else
#define NO_NOTES(r)	NO_BEFORE(r)
#define IS_BACK(r, o)	false
#define IS_ASKED(r, o)	false
#endif

inline execute(r, o)
{
	NO_NOTES(r);
	r.state = PROCESSING;
	r.owner = o;
	r.attempt++;
	held[o] = r.attempt;
	verdict = OURS
}

#ifdef RECONCILE
inline put_back(r)
{
	r.back = r.owner;
	r.owner = r.asked;
	r.asked = NOBODY;
	r.state = UNKNOWN
}
#endif

/* The lease has run out. */
inline expire(r)
{
	printf("the lease has run out\n");
#ifdef RECONCILE
	if
	:: IS_ASKING(r) -> put_back(r)
	:: else -> r.state = UNKNOWN
	fi
#else
	r.state = UNKNOWN
#endif
}

inline meet_unknown(r, o)
{
#ifdef RETRY
	short list = (r.before << 3) | (r.owner + 1);
	execute(r, o);
	r.before = list
#else
	verdict = UNKNOWN
#endif
#ifdef RECONCILE
	/* It has been unknown for as long as the API may take, or not yet. */
	if
#ifdef NO_SETTLE
	:: true ->
#else
	:: !pending[r.owner] ->
#endif
		NO_NOTES(r);
		r.asked = r.owner;
		r.state = PROCESSING;
		r.owner = o;
		held[o] = r.attempt;
		verdict = ASK
	:: true
	fi
#endif
}

/*
 * What a record is made of again that is gone: held has the attempt, as long as
 * the owner has an outcome to store.
 */
#if defined(FORGETS) && !defined(GONE_IS_LATE)
#define IS_GONE(r, o)	(r.state == NONE && held[o] != 0)
#elif defined(DAMAGES) && !defined(DELETE_DECIDES)
/* ... or was damaged: an UNKNOWN of nobody's is what a delete has left. */
#define IS_GONE(r, o)	(r.state == UNKNOWN && r.owner == NOBODY && \
			held[o] != 0)
#else
#define IS_GONE(r, o)	false
#endif

inline make_again(r, o, its)
{
	if
	:: its == COMPLETED -> KNOWN
	:: else
	fi;
	r.state = its;
	r.owner = o;
	r.attempt = held[o];
	verdict = DONE
}

inline claim(r, o)
{
	if
	:: r.state == NONE || r.state == RELEASED ->
		execute(r, o)
	:: r.state == PROCESSING && r.owner == o ->
		verdict = OURS
	:: r.state == PROCESSING && r.owner != o ->
		verdict = IN_FLIGHT
	:: r.state == PROCESSING && r.owner != o ->
		expire(r);
#ifdef RECLAIM_EXPIRED
		execute(r, o)
#else
		meet_unknown(r, o)
#endif
	:: r.state == UNKNOWN ->
		meet_unknown(r, o)
	:: r.state == BROKEN ->
		verdict = UNKNOWN
	:: r.state == COMPLETED ->
		verdict = COMPLETED
	fi
}

/* A claim again: the API was asked, and denies the attempt. */
#ifdef RECONCILE
inline reclaim(r, o)
{
	if
	:: r.state == PROCESSING && r.owner == o ->
		execute(r, o)
	:: r.state == PROCESSING && r.owner != o ->
		verdict = IN_FLIGHT
	:: r.state == PROCESSING && r.owner != o ->
		expire(r);
		verdict = UNKNOWN
#ifdef OLD_DENIAL
	:: r.state == UNKNOWN ->
		execute(r, o)
#else
	:: r.state == UNKNOWN && r.back == o ->
		execute(r, o)
	:: r.state == UNKNOWN && r.back != o ->
		verdict = UNKNOWN
#endif
	:: r.state == RELEASED ->
		execute(r, o)
	:: r.state == COMPLETED ->
		verdict = COMPLETED
	fi
}
#endif

inline complete(r, o)
{
	if
	:: IS_GONE(r, o) ->
		make_again(r, o, COMPLETED)
	:: IS_OPEN(r) && (IS_HELD(r, o) || IS_ASKED(r, o) || IS_BACK(r, o)) ->
		NO_NOTES(r);
		KNOWN;
		r.state = COMPLETED;
		r.owner = o;
		verdict = DONE
	:: r.state == COMPLETED && IS_HELD(r, o) ->
		verdict = DONE
#ifdef RETRY
	:: r.state == PROCESSING && IS_BEFORE(r, o) ->
		verdict = BEFORE
#ifndef LATEST_ONLY
	:: r.state == UNKNOWN && IS_BEFORE(r, o) ->
		NO_NOTES(r);
		KNOWN;
		r.state = COMPLETED;
		r.owner = o;
		r.attempt = held[o];
		verdict = DONE
#endif
#endif
	:: else ->
		verdict = FENCED
	fi
}

inline release(r, is_its, step)
{
	if
#ifdef RECONCILE
	:: r.state == PROCESSING && is_its && IS_ASKING(r) ->
		put_back(r);
		verdict = DONE
	:: IS_OPEN(r) && is_its && !IS_ASKING(r) ->
#elif defined(RETRY)
#ifdef RESTORE_AFTER_SEND
	:: IS_OPEN(r) && is_its && r.before != 0 ->
#elif defined(FORGET_BEFORE)
	:: false ->
#else
	:: IS_OPEN(r) && is_its && r.before != 0 && step == UNSENT ->
#endif
		r.state = UNKNOWN;
		r.owner = (r.before & 7) - 1;
		r.before = r.before >> 3;
		r.attempt--;
		verdict = DONE
#if defined(RESTORE_AFTER_SEND)
	:: IS_OPEN(r) && is_its && r.before == 0 ->
#elif defined(FORGET_BEFORE)
	:: IS_OPEN(r) && is_its ->
#else
	:: IS_OPEN(r) && is_its && (r.before == 0 || step != UNSENT) ->
#endif
#else
	:: IS_OPEN(r) && is_its ->
#endif
		NO_NOTES(r);
		r.state = RELEASED;
		verdict = DONE
	:: r.state == RELEASED && is_its ->
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

inline unknown(r, o)
{
	if
	:: IS_GONE(r, o) ->
		make_again(r, o, UNKNOWN)
	:: IS_OPEN(r) && IS_HELD(r, o) ->
#ifdef RECONCILE
		if
		:: IS_ASKING(r) -> put_back(r)
		:: else -> r.state = UNKNOWN
		fi;
#else
		r.state = UNKNOWN;
#endif
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

/* The step with which an execution ends. */
inline settle(r, o, step)
{
	if
	:: r.state == BROKEN ->
		verdict = BROKEN
	:: r.state != BROKEN && step == KEEP ->
		complete(r, o)
	:: r.state != BROKEN && (step == RELEASE || step == UNSENT) ->
		release(r, IS_HELD(r, o), step)
	:: r.state != BROKEN && step == DOUBT ->
		unknown(r, o)
	fi
}

/* --- WAIT --- */

/* The new master has a replica at once; that one never takes over. */
#ifdef FAILOVER
#ifdef NO_WAIT
#define WROTE(o)	write[o] = REPLICATED
#else
#define WROTE(o)	write[o] = (moved[o / TRIES] -> REPLICATED : WRITTEN)
#endif
#ifdef WAIT_ELSEWHERE
#define IS_SAFE(o)	(write[o] == REPLICATED || \
			(write[o] == WRITTEN && moved[o / TRIES]))
#else
#define IS_SAFE(o)	(write[o] == REPLICATED)
#endif
#define FORGET(o)	write[o] = 0
#else
#define WROTE(o)	skip
#define IS_SAFE(o)	true
#define FORGET(o)	skip
#endif

/* --- what goes on for a request in the background --- */

inline journal_done()
{
	FORGET(me);
	journal[me] = 0;
	held[me] = 0
}

proctype Background(byte me)
{
end:	do
#if !defined(FAILOVER) && !defined(PROMPT)
	/* A claim that lay in a socket is executed after all ... */
	:: atomic {
		late[me] && !IS_AWAITED ->
		late[me] = false;
		claim(MINE, me);
		printf("request %d claims, too late: %e\n", me, verdict);
		held[me] = 0
	}
	/* ... or its deadline is over. */
	:: atomic {
		late[me] ->
		late[me] = false
	}
#ifdef RECONCILE
	:: atomic {
		late_denial[me] ->
		late_denial[me] = false;
		reclaim(MINE, me);
		printf("request %d claims again, too late: %e\n", me, verdict);
		held[me] = 0
	}
	:: atomic {
		late_denial[me] ->
		late_denial[me] = false
	}
#endif
#endif
	/* A claim is given back until that is done, or it can come no more. */
	:: atomic {
		giveback[me] ->
		release(MINE, IS_OF(MINE, me), UNSENT);
		printf("request %d gives its claim back: %e\n", me, verdict);
		if
		:: true		/* the reply is lost */
#ifdef NO_DEADLINE
		:: true ->
#else
		:: verdict == DONE || !late[me] ->
#endif
			giveback[me] = false
		fi
	}
	/* A journal's step is repeated until Redis has taken or fenced it. */
	:: atomic {
		journal[me] != 0 ->
		settle(MINE, me, journal[me]);
		printf("request %d sends its journal: %e\n", me, verdict);
		if
		:: true		/* the reply is lost */
#ifdef FAILOVER
		:: journal[me] == KEEP && verdict == DONE ->
			WROTE(me)
		:: journal[me] != KEEP || verdict != DONE ->
#elif defined(RETRY) && !defined(JOURNAL_FORGETS)
		:: verdict != BEFORE ->
#elif defined(DAMAGES) && !defined(BROKEN_IS_LATE)
		:: verdict != BROKEN ->
#else
		:: true ->
#endif
			journal_done()
		fi
	}
#ifdef FAILOVER
	:: atomic {
		journal[me] == KEEP && IS_SAFE(me) ->
		journal_done()
	}
#endif
	od
}

/* --- a gateway --- */

/* The client got an answer, or none, and retries. */
inline next_request()
{
	FORGET(me);
	if
	:: journal[me] == 0 -> held[me] = 0
	:: else
	fi;
	answer = NOBODY;
	try++;
	if
	:: try < TRIES && me + 1 < REQUESTS ->
#ifndef SAME_OWNER
		me++;
#endif
		at = CLAIM
	:: else ->
		at = END
	fi
}

/* The record has the answer. */
inline replay()
{
	answer = MINE.owner;
#ifdef EARLY_REPLAY
	at = TELL
#else
	WROTE(me);
	at = REPLAY
#endif
}

/*
 * As far as anybody knows, Redis did not take the step.  With "hold" nobody
 * else can decide, so the answer may be given to the client.
 */
inline to_journal(step)
{
	FORGET(me);
	journal[me] = step;
	printf("request %d writes its journal: %e\n", me, step);
#if !(defined(RETRY) || defined(RECONCILE)) || defined(JOURNAL_ANSWERS)
	if
	:: step == KEEP ->
		at = TELL
	:: else ->
		next_request()
	fi
#else
	next_request()
#endif
}

inline sent()
{
#if !(defined(RETRY) && defined(FAILOVER)) && !defined(FORGETS)
#if ASKED(NUMBERED)
	assert((numbers & (1 << held[me])) == 0);
#endif
	numbers = numbers | (1 << held[me])
#else
	skip
#endif
}

inline executed()
{
#ifndef RETRY
	executions++;
#if ASKED(ONCE)
	assert(executions <= 1)
#endif
#else
	skip
#endif
}

inline tell()
{
	printf("request %d gets the answer of %d\n", me, answer);
#if ASKED(ONE_ANSWER)
	assert(seen == NOBODY || seen == answer);
#endif
	seen = answer
}

#define IS_ENDING(at)	(at == KEEP || at == RELEASE || at == UNSENT || \
			at == DOUBT)

/*
 * An owner knows when its lease is over, if late: a request that it sends
 * afterwards is none of those that the API has been asked about.
 */
#if defined(RECONCILE) && !defined(SEND_LATE)
#define MAY_SEND(r, o)	(r.state == PROCESSING && IS_HELD(r, o))
#else
#define MAY_SEND(r, o)	true
#endif

proctype Gateway(byte g)
{
	byte me = g * TRIES;
	byte try;
	byte answer = NOBODY;
	mtype at = CLAIM;

	/* They are alike, so it may be assumed that the first begins. */
	g == 0 || begun;
	do
	:: atomic {
		at == CLAIM && !IS_AWAITED ->
		begun = true;
		claim(MINE, me);
		printf("request %d claims: %e\n", me, verdict);
		if
		:: verdict == OURS ->
			WROTE(me);
			at = CLAIMED
		:: verdict == COMPLETED ->
			replay()
#ifdef RECONCILE
		:: verdict == ASK ->
			at = ASK
#endif
		:: verdict == IN_FLIGHT || verdict == UNKNOWN ->
			next_request()
		:: true ->	/* the reply is lost */
			printf("request %d does not hear of it\n", me);
			giveback[me] = true;
			next_request()
		fi
	}
	:: atomic {	/* no reply, and Redis has not executed it yet */
		at == CLAIM ->
		begun = true;
		printf("request %d claims, and hears nothing\n", me);
#if !defined(FAILOVER) && !defined(PROMPT)
		late[me] = true;
#endif
		giveback[me] = true;
		next_request()
	}
#ifdef RECONCILE
	:: atomic {
		at == ASK ->
		if
		:: executions > 0 ->
			printf("request %d asks: it was executed\n", me);
			answer = me;
			at = KEEP
		:: executions == 0 ->
			printf("request %d asks: it was not executed\n", me);
			at = RECLAIM
		:: printf("request %d asks, no answer\n", me);
			at = DOUBT
		fi
	}
	:: atomic {
		at == RECLAIM ->
		reclaim(MINE, me);
		printf("request %d claims again: %e\n", me, verdict);
		if
		:: verdict == OURS ->
			at = CLAIMED
		:: verdict == COMPLETED ->
			replay()
		:: verdict == IN_FLIGHT || verdict == UNKNOWN ->
			next_request()
		:: true ->	/* the reply is lost */
			printf("request %d does not hear of it\n", me);
			giveback[me] = true;
			next_request()
		fi
	}
	:: atomic {
		at == RECLAIM ->
		printf("request %d claims again, and hears nothing\n", me);
		late_denial[me] = true;
		giveback[me] = true;
		next_request()
	}
#endif
	:: atomic {
		at == CLAIMED && IS_SAFE(me) ->
		FORGET(me);
		at = FORWARD
	}
	:: atomic {
		at == FORWARD ->
		if
		:: printf("request %d is not sent\n", me);
			at = NOT_SENT
		:: MAY_SEND(MINE, me) -> sent();
			printf("request %d is sent; the upstream refuses\n",
			    me);
			at = RELEASE
		:: MAY_SEND(MINE, me) -> sent();
			printf("request %d is sent, executed and answered\n",
			    me);
			executed();
			answer = me;
			WHOLE(me);
#ifdef ANSWER_BEFORE_STORE
			tell();
#endif
			at = KEEP
#ifdef RECONCILE
		:: MAY_SEND(MINE, me) -> sent();
			printf("request %d is sent, no answer\n", me);
			pending[me] = true;
			at = DOUBT
#else
		:: sent();
			printf("request %d is sent and executed, no answer\n",
			    me);
			executed();
			NOTE(in_doubt);
			at = DOUBT
#endif
		:: MAY_SEND(MINE, me) -> sent();
			printf("request %d is sent, not executed, no answer\n",
			    me);
			NOTE(in_doubt);
			at = DOUBT
		fi
#ifdef RELEASE_AFTER_SEND
		;
		if
		:: at == DOUBT -> at = RELEASE
		:: else
		fi
#endif
	}
	:: atomic {
		IS_ENDING(at) ->
		settle(MINE, me, at);
		printf("request %d ends with %e: %e\n", me, at, verdict);
		if
		:: verdict == DONE && at == KEEP ->
			WROTE(me);
			at = KEPT
		:: verdict == DONE && at != KEEP ->
			next_request()
#ifdef FENCED_ANSWERS
		:: verdict == FENCED && at == KEEP ->
			at = TELL
		:: verdict == FENCED && at != KEEP ->
			next_request()
#else
#ifdef RETRY
		:: verdict == BEFORE ->
			to_journal(KEEP)
#endif
#ifdef BROKEN_IS_LATE
		:: verdict == BROKEN ->
			next_request()
#else
		:: verdict == BROKEN ->
			to_journal(at)
#endif
		:: verdict == FENCED && MINE.state == COMPLETED ->
			replay()
		:: verdict == FENCED && MINE.state != COMPLETED ->
			next_request()
#endif
		:: true ->	/* the reply is lost */
			to_journal(at)
		fi
	}
	:: atomic {	/* Redis is out of reach */
		IS_ENDING(at) ->
		to_journal(at)
	}
	:: atomic {
		(at == KEPT || at == REPLAY) && IS_SAFE(me) ->
		at = TELL
	}
#ifdef FAILOVER
	:: atomic {	/* too few replicas have it */
		at == CLAIMED ->
		printf("request %d has no replica\n", me);
		giveback[me] = true;
		next_request()
	}
	:: atomic {
		at == KEPT ->
		to_journal(KEEP)
	}
	:: atomic {
		at == REPLAY ->
		printf("request %d has no replica\n", me);
		next_request()
	}
#endif
	:: atomic {
		at == TELL ->
		tell();
		next_request()
	}
	/* The process dies, at any point, and is started again. */
	:: atomic {
		!IS_AWAITED ->
		printf("request %d dies\n", me);
		NOTE(crashed);
		giveback[g * TRIES] = false;
		giveback[g * TRIES + 1] = false;
#ifdef JOURNAL_IN_MEMORY
		journal[g * TRIES] = 0;
		journal[g * TRIES + 1] = 0;
#endif
		if
		:: at == KEEP -> LOST(me)
		:: else
		fi;
		if
		:: at != CLAIM && at != END ->
			next_request()
		:: else
		fi
	}
	:: at == END ->
		break
	od
}

/* --- what happens around them --- */

#ifdef FAILOVER
inline replicated(o)
{
	if
	:: write[o] == WRITTEN -> write[o] = REPLICATED
	:: else
	fi
}

/* Clears what nobody will look at again, to have fewer states. */
inline move(g)
{
	printf("gateway %d finds the new master\n", g);
	moved[g] = true;
	if
	:: moved[1 - g] ->
		redis[0].state = NONE;
		redis[0].owner = NOBODY;
		redis[0].attempt = 0;
		NO_NOTES(redis[0])
	:: else
	fi
}
#endif

proctype World()
{
end:	do
#ifdef NO_SWEEPER
	:: false
#else
	/* Some gateway notices that the lease has expired. */
	:: atomic {
		MASTER.state == PROCESSING ->
		expire(MASTER)
	}
#endif
#ifdef RECONCILE
	/* The API does what it was sent long ago. */
	:: atomic { pending[0] -> pending[0] = false; executed() }
	:: atomic { pending[1] -> pending[1] = false; executed() }
	:: atomic { pending[2] -> pending[2] = false; executed() }
	:: atomic { pending[3] -> pending[3] = false; executed() }
#endif
#ifdef FAILOVER
	/* The replica gets what the master has, sooner or later. */
	:: atomic {
		!promoted ->
		printf("the replica is up to date\n");
		redis[1].state = redis[0].state;
		redis[1].owner = redis[0].owner;
		redis[1].attempt = redis[0].attempt;
#ifdef RETRY
		redis[1].before = redis[0].before;
#endif
		replicated(0);
		replicated(1);
		replicated(2);
		replicated(3)
	}
	/* The replica takes over, or never will. */
	:: atomic {
		!promoted && !spared ->
		printf("the replica takes over\n");
		promoted = true
	}
	:: atomic { !promoted && !spared -> spared = true }
	/* Until then a gateway talks to the old master, all by itself. */
	:: atomic { promoted && !moved[0] -> move(0) }
	:: atomic { promoted && !moved[1] -> move(1) }
#endif
#ifdef FORGETS
	/* Redis comes back without the record, but its owner is still there. */
	:: atomic {
		!forgot && IS_OPEN(MASTER) && MASTER.owner < OWNERS &&
		held[MASTER.owner] == MASTER.attempt ->
		printf("Redis forgets\n");
		forgot = true;
		NO_NOTES(MASTER);
		MASTER.state = NONE;
		MASTER.owner = NOBODY;
		MASTER.attempt = 0
	}
#endif
#ifdef DAMAGES
	/* Nobody can read the record any more ... */
	:: atomic {
		!damaged && IS_OPEN(MASTER) ->
		printf("the record is damaged\n");
		damaged = true;
		MASTER.state = BROKEN
	}
	/* ... and an operator deletes it. */
	:: atomic {
		MASTER.state == BROKEN ->
		printf("the operator deletes what is damaged\n");
#ifdef DELETE_FREES
		MASTER.state = NONE;
#else
		MASTER.state = UNKNOWN;
#endif
		MASTER.owner = NOBODY;
		MASTER.attempt = 0
	}
#endif
#ifdef OPERATOR_COMPLETES
	:: atomic {
		MASTER.state == UNKNOWN ->
		printf("the operator decides\n");
		MASTER.state = COMPLETED;
		MASTER.owner = OPERATOR
	}
#endif
#ifdef OPERATOR_RELEASES
	:: atomic {
		MASTER.state == UNKNOWN ->
		printf("the operator decides\n");
		MASTER.state = RELEASED;
		MASTER.owner = NOBODY
	}
#endif
	od
}

init {
	atomic {
		run World();
		run Background(0);
		run Background(1);
		run Background(2);
		run Background(3);
		run Gateway(0);
		run Gateway(1)
	}
	timeout;	/* nothing more can happen */
#if ASKED(UNSTUCK)
	assert(MASTER.state != PROCESSING);
#endif
#if ASKED(LASTING)
	assert(seen == NOBODY ||
	    (MASTER.state == COMPLETED && MASTER.owner == seen));
#endif
#if !defined(RETRY) && !defined(RECONCILE) && !defined(FAILOVER) && \
    ASKED(NO_IDLE_DOUBT)
	assert(MASTER.state != UNKNOWN || in_doubt || crashed || WAS_DAMAGED);
#endif
#if !defined(FAILOVER) && !defined(FORGETS) && ASKED(TRUTH)
	/* What is unknown has no answer ... */
	assert(MASTER.state != UNKNOWN || !(truths & (1 << MASTER.attempt)));
	/* ... and where all that was sent was answered, it is known. */
	assert(numbers == 0 || numbers != truths);
#endif
}
