/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>

/*
 * An object that is replaced by a newer one of its kind while others still use
 * the older: each lives until nobody does.  It knows nothing of what the object
 * is.  Any thread.
 */
struct swappable;

/* The object as it was when somebody acquired it. */
struct swappable_object {
	atomic_uint refs;
	void *object;
	void (*free_object)(void *object);
};

/* Takes an object, which free_object frees when nobody uses it any more. */
struct swappable *swappable_new(
    void *object, void (*free_object)(void *object));
/* Nulls the pointer, accepts NULL; what was acquired lives on. */
void swappable_free(struct swappable **swappable);
/* From here on it has the object of the other, which both share. */
void swappable_swap(struct swappable *swappable, struct swappable *newer);

/* The object that it has now; its user releases it. */
struct swappable_object *swappable_acquire(struct swappable *swappable);
/* Nulls the pointer, accepts NULL. */
void swappable_release(struct swappable_object **object);
