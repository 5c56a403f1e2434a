/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>

#include "base/container.h"
#include "http/front/exchange.h"

struct front;
struct early_response;

/*
 * An exchange as the files of the front know it (front/front_private.h lists
 * them): what its owner is shown, and what libmicrohttpd does with it.  It
 * lives until both, the owner and libmicrohttpd, let go of it.  The front's
 * thread.
 */
struct mhd_exchange {
	struct exchange shown;
	struct front *front;
	struct MHD_Connection *mhd; /* NULL: libmicrohttpd is done with it */
	struct client_connection *connection; /* while there is mhd */
	enum exchange_doing {
		EXCHANGE_IDLE,
		EXCHANGE_READING,
		EXCHANGE_ANSWERING,
	} doing; /* what shown.op waits for */
	bool ended; /* the owner is done with it */

	/* The head. */
	bool head_seen;
	int64_t content_length; /* -1: none was said, or not a number */
	bool expects_continue; /* for a body */
	bool client_closes; /* behind this answer */

	/* The body. */
	bool in_head; /* a 100 (Continue) is due, and was not sent */
	size_t read_limit; /* the length that was announced, or allowed */
	struct flow *up;   /* where it goes; NULL: nowhere, or not any more */
	bool left_over;    /* up did not take all it was offered */
	bool half_closed;  /* the client sends no more */
	struct task pace;  /* looks whether up has room for more */

	/* The answer. */
	/*
	 * Given before all of the body was in: libmicrohttpd sends it where the
	 * rest has come already, and else the early response.
	 */
	struct answer *kept;
	struct fields kept_more;
	struct task now; /* looks which */
	bool looked;     /* whether the rest is there */
	struct MHD_Response *reply; /* to be sent when the body is in */
	unsigned reply_status;
	bool close;          /* the connection behind it */
	bool queued;         /* libmicrohttpd has it */
	struct flow *down;   /* where its content comes from */
	bool end_is_close;   /* of that content, by HTTP/1.0 */
	struct early_response *early; /* it goes past libmicrohttpd */

	bool suspended; /* libmicrohttpd leaves the connection alone */
	struct watch *hang_up; /* of the client's socket */
	void (*on_hang_up)(struct mhd_exchange *x);
	void (*left)(void *arg); /* the owner's */
	void *left_arg;
};

static inline struct mhd_exchange *
exchange_of(struct exchange *shown)
{
	return CONTAINER_OF(shown, struct mhd_exchange, shown);
}

/* libmicrohttpd leaves the connection alone until it is resumed. */
void exchange_hold(struct mhd_exchange *x);
void exchange_resume(struct mhd_exchange *x);
/*
 * Calls hung_up() once when the client closes its connection or its half of
 * it; NULL: not any more.
 */
void exchange_watch(
    struct mhd_exchange *x, void (*hung_up)(struct mhd_exchange *x));
/* What came of its body was wrong, and no more of it comes. */
void exchange_spoil(struct mhd_exchange *x);
/* The answer is out: the owner is told. */
void exchange_answered(struct mhd_exchange *x);

/* libmicrohttpd's calls about one request. */
void *exchange_on_line(
    void *front, const char *target, struct MHD_Connection *mhd);
enum MHD_Result exchange_on_request(void *front, struct MHD_Connection *mhd,
    const char *url, const char *method, const char *version,
    const char *data, size_t *len, void **context);
void exchange_on_completed(void *front, struct MHD_Connection *mhd,
    void **context, enum MHD_RequestTerminationCode code);
