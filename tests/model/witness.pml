/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A payment whose outcome is UNKNOWN, and its witness: a row in the API's own
 * database, by which gateways find out what became of it.  Two gateways, a
 * request through each (its client tries again until it has an answer, and it
 * asks when it meets an UNKNOWN), and an API that does what it was sent as late
 * as it likes.
 * README in this folder tells how to run it and what is left out.
 *
 * Without a macro: enforced_by, so that no payment is committed without its
 * witness, and each transaction of the API writes that row, leaves it out, or
 * goes on without it where it cannot be written.
 *   EARLY      somebody asks before the owner has given up, or has sent it
 *   STARTED    the API commits a row `started`, calls somebody else who makes
 *              the payment, and then commits `done`
 *   RECONCILE  (STARTED) what is `started` is asked of the API, when nothing
 *              of the attempt is left to come (settle)
 *   REPEATED   somebody between sends an attempt again (and no other follows)
 *   UNIQUE     of an attempt there is one payment's row
 *   UNENFORCED no enforced_by: nothing is asked before the guard lets it
 * Of the API that is not enforced to write the row:
 *   FORGETFUL  it never does
 *   FORGETS    it does until another release of it comes
 *   LEARNS     it does from then on
 *   PROMPT     what it has been sent is executed by the release of that time
 *   MENDED     (FORGETS) it does again, and then an operator says that it may
 *              be believed: where a 2xx had shown that it did not
 * To have more states:
 *   SWEEPS     a third one asks, who has no request
 *
 * Mutants, mistakes that somebody might make; a promise is then broken:
 *   FREE_EARLY           the key is free before the revocation is committed
 *   TWO_BATCHES          COMMIT is sent when INSERT has been answered
 *   LOCK_IS_ABSENT       a lock that was not had is taken for no row
 *   DONE_IGNORED         `done` is taken for no row
 *   STARTED_IS_ABSENT    (STARTED) so is `started`
 *   SAME_NUMBER          an attempt has the number of the one that was revoked
 *   NO_FENCING           what was revoked is released, whatever runs by now
 *   NO_LOOK              an answer that is no 2xx is believed
 *   LOOK_ONLY            it is looked up, and nothing is revoked
 *   OWN_ANSWER           an owner that comes too late hands out its own answer
 *   OPERATOR_RELEASES    an operator's release does not revoke
 *   NO_SETTLE            (RECONCILE) the API is asked at once
 *   SEND_LATE            (RECONCILE, UNENFORCED) a request is sent after its
 *                        lease
 *   NO_GUARD             (UNENFORCED) the witness is asked all the same
 *   OLD_PROOF            (UNENFORCED) whenever a 2xx had its row
 *   PROOF_SINCE_CLAIM    (UNENFORCED) when one had it that was sent after the
 *                        claim
 *   WORD_FOR_ALL         (MENDED) the operator's word is believed of what was
 *                        sent before it, too
 *
 * Limits, which are not the gateway's to overcome:
 *   UPSERTS              the API may change the row, and makes it `done`
 *   ROW_LOST             the database loses a revocation
 *   OPERATOR_COMPLETES   somebody says of an UNKNOWN that it was declined
 *
 * ONLY=PROMISE checks that promise alone:
 */
#define ONCE	1 /* at most one payment is committed */
#define TOLD	2 /* what clients were told is one thing, and what stands */
#define FREE	3 /* no key is free while an attempt may still commit */
#define LAST	4 /* what was found `done` is never claimed again */
#define FRESH	5 /* no attempt begins whose row is there */
#define ENDS	6 /* once everything has settled, nothing is in doubt (but what
		     the guard or `started` holds), and nobody waits */

#ifndef ONLY
#define ASKED(promise)	1
#else
#define ASKED(promise)	(ONLY == promise)
#endif

#define SENDS		2	/* claims, at most */
#define ROWS		3	/* attempts are counted from 1 */
#define SWEEP		2	/* asks, like requests 0 and 1 */
#define ASKERS		3
#define NOBODY		9
#define LOCK_OF(a)	(SENDS + (a))

