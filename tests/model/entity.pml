/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two keys of one entity, with serialize and newer_only: two requests with
 * the one and a request with the other, all at once, and whatever may go wrong
 * on the way.  README in this folder tells how to run it and what is left out.
 *
 * Without a macro: on_unknown is "hold".
 *   RETRY     on_unknown is "retry"
 *   MOVES     the slot moves once, and meanwhile the entity is not where the
 *             records are: who has to know of it tries again
 *
 * Mutants, mistakes that somebody might make; a promise is then broken:
 *   NO_HOLDER            a claim does not look who holds the entity
 *   LOOK_FIRST           it looks in a step of its own
 *   RENEW_LATE           a lease that is over is renewed, whoever holds the
 *                        entity
 *   HOLD_UNKNOWN         an UNKNOWN record holds the entity on
 *   COMPARE_ONCE         (RETRY) only a free key's version is compared
 *   RAISE_LATER          the version is raised in a step of its own
 *   RAISE_BLINDLY        it is raised to any version that is completed
 *   APART_IS_NONE        (MOVES) a claim takes for none what is not there
 *   RAISE_APART          (MOVES) what is raised then is raised in vain
 *   OPERATOR_FORGETS     an operator's completion does not raise it
 *
 * ONLY=PROMISE checks that promise alone:
 */
#define ALONE	1 /* while a claim has its lease, no other key has one */
#define NEWER	2 /* nothing is claimed whose version is not above the highest
		     that was COMPLETED */
#define RISING	3 /* the version that is remembered is that highest one */
#define FREE	4 /* no entity stays held without an owner */

#ifndef ONLY
#define ASKED(promise)	1
#else
#define ASKED(promise)	(ONLY == promise)
#endif

#define KEYS		2
#define OWNERS		3
#define NOBODY		3
#define KEY(o)		((o) / 2)
#define OTHER(k)	(1 - (k))
#define NO_KEY		2

mtype = { NONE, RELEASED, PROCESSING, UNKNOWN, COMPLETED };
mtype = { OURS, IN_FLIGHT, BUSY, STALE, DONE, FENCED };
/* Where a request is, as in once.pml. */
mtype = { CLAIM, LOOKED, FORWARD, KEEP, RELEASE, DOUBT, RAISE, JOURNAL, END };

/* --- Redis --- */

typedef Record {
	mtype state = NONE;
	byte owner = NOBODY;
	bool leased	/* its lease is not over */
};

typedef Entity {
	byte holder = NO_KEY;	/* the key that claimed it last */
	byte owner = NOBODY;	/* and for whom */
	byte version		/* the highest that was COMPLETED; 0: none */
};

Record redis[KEYS];
Entity entity;
byte version[KEYS];	/* of the requests with this key */

/* --- what gateways have of each request --- */

mtype journal[OWNERS];	/* on disk: the step that Redis did not take, or 0 */
bool giveback[OWNERS];

/* --- what is watched --- */

byte highest;		/* of all versions that were COMPLETED */

hidden mtype verdict;	/* of a step; never looked at after its atomic */

#ifdef MOVES
bool apart, moved;
#define IS_APART	apart
#else
#define IS_APART	false
#endif
#ifdef APART_IS_NONE
#define MAY_CLAIM	true
#define IS_HERE		!IS_APART
#else
#define MAY_CLAIM	!IS_APART
#define IS_HERE		true
#endif
#ifdef RAISE_APART
#define MAY_RAISE(step)	true
#define IS_RAISED	!IS_APART
#else
#define MAY_RAISE(step)	(step != KEEP || !IS_APART)
#define IS_RAISED	true
#endif

#define IS_OPEN(r)	(r.state == PROCESSING || r.state == UNKNOWN)
#define IS_LIVE(r)	(r.state == PROCESSING && r.leased)

/* --- the scripts of src/store/record/lua: key k, owner o --- */

#ifdef HOLD_UNKNOWN
#define HOLDS(r)	(IS_LIVE(r) || r.state == UNKNOWN)
#else
#define HOLDS(r)	IS_LIVE(r)
#endif
#define IS_BUSY(k)	(IS_HERE && entity.holder == OTHER(k) && \
			HOLDS(redis[OTHER(k)]) \
			&& redis[OTHER(k)].owner == entity.owner)
