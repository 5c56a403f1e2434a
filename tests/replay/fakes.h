/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "replay/world.h"

/*
 * What the fakes let the scheduler do and see, besides the functions that they
 * replace.
 */

/* --- the loop, and time --- */

struct gateway *loop_gateway(const struct loop *loop);
/* Runs what is ready, until nothing is. */
void fake_loop_work(struct loop *loop);
bool fake_loop_has_work(const struct loop *loop);
bool fake_loop_is_stopped(const struct loop *loop);
/* Whether wanted() is true of one of its timers. */
bool fake_loop_any(const struct loop *loop,
    bool (*wanted)(const struct gateway *gateway, const struct timer *timer));
/* Something has happened to that loop: a turn follows, with all its hooks. */
void fake_loop_turn(struct loop *loop);
/* Fires what is due. */
void fake_loop_fire(struct loop *loop);
/* Another thread does that work, of which nobody hears yet. */
void fake_loop_run_work(struct work *work);
/* Ends that work; or some other one: false, there is none. */
void fake_loop_end_work(struct loop *loop, struct work *work);
bool fake_loop_end_works(struct loop *loop, const struct work *but);

/* --- random bytes --- */

enum about {
	ABOUT_NOTHING,
	ABOUT_CLIENT,
	ABOUT_MESSAGE,
	ABOUT_LETTER, /* drawn for whoever replays it */
	ABOUT_KEY,
};
void fake_random_begin(void);
/* What is drawn from now on is drawn for that. */
void fake_random_about(enum about what, unsigned index);

/* --- Redis, and the way to it --- */

enum { REDIS_EPOCH_MS = 1700000000 };
int64_t redis_now_ms(void);

/* Runs a command; the caller frees the reply, which is in RESP. */
void redis_run(struct span command, char **ret_reply, size_t *ret_len);
/* Forgets all keys. */
void redis_clear(void);
/* Calls see() for each record. */
void redis_records(void (*see)(const char *name, struct span value));
uint64_t redis_hash(void);
/* The name of a record that is PROCESSING; of one that is damaged; or NULL. */
const char *redis_in_flight(void);
const char *redis_damaged(void);
/* Damages the one; and what an operator's delete makes of the other. */
void redis_damage(void);
void redis_delete_damaged(void);
/*
 * What its replicas have: everything as of the last WAIT that counted enough of
 * them; and if a WAIT has counted too few since, perhaps what there was then.
 */
enum replica_copy { REPLICA_HAS, REPLICA_MAY_HAVE, REPLICA_COPIES };
void redis_copy(enum replica_copy copy);
bool redis_has_copy(enum replica_copy copy);
/* A replica takes its place, with only that copy. */
void redis_fail_over(enum replica_copy copy);
/* Whether that is the state of a record whose name ends so. */
char redis_state_of(const char *key_hex);
/* The first character of a member of the letter of that name; '\0': none. */
char redis_letter(const char *id_hex, const char *member);
/* A member of it that is a number; 0: there is none. */
int64_t redis_letter_number(const char *id_hex, const char *member);
/* Whether replicas have a letter of that name, as far as WAIT has said. */
bool redis_has_letter_copied(const char *id_hex);
/* An operator asks for a letter to be replayed, or dropped. */
void redis_ask(const char *id_hex, bool drops);
/* An operator pauses the source, or resumes it. */
void redis_pause(bool on);
/* Another gateway has the turn of the source from now on, for a lease. */
void redis_seize_leadership(void);
/* Something was published (fake_link.c). */
void redis_publish(struct span channel, struct span message);
/* The interpreter, kept from run to run. */
void lua_begin(void);
void lua_end(void);

/* A command that was sent and whose reply has not been delivered. */
unsigned link_pending(const struct link *link);
unsigned link_executed(const struct link *link);
/* The next command that is not yet executed is executed. */
void link_execute(struct link *link);
/* Its next reply is delivered. */
void link_deliver(struct link *link);
/* The next command is refused, and not executed. */
void link_refuse(struct link *link);
/* Whether the next is WAIT; and lets it count too few replicas. */
bool link_is_waiting(const struct link *link);
void link_count_few(struct link *link);
void link_cut(struct link *link);
/*
 * Whether the next changes no record: the sweeper looks for leases, INFO, the
 * proof of a subscriber.
 */