/* States of a record. */
mtype = { PROCESSING, UNKNOWN, RELEASED, COMPLETED };
/* Its answer: the API's own, one made of the row, a probe's, a refusal. */
mtype = { OWN, MADE, PROBED, DECLINED };
/* The row's verdicts, and what else a question finds. */
mtype = { DONE, REVOKED, STARTS, INSERTED, NOT_KNOWN };
/* Where a question is, in the database. */
mtype = { SENT, LOCKED };
/* Where a request is at the API (after SENT). */
mtype = { HELD, OPEN, BEGUN, CALLED, ENDED };
/* What a transaction does about the row. */
mtype = { WRITES, OMITS, SWALLOWS };
/* What the API's answer says, and what `outcomes` makes of it. */
mtype = { PAID, STORE, RELEASE };
/* Where a request is in its gateway, or what a question is for. */
mtype = { CLAIM, FORWARD, WAIT, KEEP, DOUBT, ASK, TOLD_SO };

/* --- Redis --- */

typedef Record {
	mtype state;		/* 0: none */
	byte owner = NOBODY;
	byte attempt;
	mtype answer
};

Record record;

/* --- the API's database --- */

typedef Row {
	mtype verdict;		/* committed; 0: absent */
	byte lock = NOBODY	/* whose open transaction has it */
};

Row row[ROWS];
byte payments;

typedef Question {
	mtype at;		/* 0: no transaction */
	byte about;		/* an attempt */
	bool heard;		/* the gateway that asked is there */
	mtype found		/* 0: no answer yet */
};

Question question[ASKERS];
byte frozen = NOBODY;

/* --- the API: one job for each claim --- */

typedef Job {
	mtype at;
	byte number;		/* its attempt */
	mtype does;
	bool late;		/* (SEND_LATE) sent after the lease */
	bool awaited;
	mtype said
};

Job job[SENDS];
byte claims;

#ifdef UNENFORCED
#ifdef FORGETFUL
bool writes = false;
#elif defined(LEARNS)
bool writes = false;
#else
bool writes = true;
#endif
byte proven;		/* the last attempt that may be asked about */
bool distrusted;
byte before;		/* what was sent before the operator's word */
#endif

/* --- what is watched --- */

mtype told;
bool found_done;

#define IS_OPEN		(record.state == PROCESSING || record.state == UNKNOWN)
#define IS_OF(g, n)	(IS_OPEN && record.owner == g && record.attempt == n)
#define IS_AWAKE(a)	(frozen != a)

#ifdef UNENFORCED
#define OBEYS(s)	(job[s].does != OMITS)
#else
#define OBEYS(s)	true
#endif
#define IS_COMING(s)	(job[s].at != 0 && job[s].at != ENDED)
#define ROW_OF(s)	row[job[s].number]
#ifdef STARTED
#define MAY_COMMIT(s)	(job[s].at == BEGUN || (IS_COMING(s) && \
				ROW_OF(s).verdict == 0))
#else
#define MAY_COMMIT(s)	(IS_COMING(s) && !(OBEYS(s) && \
				ROW_OF(s).verdict == REVOKED))
#endif

/* --- the scripts of src/store/record/lua --- */

inline execute(g)
{
#if ASKED(LAST)
	assert(!found_done);
#endif
#ifdef SAME_NUMBER
	record.attempt = (record.state == RELEASED -> record.attempt : 1);
#else
	record.attempt++;
#endif
#if ASKED(FRESH)
	assert(row[record.attempt].verdict == 0);
#endif
	record.state = PROCESSING;
	record.owner = g;
	s = claims;
	claims++;
	mine = record.attempt;
	job[s].at = HELD;
	job[s].number = mine;
	job[s].does = WRITES
}

inline release(n)
{
	if
#ifdef NO_FENCING
	:: IS_OPEN ->
#else
	:: IS_OPEN && record.attempt == n ->
#endif
#if ASKED(FREE)
		assert(!MAY_COMMIT(0) && !MAY_COMMIT(1));
#endif
		record.state = RELEASED;
		record.owner = NOBODY
	:: else
	fi
}

