/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"
#include "gate/worker.h"
#include "store/journal/journal_awaited.h"

/*
 * The world in which gateways are replayed: their clients, the upstream and its
 * database, Redis, the disk, time and chance are fakes in this folder, which
 * replace src/base/loop/loop, clock, watch and work, src/http/front/front and
 * exchange, src/store/redis/link and sha1, src/store/journal/journal,
 * src/messages/broker/broker, src/http/upstream/forward and upstreams,
 * src/gate/witness and trust, and src/base/random when the test is linked.  All
 * else is the program's own code, the Lua scripts included.  Nothing happens by
 * itself: whatever may happen next is a list of events (events.h), and one of
 * them is chosen (choice.h).  There is one world, and one thread.
 */
enum {
	GATEWAYS_MAX = 2,
	CALLERS_MAX = 12,
	ACTS_MAX = 4,
	KEYS_MAX = 10,
	MESSAGES_MAX = 6,
	LABEL_BYTES = 64,
	GATEWAY_LINKS = 2,
};

/* --- what is told of a run before it begins --- */

/* What may happen besides the normal course. */
enum fault {
	FAULT_CUT = 1,     /* the connection to Redis breaks */
	FAULT_GHOST = 2,   /* commands on their way are executed later */
	FAULT_DOWN = 4,    /* Redis is out of reach for a while */
	FAULT_REFUSE = 8,  /* Redis answers a command with an error */
	FAULT_KILL = 16,   /* a gateway dies, and is started again */
	FAULT_STALL = 32,  /* a gateway is frozen for a while */
	FAULT_LEAVE = 64,  /* a client leaves */
	FAULT_DISK = 128,  /* the disk of a gateway is full from now on */
	FAULT_FEW = 256,   /* too few replicas have what was written */
	FAULT_FAILOVER = 512, /* a replica takes Redis' place */
	FAULT_SHORT = 1024, /* the memory for bodies is used up for a while */
	/*
	 * Redis forgets everything while the upstream is at work.  Whoever
	 * comes before the outcome does executes again.
	 */
	FAULT_FORGET = 2048,
	/* The same, while an answer waits on disk until Redis is back. */
	FAULT_LOSE = 4096,
	/*
	 * A record in flight is damaged in Redis; an operator deletes it at any
	 * time from then on.
	 */
	FAULT_DAMAGE = 8192,
	/* Of the broker, where there is a source: */
	FAULT_PUT = 1 << 14,    /* it takes no result and no dead letter */
	FAULT_ACK = 1 << 15,    /* an acknowledgement, or its answer, is lost */
	FAULT_BROKER = 1 << 16, /* it is out of reach for a while */
	FAULT_TRIM = 1 << 17,   /* it loses a message */
	FAULT_STEAL = 1 << 18,  /* a message is given to another reader too */
	FAULT_TURN = 1 << 19,   /* another gateway gets the turn */
};

/* What the upstream may do with a request. */
enum doing {
	DOES_PAY = 1,       /* 200: executed */
	DOES_FAIL = 2,      /* 500: executed, and this is the answer */
	DOES_REFUSE = 4,    /* 503: it did not happen */
	DOES_DOUBT = 8,     /* 504: it may have happened, or not */
	DOES_NOT_HEAR = 16, /* nothing is sent */
	DOES_BREAK = 32,    /* sent, and the connection breaks */
	DOES_BABBLE = 64,   /* sent, and the answer is malformed */
	DOES_HEAR = 128,    /* executes, and says nothing yet */
	DOES_TAKE = 256,    /* takes a part, and cannot execute it yet */
	DOES_FORGET = 512,  /* 401: it did not happen, and is to be forgotten */
};

/* A client that sends one request. */
struct caller {
	const char *key;
	const char *scope; /* of Authorization; NULL: a */
	const char *body;  /* NULL: pay 1 */
	unsigned gateway;
	int wait_s;     /* of Prefer: wait=N; 0: no such field */
	/* Comes after that caller (from 1) is done; 0: at any time. */
	unsigned after;
};

enum act_kind {
	ACT_NONE,
	ACT_DRAIN,
	ACT_RELOAD,
	ACT_PAUSE,  /* of the source, … */
	ACT_RESUME, /* … once it is paused */
	ACT_DROP,   /* of a message, wherever it is */
	ACT_REPLAY, /* of a dead letter */
};

/* Something that is done to a gateway, at any time. */
struct act {
	enum act_kind kind;
	unsigned gateway;
	unsigned message; /* from 0 */
};

/* A message in the source. */
struct sent_message {
	const char *key;  /* its field; NULL: there is no such message */
	const char *body; /* NULL: as of a caller */
	const char *lane; /* what it is ordered by */
	const char *odd;  /* why its broker cannot use it */
	bool large;       /* it is beyond what a reader takes */
	bool old;         /* it is an hour old */
	unsigned after;   /* as of a caller */
};

struct scenario {
	const char *name;
	/* The route's idempotency, JSON with single quotes; and after a reload,
	 * NULL: the same. */
	const char *policy;
	const char *reloaded;
	/* Members of the source, likewise, and after a reload; NULL: there is
	 * none, or the same one. */
	const char *source;
	const char *resourced;
	struct sent_message messages[MESSAGES_MAX];
	/* What they may be counted as in the end, bits; 0: anything. */
	unsigned ends;
	bool vast;   /* make check-long alone goes through all its orders */
	bool prompt; /* they are taken as soon as there is credit */
	bool cached; /* answers are kept in memory */
	bool large;  /* they are so long that they go by the large line */
	bool slow_disk; /* other things happen while the disk writes */
	unsigned replicas; /* store.wait_replicas: 0 or 1 */
	unsigned gateways;
	struct caller callers[CALLERS_MAX];
	struct act acts[ACTS_MAX];
	unsigned upstream; /* enum doing, or-ed */
	unsigned faults;   /* enum fault, or-ed */
	/* How often in one run: */
	unsigned ills; /* the upstream may do anything but pay; 0: always */
	unsigned fault; /* a fault happens */
	unsigned late;  /* time passes while Redis has something to do */
	unsigned slow;  /* time passes while only others have something to do */
	unsigned close; /* two things happen in one turn */
};

