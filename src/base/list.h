/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/container.h"

/*
 * A doubly linked list whose links stand in its items.  A head is a ring of
 * itself; an item that is all zeros, or was removed, is in no list.  The list
 * owns nothing: who frees an item removes it first.  One thread, or the
 * caller's lock.
 */
struct list {
	struct list *next;
	struct list *prev;
};

/* Heads must be initialized; items need not. */
static inline void
list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool
list_empty(const struct list *head)
{
	return head->next == head;
}

/* True where an item is in a list. */
static inline bool
list_linked(const struct list *item)
{
	return item->next != NULL;
}

/* Adds an item before another; before the head is the list's end. */
static inline void
list_add_before(struct list *at, struct list *item)
{
	item->next = at;
	item->prev = at->prev;
	at->prev->next = item;
	at->prev = item;
}

static inline void
list_add_last(struct list *head, struct list *item)
{
	list_add_before(head, item);
}

static inline void
list_add_first(struct list *head, struct list *item)
{
	list_add_before(head->next, item);
}

/* Allowed also where the item is in no list. */
static inline void
list_remove(struct list *item)
{
	if (!list_linked(item))
		return;
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->next = item->prev = NULL;
}

/* Moves all items of one list behind those of another. */
static inline void
list_move_all(struct list *from, struct list *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

/* The first and last item, by their type and the links' member; or NULL. */
#define LIST_FIRST(head, type, member)                                        \
	(list_empty(head) ? NULL                                              \
			  : CONTAINER_OF((head)->next, type, member))
#define LIST_LAST(head, type, member)                                         \
	(list_empty(head) ? NULL                                              \
			  : CONTAINER_OF((head)->prev, type, member))

/* Walks over all items; item is declared before, and may be removed. */
#define LIST_EACH(item, head, member)                                         \
	for (struct list *item##_at = (head)->next,                           \
			 *item##_then = item##_at->next;                      \
		item##_at != (head) &&                                        \
		((item) = CONTAINER_OF(                                       \
		     item##_at, __typeof__(*(item)), member),                 \
		    true);                                                    \
		item##_at = item##_then, item##_then = item##_at->next)
