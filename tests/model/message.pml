/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two messages of one order, in a stream that two gateways read in turns, and
 * perhaps a client that sends the key of the first one by HTTP: the deliveries
 * of src/messages/source/, beside the scripts of src/store/record/lua/ and a
 * broker.  Whose turn it is the leadership says (src/messages/shared/), and a
 * dead or parked message is a letter in the store before it is acknowledged.
 * README in this folder tells how to run it and what is left out.
 *
 * Without a macro: the messages have keys of their own, and an order.
 *   ONE_KEY    both have the same key
 *   UNORDERED  they have no order: both gateways read at all times
 *   ONE_NAME   both gateways have the same name (UNORDERED)
 *   CALLER     there is that client
 *   RETRIES    what was not sent or refused is tried again, once
 *
 * Mutants, mistakes that somebody might make; a promise is then broken:
 *   CLAIM_ANYWAY      what is PROCESSING elsewhere is claimed all the same
 *   BLIND_PUT         a put does not look whether the message is pending
 *   TWO_STEPS         a message is acknowledged in a step of its own
 *   JOURNAL_ACKS      what the journal has is acknowledged
 *   DOUBT_ACKS        a message whose outcome nobody knows is acknowledged
 *   LATE_TURN         a turn is not given up before its end
 *   TURN_UNSEEN       a claim does not look whether the turn is over
 *   NEW_FIRST         new messages are read before those that others had
 *   NO_LANES          a message does not wait for the one before it
 *   LETTER_LATER      a letter is written after the acknowledgement
 *   LETTER_OVERDUE    a letter is written although the turn is over
 *   LANES_BEFORE      which lanes are parked is not asked again at a new turn
 *   NO_TAKING_OVER    what a gateway had that died is left to it
 *
 * ONLY=PROMISE checks that promise alone:
 */
#define ONCE		1 /* each key is executed at most once */
#define STORED		2 /* what is acknowledged is COMPLETED, or a letter */
#define ONE_PUT		3 /* no message has two results or copies of a letter,
			     or one of each */
#define ORDER		4 /* a message is executed only when the one before it
			     was, and never behind a letter */
#define ENDS		5 /* once everything has settled, each message is
			     acknowledged, with what was to be put */

#ifndef ONLY
#define ASKED(promise)	1
#else
#define ASKED(promise)	(ONLY == promise)
#endif

#define MESSAGES	2
#define GATEWAYS	2
#define CLIENT		2	/* an owner, like the gateways */
#define OWNERS		3
#define NOBODY		3
#ifdef RETRIES
#define ATTEMPTS	2
#else
#define ATTEMPTS	1
#endif
#define DEATHS		1
#define LOSSES		1
#ifdef ONE_KEY
#define KEYS		1
#define KEY(m)		0
#else
#define KEYS		2
#define KEY(m)		(m)
#endif
#ifdef ONE_NAME
#define NAME(g)		0
#else
#define NAME(g)		(g)
#endif

/* States of a record. */
mtype = { NONE, PROCESSING, UNKNOWN, RELEASED, FAILED, GOOD, BAD };
/* Where an execution is: it is ours, it is to be stored, it is on disk. */
mtype = { CLAIMED, KEEP_GOOD, KEEP_BAD, DOUBT, RELEASE };
/* Where a delivery is. */
mtype = { AWAY, TURN, CLAIM, CLAIMING, JOINED, WAIT, HOLD, WRITE, WRITING, BURY,
    WRITE_NOW, FINISH, ACK };

/* --- the store --- */

typedef Record {
	mtype state = NONE;
	byte owner = NOBODY;
	byte attempts
};

Record record[KEYS];
byte turn = NOBODY;		/* whose it is */
bool letter[MESSAGES];		/* nobody replays or drops it here */
#define IS_PARKED	(letter[0] || letter[1])	/* the lane */

/* --- the broker --- */