inline complete(is_its, what)
{
	if
	:: is_its ->
		record.state = COMPLETED;
		record.owner = NOBODY;
		record.answer = what
	:: else
	fi
}

inline doubt(g, n)
{
	if
	:: IS_OF(g, n) -> record.state = UNKNOWN
	:: else
	fi
}

/* --- the witness: asker a --- */

#define Q	question[a]
#define R	row[question[a].about]

inline ask(a, n)
{
	Q.at = SENT;
	Q.about = n;
	Q.heard = true;
	Q.found = 0
}

inline close(a)
{
	Q.heard = false;
	Q.found = 0;
	Q.about = (Q.at == 0 -> 0 : Q.about)
}

inline reply(a, what)
{
	Q.at = 0;
	Q.found = (Q.heard -> what : 0);
	Q.about = (Q.heard -> Q.about : 0)
}

/* Committed, or not, and the answer has come, or not. */
inline commit_question(a)
{
	R.lock = NOBODY;
	if
	:: true ->
		R.verdict = REVOKED;
		printf("the revocation of %d is committed\n", Q.about);
		if
		:: true -> reply(a, INSERTED)
		:: true -> reply(a, NOT_KNOWN)
		fi
	:: true ->
		printf("the revocation of %d is rolled back\n", Q.about);
		reply(a, NOT_KNOWN)
	fi
}

#ifdef TWO_BATCHES
#define IS_SENT(a)	IS_AWAKE(a)
#else
#define IS_SENT(a)	true
#endif

/*
 * What the server does, whatever becomes of the gateway.  To wait in vain for
 * somebody frozen, again and again, is to wait.
 */
#define IS_SERVED(a)	((question[a].at == SENT && !IS_STUCK(a)) || \
			(question[a].at == LOCKED && IS_SENT(a)))
#define IS_STUCK(a)	(frozen != NOBODY && \
			LOCK(question[a].about) == LOCK_OF(frozen))
#define LOCK(n)		row[n].lock

inline serve(a)
{
	if
	:: Q.at == SENT && R.lock == NOBODY && R.verdict == 0 ->
		R.lock = LOCK_OF(a);
		Q.at = LOCKED
#ifdef FREE_EARLY
		;
		Q.found = INSERTED
#endif
	:: Q.at == SENT && R.lock == NOBODY && R.verdict != 0 ->
		reply(a, R.verdict)
	:: Q.at == SENT && R.lock != NOBODY ->
		printf("%d did not get the lock of %d\n", a, Q.about);
		reply(a, NOT_KNOWN)
	:: Q.at == LOCKED ->
		commit_question(a)
	fi
}

/* Its gateway does nothing any more. */
inline freeze(a)
{
	printf("%d is frozen\n", a);
	frozen = a
}
#define MAY_FREEZE(a)	(question[a].at == LOCKED && question[a].heard && \
				frozen == NOBODY)

#ifdef LOCK_IS_ABSENT
#define IS_LIKE_NONE(f)	(f == INSERTED || f == REVOKED || f == NOT_KNOWN)
#elif defined(DONE_IGNORED)
#define IS_LIKE_NONE(f)	(f == INSERTED || f == REVOKED || f == DONE)
#elif defined(STARTED_IS_ABSENT)
#define IS_LIKE_NONE(f)	(f == INSERTED || f == REVOKED || f == STARTS)
#else
#define IS_LIKE_NONE(f)	(f == INSERTED || f == REVOKED)
#endif

/* Nothing more of that attempt is to come, and the API's word is final. */
#ifdef NO_SETTLE
#define IS_SETTLED(n)	true
#else
#define IS_AT_WORK(s)	(IS_COMING(s) && job[s].at != HELD && !job[s].late)
#define IS_SETTLED(n)	(!(IS_AT_WORK(0) && job[0].number == n) && \
			!(IS_AT_WORK(1) && job[1].number == n))