/* --- what stands in it --- */

struct gateway {
	unsigned index;
	struct worker *worker; /* NULL: it has ended */
	struct loop *loop;
	/* To Redis: the small line, and the large one, or NULL. */
	struct link *links[GATEWAY_LINKS];
	struct link *subscriber;
	struct front *front;
	struct fake_reader *reader; /* of its source; NULL: it reads nothing */
	struct store_health *health; /* of its process */
	struct journal_awaited *awaited;
	bool dead;     /* dead: whatever it still does reaches nobody */
	bool was_killed;
	bool stalled;
	bool draining;
	bool reloaded; /* has taken the new configuration */
	bool disk_full;
	int64_t adopted_us; /* when it last looked for dead journals */
};

enum caller_state {
	CALLER_AWAY,    /* has not come yet */
	CALLER_SENDING, /* its head is in, and not its body */
	CALLER_WAITING, /* for the answer */
	CALLER_ANSWERED,
	CALLER_LEFT,    /* by itself */
	CALLER_CUT_OFF, /* its gateway ended without an answer */
};

/* A caller, and what it saw. */
struct client {
	const struct caller *caller;
	struct truth *truth;
	struct gateway *gateway;
	enum caller_state state;
	struct exchange *x; /* NULL: the gateway has finished it */
	int status;
	char problem[LABEL_BYTES]; /* its type; "": the upstream's answer */
	uint64_t seen;             /* a hash over all of the stored answer */
	char body[LABEL_BYTES];    /* of the upstream's answer */
	bool replayed;
	bool unkept; /* it came when the disk could not be written */
};

/* The truth about a key of one scope, which only the upstream knows. */
struct truth {
	char key[LABEL_BYTES]; /* scope and key; "": not in use */
	unsigned forwarded;    /* handed to the upstream's connection */
	unsigned executed;     /* certainly */
	unsigned unsure;       /* sent, and only the upstream knows */
	unsigned refused;      /* sent, and it did not happen … */
	unsigned spared;       /* … and does not count */
	unsigned in_doubt;     /* sent, and the gateway has no whole answer */
	unsigned unpromised;   /* passed through without a claim */
	uint64_t attempts;     /* a bit for each attempt number */
	/* Of its witness, likewise: what is there, and what may yet be. */
	uint64_t rows_done, rows_revoked, rows_open;
	bool lost;             /* a gateway that had it has died, or its disk */
	unsigned whole;        /* answers to store that reached a gateway */
	bool given;            /* a client has seen the key's answer */
	uint64_t answer;       /* and this is its hash */
};

struct world {
	const struct scenario *scenario;
	const struct conf *confs[GATEWAYS_MAX];
	const struct conf *reloaded[GATEWAYS_MAX];
	struct budget budget;
	int64_t now_us;
	struct gateway gateways[GATEWAYS_MAX];
	struct gateway *starting; /* whose fakes are being made */
	struct client clients[CALLERS_MAX];
	unsigned n_clients;
	bool acted[ACTS_MAX];
	struct truth truths[KEYS_MAX];
	bool redis_down;
	bool broker_down;
	bool paused; /* the source */
	bool dropped; /* an operator has dropped a message */
	unsigned replays; /* of letters, whose records may be released */
	size_t hoard; /* bytes that the world itself has of the budget */
	bool memory_short; /* of all gateways */
	unsigned fault, late, slow, close, ills; /* what is left of them */
	bool faulty;   /* a fault has happened */
	/* A failover lost what replicas did not have; or it was damaged. */
	bool forgot;
	bool lapsed;   /* a lease has run out */
	bool hurried;  /* time passed while Redis had something to do */
	bool healing;  /* no more faults */
	unsigned deeds; /* counts what gateways do to the world */
	unsigned loud;  /* every event is printed */
};
extern struct world world;

/* A world at its beginning, its gateways started. */
void world_begin(const struct scenario *scenario);
/* Ends everything; nothing may be left. */
void world_end(void);

/* After the last world. */
void world_forget(void);

/* The process of a gateway begins, dies, or goes as it should. */
void gateway_start(struct gateway *gateway);
void gateway_kill(struct gateway *gateway);
void gateway_drain(struct gateway *gateway);
void gateway_reload(struct gateway *gateway);
/* Ends a gateway that has drained; does nothing to another. */
void gateway_bury(struct gateway *gateway);
bool gateway_lives(const struct gateway *gateway);

/* A request of that caller arrives. */
struct client *client_arrive(
    struct client *client, const struct caller *caller);
struct truth *truth_of(struct span scope, struct span key);

/* The memory for bodies is used up, or there again. */
void world_memory(bool is_short);

/* Ends the test with the choices that led here. */
_Noreturn void world_failed(const char *fmt, ...) PRINTF_LIKE(1, 2);
#define CHECK(condition, ...) \
	((condition) ? (void)0 : world_failed(__VA_ARGS__))
/* A line about what happens, where one wants to see it. */
void world_say(const char *fmt, ...) PRINTF_LIKE(1, 2);