byte next;			/* the first that nobody has read */
byte pending[MESSAGES] = NOBODY;	/* for whom */
bool acknowledged[MESSAGES];

/* --- gateways --- */

typedef Owner {
	mtype at[KEYS];		/* of its execution of that key, or 0 */
	bool on_disk[KEYS]
};

typedef Gateway {
	mtype at[MESSAGES] = AWAY;
	bool behind[MESSAGES];	/* another one is a letter */
	bool mine;		/* it reads, and has not heard otherwise */
	bool parked;		/* the lane, as far as it knows, … */
	bool letter[MESSAGES]	/* … and letters */
};

Owner owners[OWNERS];
Gateway gateways[GATEWAYS];
bool over[GATEWAYS];	/* its turn is, by the clock, seen or not */

/* --- what is watched --- */

byte executed[KEYS];
bool delivered[MESSAGES];	/* executed, by its delivery */
bool buried[MESSAGES];		/* a letter for what it is itself */
byte results[MESSAGES];
byte dead[MESSAGES];

byte deaths, losses;
bool decided;
bool client_came;

#define IS_OPEN(k)	(record[k].state == PROCESSING || \
				record[k].state == UNKNOWN)

inline put_of(m)
{
#if ASKED(ONE_PUT)
	assert(results[m] + dead[m] <= 1);
#else
	skip
#endif
}

/* --- executions: owner o, key k --- */

#define RUN		owners[o].at[k]

inline execute(o, k)
{
	if
	:: true ->
		printf("%d is not sent by %d, or is refused\n", k, o);
		RUN = RELEASE
	:: true ->
		printf("%d is executed by %d\n", k, o);
		executed[k]++;
#if ASKED(ONCE)
		assert(executed[k] <= 1);
#endif
		if
		:: RUN = KEEP_GOOD
		:: RUN = KEEP_BAD
		:: RUN = DOUBT
		fi
	fi
}

inline store(o, k)
{
	if
	:: record[k].owner == o && IS_OPEN(k) ->
		if
		:: RUN == KEEP_GOOD -> record[k].state = GOOD
		:: RUN == KEEP_BAD -> record[k].state = BAD
		:: RUN == DOUBT -> record[k].state = UNKNOWN
		:: RUN == RELEASE && record[k].attempts < ATTEMPTS ->
			record[k].state = RELEASED
		:: RUN == RELEASE && record[k].attempts >= ATTEMPTS ->
			record[k].state = FAILED
		fi;
		printf("%d is stored by %d: %e\n", k, o, record[k].state)
	:: else
	fi;
	owners[o].on_disk[k] = false;
	RUN = 0
}

#define IS_AT_WORK(o, k) (owners[o].at[k] != 0)

/* Each goes on by itself, whoever waits for it. */
inline run_execution(o, k)
{
	if
	:: RUN == CLAIMED -> execute(o, k)
	:: RUN != CLAIMED -> store(o, k)
	:: RUN != CLAIMED && !owners[o].on_disk[k] ->
		printf("%d is written to the disk of %d\n", k, o);
		owners[o].on_disk[k] = true
	fi
}

/* --- deliveries: gateway g, message m --- */

#define ME		gateways[g]
#define AT		gateways[g].at[m]

#ifdef UNORDERED
#define IS_FIRST(m)	true
#define IS_IN_TURN	true
#define PARKS		false
#else
#ifdef NO_LANES
#define IS_FIRST(m)	true
#else
#define IS_FIRST(m)	((m) == 0 || ME.at[0] == AWAY)
#endif
#ifdef TURN_UNSEEN
#define IS_IN_TURN	true
#else
#define IS_IN_TURN	(!over[g])
#endif
#define PARKS		true
#endif

inline leave(g, m)
{
	AT = AWAY;
	ME.behind[m] = false
}