#endif

/* UPDATE ... SET verdict = 'revoked' WHERE verdict = 'started', committed. */
inline reconcile(a)
{
	if
	:: payments > 0 ->
		printf("%d asks the API: it happened\n", a);
		complete(IS_OPEN && record.attempt == Q.about, PROBED)
	:: payments == 0 && R.lock == NOBODY && R.verdict == STARTS ->
		printf("%d asks the API: it did not happen\n", a);
		R.verdict = REVOKED;
		release(Q.about)
	:: else
	fi
}

/* What an answer makes of the record, unless Redis is away. */
inline take_answer(a)
{
	found_done = found_done || Q.found == DONE;
	printf("%d finds of %d: %e\n", a, Q.about, Q.found);
	if
	:: IS_LIKE_NONE(Q.found) ->
		release(Q.about)
	:: Q.found == DONE && !IS_LIKE_NONE(DONE) ->
		complete(IS_OPEN && record.attempt == Q.about, MADE)
#ifdef RECONCILE
	:: Q.found == STARTS && IS_SETTLED(Q.about) ->
		reconcile(a)
#endif
	:: true
	fi
}

#ifdef UNENFORCED
#ifdef NO_GUARD
#define MAY_ASK		true
#else
#define MAY_ASK		(record.attempt <= proven && !distrusted && \
				record.attempt > before)
#endif
#else
#define MAY_ASK		true
#endif
#ifdef EARLY
#define IS_IN_DOUBT	IS_OPEN
#else
#define IS_IN_DOUBT	(record.state == UNKNOWN)
#endif
#define IS_TO_ASK(a)	(IS_IN_DOUBT && MAY_ASK && question[a].at == 0)

/* --- the API --- */

#define J	job[s]
#define W	row[job[s].number]

inline end_job(what)
{
	J.at = ENDED;
	J.said = (J.awaited -> what : 0);
	J.does = 0
}

/*
 * What a balancer says, or makes of an answer, only a witness can correct that
 * is there.
 */
#if defined(FORGETFUL) || defined(FORGETS) || defined(LEARNS)
#define IS_BALANCED	false
#else
#define IS_BALANCED	true
#endif

/* An API that was not paid says so, or says nothing, or is not heard. */
inline say_no()
{
	if
	:: true -> end_job(STORE)
	:: true -> end_job(RELEASE)
	:: true -> end_job(0)
	fi
}

inline say_paid()
{
	if
	:: true -> end_job(PAID)
	:: IS_BALANCED -> end_job(STORE)
	:: IS_BALANCED -> end_job(RELEASE)
	:: true -> end_job(0)
	fi
}

inline pay()
{
	payments++;
#if ASKED(ONCE)
	assert(payments <= 1);
#endif
#if ASKED(TOLD)
	assert(told != DECLINED)
#endif
}

inline unlock()
{
	if
	:: W.lock == s -> W.lock = NOBODY
	:: else
	fi
}

inline roll_back()
{
	printf("job %d rolls back\n", s);
	unlock();
	paid = false;
	wrote = false;
	say_no()
}

#ifdef STARTED
/* Two transactions, and a call between them that cannot be taken back. */
proctype Api(byte s)
{
end:	do
	:: atomic { J.at == SENT && W.lock == NOBODY && W.verdict == 0 ->
		W.lock = s;
		J.at = OPEN }
	:: atomic { J.at == SENT && W.lock == NOBODY && W.verdict != 0 ->
		say_no() }
	:: atomic { J.at == OPEN ->
		printf("job %d is started\n", s);
		W.lock = NOBODY;
		W.verdict = STARTS;
		J.at = BEGUN }
	:: atomic { J.at == BEGUN ->
		printf("job %d pays\n", s);
		pay();
		J.at = CALLED }
	/* One row, else it rolls back. */
	:: atomic { J.at == CALLED && W.lock == NOBODY ->
		if
		:: W.verdict == STARTS ->
			W.verdict = DONE;
			say_paid()
		:: else ->
			say_no()
		fi }
	/* It dies. */
	:: atomic { J.at != CALLED && IS_COMING(s) && J.at != HELD ->
		unlock();
		say_no() }
	:: atomic { J.at == CALLED ->
		end_job(0) }
	od
}
#else
inline begin_job()
{
	J.at = OPEN;
#ifndef UNENFORCED
	if
	:: J.does = WRITES
	:: J.does = OMITS
	:: J.does = SWALLOWS
	fi
#elif !defined(PROMPT)
	J.does = (writes -> WRITES : OMITS)
#endif
}

