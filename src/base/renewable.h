/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>

/*
 * An object that is replaced by a newer one of its kind while others still use
 * the older: each lives until nobody does.  It knows nothing of what the object
 * is.  Any thread.
 */
struct renewable;

/* The object as it was when somebody borrowed it. */
struct renewed {
	atomic_uint refs;
	void *object;
	void (*free_object)(void *object);
};

/* Takes an object, which free_object frees when nobody uses it any more. */
struct renewable *renewable_new(
    void *object, void (*free_object)(void *object));
/* Nulls the pointer, accepts NULL; what was borrowed lives on. */
void renewable_free(struct renewable **renewable);
/* From here on it shares the object of the other. */
void renewable_renew(struct renewable *renewable, struct renewable *newer);

/* Borrows the object that it has now. */
struct renewed *renewable_borrow(struct renewable *renewable);
/* Gives it back; nulls the pointer, accepts NULL. */
void renewable_return(struct renewed **renewed);