/* All that Redis has of the source, when it begins to read. */
inline load(g)
{
#ifndef LANES_BEFORE
	ME.parked = IS_PARKED;
#endif
	ME.letter[0] = letter[0];
	ME.letter[1] = letter[1]
}

/* Who does not read alone asks for each letter. */
#ifdef UNORDERED
#define IS_LETTER(m)	letter[m]
#else
#define IS_LETTER(m)	ME.letter[m]
#endif

inline take_turn(g, m)
{
	ME.behind[m] = PARKS && ME.parked;
	AT = (IS_LETTER(m) -> BURY : CLAIM)
}

inline begin(o, k)
{
	record[k].state = PROCESSING;
	record[k].owner = o;
	record[k].attempts++;
	RUN = CLAIMED
}

inline ours(g, m)
{
#if ASKED(ORDER) && !defined(UNORDERED) && !defined(ONE_KEY)
	assert(m == 0 || (record[0].state == GOOD && !buried[0]));
#endif
	delivered[m] = true;
	begin(g, KEY(m));
	AT = JOINED
}

#ifdef LETTER_LATER
#define BAD_END		BURY
#else
#define BAD_END		WRITE
#endif

inline claim(g, m)
{
	if
	:: (record[KEY(m)].state == NONE ||
	    record[KEY(m)].state == RELEASED) && ME.behind[m] ->
		AT = WRITE	/* it only asked what became of it */
	:: (record[KEY(m)].state == NONE ||
	    record[KEY(m)].state == RELEASED) && !ME.behind[m] ->
		ours(g, m)
	:: record[KEY(m)].state == PROCESSING ->
#ifdef CLAIM_ANYWAY
		if
		:: record[KEY(m)].owner != g -> ours(g, m)
		:: else -> AT = WAIT
		fi
#else
		AT = WAIT
#endif
	:: record[KEY(m)].state == UNKNOWN ->
#ifdef DOUBT_ACKS
		AT = FINISH
#else
		AT = HOLD
#endif
	:: record[KEY(m)].state == GOOD ->
		AT = FINISH
	:: record[KEY(m)].state == BAD || record[KEY(m)].state == FAILED ->
		AT = BAD_END
	fi;
	printf("%d claims %d: %e\n", g, m, AT)
}

/* Its execution has ended, or is on disk: the record is asked again. */
inline join(g, m)
{
#ifdef JOURNAL_ACKS
	AT = (owners[g].at[KEY(m)] == KEEP_GOOD -> FINISH : CLAIM)
#else
	AT = CLAIM
#endif
}

#define HAS_JOINED	(!IS_AT_WORK(g, KEY(m)) || \
				owners[g].on_disk[KEY(m)])

/*
 * What is there stays as it is.  The script knows until when the turn is, by
 * the same clock.
 */
#if defined(UNORDERED) || defined(LETTER_OVERDUE)
#define IS_OVERDUE	false
#else
#define IS_OVERDUE	over[g]
#endif
inline write(g, m)
{
	if
	:: !letter[m] && IS_OVERDUE ->
		AT = WRITE
	:: !letter[m] && !IS_OVERDUE && ME.behind[m] && !IS_PARKED ->
		AT = TURN
	:: else ->
		printf("%d writes letter %d\n", g, m);
		letter[m] = true;
		AT = BURY
	fi;
	ME.parked = IS_PARKED;
	ME.letter[m] = letter[m]
}

#ifdef BLIND_PUT
#define IS_PENDING	true
#else
#define IS_PENDING	(!acknowledged[m] && pending[m] == NAME(g))
#endif

inline acknowledge(m)
{
	acknowledged[m] = true;
	pending[m] = NOBODY
}

inline bury(g, m)
{
	if
	:: IS_PENDING ->
		printf("%d puts a copy of letter %d\n", g, m);
		dead[m]++;
		buried[m] = buried[m] || !ME.behind[m];
		put_of(m);
#if ASKED(ORDER) && !defined(UNORDERED) && !defined(ONE_KEY)
		assert(m == 1 || !delivered[1]);
#endif
#ifndef TWO_STEPS
		acknowledge(m)
#endif
	:: else
	fi
}