/* INSERT, by primary key: it waits for who has the lock. */
inline write_row()
{
	if
	:: W.verdict == 0 ->
		W.lock = s;
		wrote = true
#ifdef UPSERTS
	:: W.verdict != 0 ->
		W.lock = s;
		wrote = true
#else
	:: W.verdict != 0 && J.does == SWALLOWS ->
		wrote = true
	:: W.verdict != 0 && J.does != SWALLOWS ->
		roll_back()
#endif
	fi
}

/*
 * With enforced_by, a foreign key looks whether the row is `done`, whoever
 * wrote it.  UNIQUE refuses a payment beside that one's.
 */
#ifdef UNENFORCED
#define IS_ALLOWED	true
#elif defined(UNIQUE)
#define IS_ALLOWED	(W.lock == s)
#else
#define IS_ALLOWED	(W.lock == s || W.verdict == DONE)
#endif

inline commit_job()
{
	if
	:: IS_ALLOWED ->
		printf("job %d (attempt %d, %e) commits\n", s, J.number,
		    J.does);
		if
		:: W.lock == s -> W.verdict = DONE
		:: else
		fi;
		unlock();
		paid = false;
		wrote = false;
		pay();
		say_paid()
	:: else ->
		roll_back()
	fi
}

proctype Api(byte s)
{
	bool paid;	/* the payment's row is in its transaction */
	bool wrote;	/* and what it does about its witness is done */

end:	do
	:: atomic { J.at == SENT -> begin_job() }
	:: atomic { J.at == SENT -> say_no() }
	:: atomic { J.at == OPEN && !paid -> paid = true }
	:: atomic { J.at == OPEN && !wrote && J.does == OMITS ->
		wrote = true }
	:: atomic { J.at == OPEN && !wrote && J.does != OMITS &&
	    W.lock == NOBODY -> write_row() }
	:: atomic { J.at == OPEN && paid && wrote -> commit_job() }
	/* It rolls back, or dies. */
	:: atomic { J.at == OPEN -> roll_back() }
	od
}
#endif

/* --- a gateway, with a request whose client tries again --- */

inline tell(what)
{
	printf("request %d is told: %e\n", g, what);
#if ASKED(TOLD)
	assert(told == 0 || told == what);
	assert(payments == (what == DECLINED -> 0 : 1));
#endif
	told = what;
	at = TOLD_SO
}

inline forget()
{
	J.awaited = false;
	J.said = 0;
	s = 0;
	mine = 0;
	means = 0
}

/* Nobody else will send it. */
inline drop()
{
	if
	:: J.at == HELD -> J.at = ENDED
	:: else
	fi
}

/* Nothing was committed, so the answer is what `outcomes` says. */
inline conclude()
{
	if
	:: means == STORE -> complete(IS_OF(g, mine), DECLINED)
	:: means == RELEASE -> release(mine)
	fi
}

inline look_up(what)
{
	means = what;
	printf("request %d is answered: %e\n", g, means);
	J.said = 0;
	J.awaited = false;
#if defined(NO_LOOK)
	conclude();
	forget();
	at = CLAIM
#elif defined(LOOK_ONLY)
	if
	:: W.verdict == 0 -> conclude()
	:: W.verdict == REVOKED -> release(mine)
	:: W.verdict == DONE ->
		complete(IS_OPEN && record.attempt == mine, MADE)
	fi;
	forget();
	at = CLAIM
#else
	ask(g, mine);
	at = ASK
#endif
}

