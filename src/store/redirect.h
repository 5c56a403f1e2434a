/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/span.h"

/*
 * What a server of a cluster means that turned a command away: its slot is
 * another's, or on its way there, or the server cannot serve and may have
 * been replaced.  Nothing ran.  It tells the topology what it has learnt, and
 * does nothing with calls.  For src/store/ alone; the store's thread.
 */
struct node;

struct redirect {
	enum {
		REDIRECT_NONE,  /* the error is none of these: it is final */
		REDIRECT_TO,    /* it belongs on that node */
		REDIRECT_AGAIN, /* no node can run it now: try in a moment */
	} what;
	struct node *node; /* REDIRECT_TO */
	bool asking;       /* this one time, and behind ASKING */
};

/* error is what that node, of a cluster, answered. */
struct redirect redirect_of(struct node *node, struct span error);