inline finish(g, m)
{
#if ASKED(STORED)
	assert(record[KEY(m)].state == GOOD);
#endif
	if
	:: IS_PENDING ->
		printf("%d puts result %d\n", g, m);
		results[m]++;
		put_of(m);
#ifndef TWO_STEPS
		acknowledge(m)
#endif
	:: else
	fi
}

inline after_bury(g, m)
{
#ifdef TWO_STEPS
	AT = ACK
#else
#ifdef LETTER_LATER
	AT = WRITE_NOW
#else
	leave(g, m)
#endif
#endif
}

inline deliver(g, m)
{
	if
	:: AT == TURN && IS_FIRST(m) ->
		take_turn(g, m)
	:: AT == CLAIM && IS_IN_TURN ->
		AT = CLAIMING	/* in a socket */
	:: AT == CLAIMING ->
		claim(g, m)
	:: AT == JOINED && HAS_JOINED ->
		join(g, m)
	:: AT == WAIT && record[KEY(m)].state != PROCESSING ->
		AT = CLAIM
	:: AT == HOLD && record[KEY(m)].state != UNKNOWN ->
		AT = CLAIM
	:: AT == HOLD ->
		printf("%d has held %d for long enough\n", g, m);
		AT = BAD_END
	:: AT == WRITE && IS_IN_TURN ->
		AT = WRITING	/* in a socket */
	:: AT == WRITING ->
		write(g, m)
	:: AT == BURY ->
		bury(g, m);
		after_bury(g, m)
	:: AT == FINISH ->
		finish(g, m);
#ifdef TWO_STEPS
		AT = ACK
#else
		leave(g, m)
#endif
	/* It was done, and nobody here hears of it: it is done again. */
	:: AT == BURY ->
		bury(g, m)
	:: AT == FINISH ->
		finish(g, m)
#ifdef LETTER_LATER
	:: AT == WRITE_NOW ->
		write(g, m);
		leave(g, m)
#endif
#ifdef TWO_STEPS
	:: AT == ACK ->
		acknowledge(m);
		leave(g, m)
#endif
	fi
}

/* --- reading --- */

#ifdef NO_TAKING_OVER
#define MAY_TAKE(m)	(pending[m] == NAME(g))
#else
#define MAY_TAKE(m)	true
#endif
/* What it, or somebody else, had and has not acknowledged. */
#define WAS_READ(m)	(m < next && !acknowledged[m] && AT_OF(m) == AWAY && \
				MAY_TAKE(m))
#define AT_OF(m)	gateways[g].at[m]
#ifdef NEW_FIRST
#define NOTHING_BEFORE	true
#else
#define NOTHING_BEFORE	(!WAS_READ(0) && !WAS_READ(1))
#endif
#define MAY_READ_NEW	(next < MESSAGES && NOTHING_BEFORE)

inline hand_over(g, m)
{
	printf("the broker hands %d to %d\n", m, g);
	pending[m] = NAME(g);
	AT = TURN
}

/*
 * A read that the broker executes late, and a reply that lies in a socket, are
 * those of a gateway that does not do anything else meanwhile.
 */
inline read(g)
{
	if
	:: ME.mine && !MAY_READ_NEW && WAS_READ(0) ->
		hand_over(g, 0)
	:: ME.mine && !MAY_READ_NEW && !WAS_READ(0) && WAS_READ(1) ->
		hand_over(g, 1)
	:: ME.mine && MAY_READ_NEW ->
		next++;
		hand_over(g, (next - 1))
	fi
}

/* Whatever it had is given back; what it executes goes on. */
inline close(g)
{
	leave(g, 0);
	leave(g, 1)
}