/*
 * An owner sends as late as it likes, where the witness holds.  Where it does
 * not, sending ends with the lease.
 */
#if (defined(STARTED) || defined(UNENFORCED)) && !defined(SEND_LATE)
#define MAY_SEND	(record.state == PROCESSING && IS_OF(g, mine))
#else
#define MAY_SEND	true
#endif

proctype Request(byte g)
{
	mtype at = CLAIM;
	byte mine, s;		/* its attempt, the API's job */
	mtype means;		/* an answer that is no 2xx, 0: there is none */

end:	do
	:: atomic {
		at == CLAIM && claims < SENDS &&
		    (record.state == 0 || record.state == RELEASED) ->
		execute(g);
		printf("request %d claims attempt %d\n", g, mine);
		at = FORWARD
	}
	:: atomic {
		at == CLAIM && IS_AWAKE(g) && IS_TO_ASK(g) ->
		ask(g, record.attempt);
		at = ASK
	}
	:: atomic {
		at == CLAIM && record.state == COMPLETED ->
		tell(record.answer)
	}
	:: atomic {
		at == FORWARD && MAY_SEND ->
		printf("request %d is sent, attempt %d\n", g, mine);
		J.at = SENT;
#ifdef SEND_LATE
		J.late = !IS_OF(g, mine) || record.state != PROCESSING;
#endif
#if defined(UNENFORCED) && defined(PROMPT)
		J.does = (writes -> WRITES : OMITS);
#endif
		J.awaited = true;
		at = WAIT
	}
	:: atomic {
		at == FORWARD ->
		printf("request %d is not sent\n", g);
		drop();
		if
		:: IS_OF(g, mine) -> release(mine)
		:: else
		fi;
		forget();
		at = CLAIM
	}
	:: atomic {
		at == WAIT && J.said == PAID ->
		J.said = 0;
		J.awaited = false;
		at = KEEP
	}
	:: atomic {
		at == WAIT && (J.said == STORE || J.said == RELEASE) ->
		look_up(J.said)
	}
	/* Somebody between says it, and the API is still at work. */
	:: atomic { at == WAIT && IS_BALANCED -> look_up(STORE) }
	:: atomic { at == WAIT && IS_BALANCED -> look_up(RELEASE) }
	:: atomic {
		at == WAIT ->
		printf("request %d is not answered\n", g);
		J.awaited = false;
		J.said = 0;
		at = DOUBT
	}
	/* Until Redis has taken it, it is in a journal. */
	:: atomic {
		at == KEEP ->
		complete(IS_OF(g, mine), OWN);
		printf("request %d ends, attempt %d\n", g, mine);
		forget();
#ifdef OWN_ANSWER
		tell(OWN)
#else
		at = CLAIM
#endif
	}
	:: atomic {
		at == DOUBT ->
		doubt(g, mine);
		forget();
		at = CLAIM
	}
	:: atomic {
		at == ASK && IS_AWAKE(g) && question[g].found != 0 ->
		if
		:: means == 0 || question[g].found == DONE ->
			take_answer(g)
		:: means != 0 && question[g].found == INSERTED ->
			printf("request %d did nothing: %e\n", g, means);
			conclude()
		:: means != 0 && question[g].found == REVOKED ->
			release(mine)
		:: means != 0 && (question[g].found == NOT_KNOWN ||
		    question[g].found == STARTS) ->
			doubt(g, mine)
		:: true		/* Redis is away */
		fi;
		forget();
		close(g);
		at = CLAIM
	}
	/* Its process dies, and starts again; its client tries again. */
	:: atomic {
		at != CLAIM && at != TOLD_SO && IS_AWAKE(g) ->
		printf("request %d is gone\n", g);
		drop();
		forget();
		close(g);
		at = CLAIM
	}
	:: atomic { IS_SERVED(g) -> serve(g) }
	:: atomic { MAY_FREEZE(g) -> freeze(g) }
	od
}