#ifdef RENEW_LATE
#define HOLDS_ON(o)	true
#else
#define HOLDS_ON(o)	(entity.holder == KEY(o))
#endif
#define IS_STALE(k)	(IS_HERE && version[k] <= entity.version)

inline alone()
{
#if ASKED(ALONE)
	assert(!(IS_LIVE(redis[0]) && IS_LIVE(redis[1])));
#else
	skip
#endif
}

inline execute(k, o)
{
	if
#ifndef NO_HOLDER
	:: !looked && IS_BUSY(k) ->
		verdict = BUSY
#endif
	:: else ->
#if ASKED(NEWER)
		assert(version[k] > highest);
#endif
		redis[k].state = PROCESSING;
		redis[k].owner = o;
		redis[k].leased = true;
		entity.holder = k;
		entity.owner = o;
		verdict = OURS;
		alone()
	fi
}

inline claim(k, o)
{
	if
	:: redis[k].state == NONE || redis[k].state == RELEASED ->
		if
		:: !looked && IS_STALE(k) -> verdict = STALE
		:: else -> execute(k, o)
		fi
	:: IS_LIVE(redis[k]) ->
		verdict = IN_FLIGHT
	:: IS_OPEN(redis[k]) && !IS_LIVE(redis[k]) ->
#ifdef RETRY
		if
#ifndef COMPARE_ONCE
		:: IS_STALE(k) ->
			redis[k].state = UNKNOWN;
			verdict = STALE
#endif
		:: else -> execute(k, o)
		fi
#else
		redis[k].state = UNKNOWN;
		verdict = UNKNOWN
#endif
	:: redis[k].state == COMPLETED ->
		verdict = COMPLETED
	fi
}

inline raise(k)
{
#ifdef RAISE_BLINDLY
	entity.version = version[k]
#else
	entity.version = (IS_RAISED && version[k] > entity.version ->
	    version[k] : entity.version)
#endif
}

inline completed(k)
{
	redis[k].state = COMPLETED;
	highest = (version[k] > highest -> version[k] : highest)
}

