/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of one key: two gateways, two requests through each, one after
 * the other, and whatever may go wrong on the way.  README in this folder
 * tells how to run it and what is left out.
 *
 * Without a macro: one Redis, and on_unknown is "hold".
 *   RETRY     on_unknown is "retry"
 *   FAILOVER  Redis has a replica, which may take over once; wait_replicas
 *             is 1
 *   FORGETS   Redis forgets the record once, while its owner is there; no
 *             retry comes, and no gateway dies, before the outcome does
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
 *   GONE_IS_LATE         (FORGETS) an outcome that finds no record is given up
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

#ifndef ONLY
#define ASKED(promise)	1
#else
#define ASKED(promise)	(ONLY == promise)
#endif

/* Each request is an owner: 0 and 1 of one gateway, 2 and 3 of the other. */
#define TRIES		2
#define OWNERS		4
#define NOBODY		4
#define OPERATOR	5

/* A record's states; the last two are verdicts as well. */
mtype = { NONE, RELEASED, PROCESSING, UNKNOWN, COMPLETED };
/* The other verdicts of the scripts; what is gone is FENCED here. */
mtype = { OURS, IN_FLIGHT, DONE, FENCED };
/*
 * Where a request is, as in src/tbl/steps.h, where KEEP is COMPLETE and DOUBT
 * is MARK_UNKNOWN; TELL answers the client.  KEEP, RELEASE and DOUBT are also
 * what a journal may have to do.
 */
mtype = { CLAIM, CLAIMED, FORWARD, KEEP, KEPT, RELEASE, DOUBT, REPLAY, TELL,
	END };
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
	byte attempt
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

/* --- what is watched --- */

byte seen = NOBODY;	/* the answer that clients were given */
#ifndef RETRY
byte executions;
#endif
#if !(defined(RETRY) && defined(FAILOVER)) && !defined(FORGETS)
byte numbers;		/* a bit for each attempt number that was sent */
#endif
#if !defined(RETRY) && !defined(FAILOVER)
bool in_doubt;		/* a request was sent, and no answer came */
bool crashed;
#define NOTE(what)	what = true
#else
#define NOTE(what)	skip
#endif
bool begun;

#ifdef FORGETS
bool forgot;
/* The record is gone, and somebody has what it takes to make it again. */
#define IS_AWAITED	(forgot && MASTER.state == NONE && \
			(held[0] || held[1] || held[2] || held[3]))
#else
#define IS_AWAITED	false
#endif

hidden mtype verdict;	/* of a step; never looked at after its atomic */

/* --- the scripts of src/lua: record r, owner o --- */

#ifdef NO_FENCING
#define IS_OF(r, o)	true
#define IS_HELD(r, o)	true
#else
#define IS_OF(r, o)	(r.owner == o)
#define IS_HELD(r, o)	(r.owner == o && r.attempt == held[o])
#endif
#define IS_OPEN(r)	(r.state == PROCESSING || r.state == UNKNOWN)

inline execute(r, o)
{
	r.state = PROCESSING;
	r.owner = o;
	r.attempt++;
	held[o] = r.attempt;
	verdict = OURS
}

inline meet_unknown(r, o)
{
#ifdef RETRY
	execute(r, o)
#else
	r.state = UNKNOWN;
	verdict = UNKNOWN
#endif
}

/*
 * What a record is made of again that is gone: held has the attempt, as long as
 * the owner has an outcome to store.
 */
#if defined(FORGETS) && !defined(GONE_IS_LATE)
#define IS_GONE(r, o)	(r.state == NONE && held[o] != 0)
#else
#define IS_GONE(r, o)	false
#endif

inline make_again(r, o, its)
{
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
		printf("the lease has run out\n");
#ifdef RECLAIM_EXPIRED
		execute(r, o)
#else
		meet_unknown(r, o)
#endif
	:: r.state == UNKNOWN ->
		meet_unknown(r, o)
	:: r.state == COMPLETED ->
		verdict = COMPLETED
	fi
}

inline complete(r, o)
{
	if
	:: IS_GONE(r, o) ->
		make_again(r, o, COMPLETED)
	:: IS_OPEN(r) && IS_HELD(r, o) ->
		r.state = COMPLETED;
		r.owner = o;
		verdict = DONE
	:: r.state == COMPLETED && IS_HELD(r, o) ->
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

inline release(r, is_its)
{
	if
	:: IS_OPEN(r) && is_its ->
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
		r.state = UNKNOWN;
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

/* The step with which an execution ends. */
inline settle(r, o, step)
{
	if
	:: step == KEEP -> complete(r, o)
	:: step == RELEASE -> release(r, IS_HELD(r, o))
	:: step == DOUBT -> unknown(r, o)
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
#ifndef FAILOVER
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
#endif
	/* A claim is given back until that is done, or it can come no more. */
	:: atomic {
		giveback[me] ->
		release(MINE, IS_OF(MINE, me));
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
	:: try < TRIES ->
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
#if !defined(RETRY) || defined(JOURNAL_ANSWERS)
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
#if !(defined(RETRY) && defined(FAILOVER)) && !defined(FORGETS) && \
	ASKED(NUMBERED)
	assert((numbers & (1 << held[me])) == 0);
	numbers = numbers | (1 << held[me])
#else
	skip
#endif
}

inline executed()
{
#if !defined(RETRY) && ASKED(ONCE)
	executions++;
	assert(executions <= 1)
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

#define IS_ENDING(at)	(at == KEEP || at == RELEASE || at == DOUBT)

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
#ifndef FAILOVER
		late[me] = true;
#endif
		giveback[me] = true;
		next_request()
	}
	:: atomic {
		at == CLAIMED && IS_SAFE(me) ->
		FORGET(me);
		at = FORWARD
	}
	:: atomic {
		at == FORWARD ->
		if
		:: printf("request %d is not sent\n", me);
			at = RELEASE
		:: sent();
			printf("request %d is sent; the upstream refuses\n",
			    me);
			at = RELEASE
		:: sent();
			printf("request %d is sent, executed and answered\n",
			    me);
			executed();
			answer = me;
#ifdef ANSWER_BEFORE_STORE
			tell();
#endif
			at = KEEP
		:: sent();
			printf("request %d is sent and executed, no answer\n",
			    me);
			executed();
			NOTE(in_doubt);
			at = DOUBT
		:: sent();
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
		redis[0].attempt = 0
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
		printf("the lease has run out\n");
		MASTER.state = UNKNOWN
	}
#endif
#ifdef FAILOVER
	/* The replica gets what the master has, sooner or later. */
	:: atomic {
		!promoted ->
		printf("the replica is up to date\n");
		redis[1].state = redis[0].state;
		redis[1].owner = redis[0].owner;
		redis[1].attempt = redis[0].attempt;
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
		MASTER.state = NONE;
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
#if !defined(RETRY) && !defined(FAILOVER) && ASKED(NO_IDLE_DOUBT)
	assert(MASTER.state != UNKNOWN || in_doubt || crashed);
#endif
}