proctype Sweep()
{
end:	do
	:: atomic {
		IS_TO_ASK(SWEEP) && IS_AWAKE(SWEEP) ->
		ask(SWEEP, record.attempt)
	}
	:: atomic {
		question[SWEEP].found != 0 && IS_AWAKE(SWEEP) ->
		take_answer(SWEEP);
		close(SWEEP)
	}
	:: atomic { IS_SERVED(SWEEP) -> serve(SWEEP) }
	:: atomic { MAY_FREEZE(SWEEP) -> freeze(SWEEP) }
	od
}

/* --- what happens around them --- */

/* Of which attempts nothing more is sent. */
#ifdef OLD_PROOF
#define OVER		SENDS
#elif defined(PROOF_SINCE_CLAIM)
#define OVER		record.attempt
#else
#define OVER		(record.state == PROCESSING -> record.attempt - 1 : \
				record.attempt)
#endif

/* Another key of the route: a 2xx, and the look whether it had its row. */
#ifdef UNENFORCED
proctype Other()
{
	bool sent, wrote;
	byte over;

end:	do
	:: atomic {
		!sent && OVER > proven && !distrusted ->
		sent = true;
		over = OVER;
		wrote = writes
	}
	:: atomic {
		sent && wrote ->
		printf("a 2xx had its row, sent when %d was over\n", over);
		proven = (over > proven -> over : proven);
		sent = false
	}
	:: atomic {
		sent && !wrote ->
		printf("a 2xx lacks its row\n");
		distrusted = true;
		sent = false
	}
	od
}
#endif

proctype World()
{
end:	do
	:: atomic {
		record.state == PROCESSING ->
		printf("the lease of attempt %d has run out\n",
		    record.attempt);
		record.state = UNKNOWN
	}
#ifdef REPEATED
	:: atomic {
		job[0].at == SENT && claims == 1 ->
		printf("attempt 1 is sent again, as job 1\n");
		claims++;
		job[1].number = job[0].number;
		job[1].at = SENT
	}
#endif
#ifdef OPERATOR_RELEASES
	:: atomic {
		record.state == UNKNOWN ->
		printf("the operator releases attempt %d\n", record.attempt);
		release(record.attempt)
	}
#endif
#ifdef OPERATOR_COMPLETES
	:: atomic {
		record.state == UNKNOWN ->
		printf("the operator says that it was declined\n");
		complete(true, DECLINED)
	}
#endif
#ifdef ROW_LOST
	:: atomic {
		row[1].verdict == REVOKED && row[1].lock == NOBODY ->
		printf("the revocation of 1 is lost\n");
		row[1].verdict = 0
	}
#endif
#ifdef FORGETS
	:: atomic { writes ->
		printf("a release without the row\n");
		writes = false }
#endif
#ifdef LEARNS
	:: atomic { !writes ->
		printf("a release with the row\n");
		writes = true }
#endif
#ifdef MENDED
	:: atomic { distrusted && !writes ->
		printf("a release with the row, and an operator says so\n");
		writes = true;
		distrusted = false;
#ifndef WORD_FOR_ALL
		before = record.attempt
#endif
		}
#endif
	od
}

init {
	atomic {
		run World();
#ifdef UNENFORCED
		run Other();
#endif
		run Api(0);
		run Api(1);
#ifdef SWEEPS
		run Sweep();
#endif
		run Request(0);
		run Request(1)
	}
	timeout;	/* nothing more can happen */
#if ASKED(TOLD)
	assert(told == 0 ||
	    (record.state == COMPLETED && record.answer == told));
#endif
#if ASKED(ENDS)
	assert(record.state != PROCESSING);
	assert(!IS_COMING(0) && !IS_COMING(1));
#if !defined(UNENFORCED) && (!defined(STARTED) || defined(RECONCILE))
	assert(record.state != UNKNOWN);
#endif
	assert(payments == 0 || record.state == COMPLETED ||
	    record.state == UNKNOWN);
#endif
}