inline complete(k, o)
{
	if
	:: IS_OPEN(redis[k]) && redis[k].owner == o ->
		completed(k);
#ifndef RAISE_LATER
		raise(k);
#if ASKED(RISING)
		assert(entity.version == highest);
#endif
#endif
		verdict = DONE
	:: redis[k].state == COMPLETED && redis[k].owner == o ->
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

inline release(k, o)
{
	if
	:: IS_OPEN(redis[k]) && redis[k].owner == o ->
		redis[k].state = RELEASED;
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

inline unknown(k, o)
{
	if
	:: IS_OPEN(redis[k]) && redis[k].owner == o ->
		redis[k].state = UNKNOWN;
		verdict = DONE
	:: else ->
		verdict = FENCED
	fi
}

inline settle(k, o, step)
{
	if
	:: step == KEEP -> complete(k, o)
	:: step == RELEASE -> release(k, o)
	:: step == DOUBT -> unknown(k, o)
	fi
}

/* --- a request --- */

/* An owner knows when its lease is over. */
#define MAY_SEND(k, o)	(IS_LIVE(redis[k]) && redis[k].owner == o)

proctype Request(byte me)
{
	mtype at = CLAIM;
	bool looked;	/* (LOOK_FIRST) nobody holds the entity */

	do
#ifdef LOOK_FIRST
	:: atomic {
		at == CLAIM && !looked ->
		if
		:: IS_BUSY(KEY(me)) || IS_STALE(KEY(me)) -> at = END
		:: else -> looked = true
		fi
	}
	:: atomic {
		at == CLAIM && looked ->
#else
	:: atomic {
		at == CLAIM && MAY_CLAIM ->
#endif
		claim(KEY(me), me);
		printf("request %d claims: %e\n", me, verdict);
		if
		:: verdict == OURS ->
			at = FORWARD
		:: verdict != OURS ->
			at = END
		:: true ->	/* the reply is lost */
			printf("request %d does not hear of it\n", me);
			giveback[me] = true;
			at = END
		fi
	}
	:: atomic {
		at == FORWARD ->
		if
		:: printf("request %d is not sent\n", me);
			at = RELEASE
		:: MAY_SEND(KEY(me), me) ->
			printf("request %d is sent and answered\n", me);
			at = KEEP
		:: MAY_SEND(KEY(me), me) ->
			printf("request %d is sent, no answer\n", me);
			at = DOUBT
		fi
	}
	:: atomic {
		(at == KEEP || at == RELEASE || at == DOUBT) &&
		    MAY_RAISE(at) ->
		settle(KEY(me), me, at);
		printf("request %d ends with %e: %e\n", me, at, verdict);
		if
#ifdef RAISE_LATER
		:: at == KEEP && verdict == DONE -> at = RAISE
		:: at != KEEP || verdict != DONE -> at = END
#else
		:: true -> at = END
#endif
		:: true ->	/* the reply is lost */
			journal[me] = at;
			at = JOURNAL
		fi
	}
	:: atomic {	/* Redis is out of reach */
		at == KEEP || at == RELEASE || at == DOUBT ->
		printf("request %d writes its journal: %e\n", me, at);
		journal[me] = at;
		at = JOURNAL
	}
	:: atomic {
		at == JOURNAL && MAY_RAISE(journal[me]) ->
		settle(KEY(me), me, journal[me]);
		printf("request %d sends its journal: %e\n", me, verdict);
#ifdef RAISE_LATER
		at = (journal[me] == KEEP && verdict == DONE -> RAISE : END);
#else
		at = END;
#endif
		journal[me] = 0
	}
#ifdef RAISE_LATER
	:: atomic {
		at == RAISE ->
		raise(KEY(me));
		at = END
	}
#endif
	/* Its process dies; what is on disk stays. */
	:: atomic {
		at != CLAIM && at != JOURNAL && at != END ->
		printf("request %d dies\n", me);
		at = END
	}
	:: atomic {
		giveback[me] ->
		release(KEY(me), me);
		printf("request %d gives its claim back: %e\n", me, verdict);
		giveback[me] = false
	}
	/*
	 * Before its end, a renewal changes nothing: every lease may be as long
	 * as it likes.  Afterwards it gives the lease again to who still holds
	 * the entity.
	 */
	:: atomic {
		at == FORWARD && redis[KEY(me)].state == PROCESSING &&
		    redis[KEY(me)].owner == me && !redis[KEY(me)].leased &&
		    HOLDS_ON(me) && MAY_CLAIM ->
		printf("request %d renews its lease\n", me);
		redis[KEY(me)].leased = true;
		alone()
	}
	:: atomic {
		at == END && !giveback[me] -> break
	}
	od
}

/* --- what happens around them --- */

inline lose_lease(k)
{
	printf("the lease of key %d has run out\n", k);
	redis[k].leased = false
}

inline sweep(k)
{
	printf("key %d is unknown\n", k);
	redis[k].state = UNKNOWN
}

inline decide(k)
{
	printf("the operator completes key %d\n", k);
	completed(k);
	redis[k].owner = NOBODY;
#ifndef OPERATOR_FORGETS
	raise(k)
#endif
#if ASKED(RISING)
	assert(entity.version == highest)
#endif
}

proctype World()
{
	bool gone;	/* the operator */

end:	do
	:: atomic { IS_LIVE(redis[0]) -> lose_lease(0) }
	:: atomic { IS_LIVE(redis[1]) -> lose_lease(1) }
	:: atomic { redis[0].state == PROCESSING && !redis[0].leased ->
		sweep(0) }
	:: atomic { redis[1].state == PROCESSING && !redis[1].leased ->
		sweep(1) }
	/* An operator may come, or not. */
	:: atomic { redis[0].state == UNKNOWN && !gone && MAY_RAISE(KEEP) ->
		decide(0) }
	:: atomic { redis[1].state == UNKNOWN && !gone && MAY_RAISE(KEEP) ->
		decide(1) }
	:: atomic { !gone -> gone = true }
#ifdef MOVES
	:: atomic { !moved ->
		printf("the slot begins to move\n");
		moved = true;
		apart = true }
	:: atomic { apart ->
		printf("the slot has moved\n");
		apart = false }
#endif
	od
}

init {
	atomic {
		if
		:: version[0] = 1; version[1] = 1
		:: version[0] = 1; version[1] = 2
		:: version[0] = 2; version[1] = 1
		fi;
		run World();
		run Request(0);
		run Request(1);
		run Request(2)
	}
	timeout;	/* nothing more can happen */
#if ASKED(RISING)
	assert(entity.version == highest);
#endif
#if ASKED(FREE)
	assert(!IS_BUSY(0) && !IS_BUSY(1));
#endif
}