bool link_is_only_looking(const struct link *link);
unsigned link_messages(const struct link *link);
/* Whether the next is the proof of a subscriber. */
bool link_is_proving(const struct link *link);
void link_tell(struct link *link);
bool link_owns_timer(const struct link *link, const struct timer *timer);
/* Commands that outlive their connections. */
unsigned ghosts_count(void);
void ghosts_execute(void);
void ghosts_clear(void);
uint64_t link_hash(const struct link *link);
uint64_t ghosts_hash(void);

/* --- the disk --- */

struct journal *fake_journal_new(struct gateway *gateway);
/* How many entries are still to be delivered. */
unsigned fake_journals_open(void);
/* Whether one of them gives a claim back. */
bool fake_journals_revoke(void);
/* Whether one of them is an answer. */
bool fake_journals_answer(void);
void fake_journals_clear(void);
uint64_t fake_journals_hash(void);

/* --- clients --- */

void fake_front_arrive(struct client *client);
/* Whose exchange that is. */
const struct client *fake_front_client(struct exchange *x);
void fake_front_body(struct client *client);
void fake_front_leave(struct client *client);
/*
 * Whoever watches the client learns that it has left, even if it left before.
 */
bool fake_front_notice(struct client *client);

/* --- the upstream --- */

unsigned forwards_count(void);
struct forwarded {
	struct gateway *gateway;
	struct truth *truth;
	bool question;
	bool half;  /* a part of it was taken, and the rest is to be sent */
	bool heard; /* it is executed, and the answer is to come */
	bool late;  /* the lease is over, and it is not wholly sent */
	/*
	 * Its answer lies in the gateway's socket, which reads it when it runs
	 * and has memory for it.
	 */
	bool answered;
	unsigned attempt;
};
const struct forwarded *forwards_get(unsigned index);
/* Decides what becomes of it. */
void forwards_end(unsigned index, enum doing doing);
/* Gateways read the answers that they can; true: there was one. */
bool forwards_read(void);
/* The gateway is dead: nobody learns what becomes of them. */
void forwards_orphan(struct gateway *gateway);
uint64_t forwards_hash(void);

/* --- the API's database --- */

/* Whether the route has a witness. */
bool fake_witness_is_asked(void);
/* The payment is made, unless its attempt was revoked. */
MUST_USE bool fake_witness_commit(struct truth *truth, unsigned attempt);
/* Questions that are under way; whose; and one's end. */
unsigned fake_witness_questions(void);
struct gateway *fake_witness_gateway(unsigned index);
void fake_witness_answer(unsigned index, bool arrives);

/* --- the broker --- */

void fake_broker_begin(void);
/* What needs no choice; true: there was something. */
bool fake_broker_settle(struct gateway *gateway);
void fake_broker_reach(bool down);
/* The message that its reader may be given now; MESSAGES_MAX: none. */
unsigned fake_broker_next(const struct gateway *gateway);
void fake_broker_give(struct gateway *gateway);
/* Messages lie there, and no reader may be given one. */
bool fake_broker_is_stuck(void);
/* The messages are all done with. */
bool fake_broker_is_empty(void);
/* A message is acknowledged, or lost. */
bool fake_broker_has_ended(unsigned message);
/* A copy of its letter was put there; and a mark that one is done with it. */
bool fake_broker_has_copy(unsigned message);
bool fake_broker_is_marked(unsigned message);
/* Acknowledgements, and marks, that are under way. */
unsigned fake_broker_finishes(const struct gateway *gateway);
bool fake_broker_puts(const struct gateway *gateway, unsigned index);
enum acknowledged {
	ACKNOWLEDGES,
	ACK_REFUSED,
	ACK_LOST, /* on its way; its reader hears that it is down */
	ACK_UNHEARD, /* done; likewise */
};
void fake_broker_finish(
    struct gateway *gateway, unsigned index, enum acknowledged how);
/* A message that some reader has: it may be lost, or be given to others. */
bool fake_broker_is_pending(unsigned message);
void fake_broker_trim(unsigned message);
void fake_broker_steal(unsigned message);
uint64_t fake_broker_hash(void);

/* --- hashing --- */

static inline uint64_t
mix(uint64_t hash, uint64_t more)
{
	hash ^= more + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
	hash *= 0xff51afd7ed558ccd;
	return hash ^ (hash >> 32);
}

static inline uint64_t
mix_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;
	uint64_t h = 0xcbf29ce484222325, eight;
	size_t i = 0;
	for (; i + sizeof eight <= len; i += sizeof eight) {
		memcpy(&eight, p + i, sizeof eight);
		h = (h ^ eight ^ h >> 29) * 0x9fb21c651e98df25;
	}
	for (; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return mix(mix(hash, h), len);
}