inline take_part(g)
{
	if
	:: turn == NOBODY && !ME.mine ->
		printf("%d has the turn\n", g);
		turn = g;
		over[g] = false;
		ME.mine = true;
		load(g)
	:: ME.mine && over[g] ->
		printf("%d hears that its turn is over\n", g);
		ME.mine = false;
		close(g)
	fi
}

inline lose_work(o, k)
{
	RUN = (owners[o].on_disk[k] -> RUN : 0)
}

inline die(g)
{
	printf("%d dies, and starts again\n", g);
	deaths++;
	close(g);
	lose_work(g, 0);
#ifndef ONE_KEY
	lose_work(g, 1);
#endif
#ifndef UNORDERED
	ME.mine = false;
	over[g] = true
#endif
}

proctype Reader(byte g)
{
end:	do
	:: atomic { read(g) }
#ifndef UNORDERED
	:: atomic { take_part(g) }
#endif
	:: atomic { deliver(g, 0) }
	:: atomic { deliver(g, 1) }
	:: atomic { IS_AT_WORK(g, 0) -> run_execution(g, 0) }
#ifndef ONE_KEY
	:: atomic { IS_AT_WORK(g, 1) -> run_execution(g, 1) }
#endif
	:: atomic { deaths < DEATHS -> die(g) }
	od
}

/* By HTTP, through a gateway that reads no messages. */
proctype Client()
{
end:	do
	:: atomic {
		!client_came ->
		client_came = true;
		if
		:: record[0].state == NONE || record[0].state == RELEASED ->
			printf("the client claims 0\n");
			begin(CLIENT, 0)
		:: else
		fi
	}
	:: atomic { IS_AT_WORK(CLIENT, 0) -> run_execution(CLIENT, 0) }
	:: atomic { IS_AT_WORK(CLIENT, 0) && deaths < DEATHS ->
		deaths++;
		lose_work(CLIENT, 0) }
	od
}

/* --- what happens around them --- */

inline sweep(k)
{
	printf("the lease of %d has run out\n", k);
	record[k].state = UNKNOWN
}

inline decide(k)
{
	printf("the operator completes %d\n", k);
	decided = true;
	record[k].state = GOOD;
	record[k].owner = NOBODY
}

proctype World()
{
end:	do
	:: atomic { record[0].state == PROCESSING -> sweep(0) }
	:: atomic { record[0].state == UNKNOWN && !decided -> decide(0) }
#ifndef ONE_KEY
	:: atomic { record[1].state == PROCESSING -> sweep(1) }
#endif
#ifdef LATE_TURN
	:: atomic { turn != NOBODY && losses < LOSSES ->
		losses++;
		turn = NOBODY }
	:: atomic { turn != 0 && gateways[0].mine -> over[0] = true }
	:: atomic { turn != 1 && gateways[1].mine -> over[1] = true }
#else
	/* By the clock of who has it; its process may be frozen. */
	:: atomic { turn != NOBODY && !over[turn] && losses < LOSSES ->
		printf("the turn of %d is over\n", turn);
		losses++;
		over[turn] = true }
#endif
	:: atomic { turn != NOBODY && over[turn] ->
		turn = NOBODY }
	od
}

init {
	atomic {
#ifdef UNORDERED
		gateways[0].mine = true;
		gateways[1].mine = true;
#endif
#ifndef UNORDERED
		turn = 0;
		gateways[0].mine = true;
#endif
		run World();
		run Reader(0);
#ifdef CALLER
		run Client();
#endif
		run Reader(1)
	}
	timeout;	/* nothing more can happen */
#if ASKED(ENDS)
	assert(acknowledged[0] && results[0] + dead[0] >= 1);
	assert(acknowledged[1] && results[1] + dead[1] >= 1);
#endif
#if ASKED(STORED)
	assert(results[0] > 0 || letter[0]);
	assert(results[1] > 0 || letter[1]);
#endif
}
