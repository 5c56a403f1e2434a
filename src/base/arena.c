/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/must.h"

/* One piece is enough for an ordinary request. */
enum { PIECE_BYTES = 8000, ALIGN = 16 };

/*
 * So many pieces wait in each thread for the next request.  A sanitizer is
 * to see every one of them freed.
 */
#ifdef __SANITIZE_ADDRESS__
static const unsigned spare_max = 0;
#else
static const unsigned spare_max = 64;
#endif

struct piece {
	struct piece *next;
	size_t used;
	size_t size;
	_Alignas(ALIGN) char bytes[];
};

struct arena {
	unsigned refs;
	struct piece *pieces;
};

static _Thread_local struct {
	struct piece *pieces;
	unsigned count;
} spare;

/* NULL where there is no memory. */
static struct piece *
piece_new(size_t bytes)
{
	if (bytes <= PIECE_BYTES && spare.count > 0) {
		struct piece *piece = spare.pieces;
		spare.pieces = piece->next;
		spare.count--;
		*piece = (struct piece){.size = PIECE_BYTES};
		return piece;
	}
	size_t size = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
	must(size < SIZE_MAX - sizeof(struct piece));
	struct piece *piece = malloc(sizeof *piece + size);
	if (piece != NULL)
		*piece = (struct piece){.size = size};
	return piece;
}

void
arena_trim(void)
{
	struct piece *piece;
	while ((piece = spare.pieces) != NULL) {
		spare.pieces = piece->next;
		free(piece);
	}
	spare.count = 0;
}

/* The arena lives in its first piece: one allocation for a small request. */
struct arena *
arena_new(void)
{
	struct piece *piece = piece_new(PIECE_BYTES);
	must(piece != NULL);
	struct arena *arena = (struct arena *)(void *)piece->bytes;
	*arena = (struct arena){1, piece};
	piece->used = (sizeof *arena + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return arena;
}

struct arena *
arena_ref(struct arena *arena)
{
	must(arena->refs > 0);
	arena->refs++;
	return arena;
}

void
arena_free(struct arena **arena)
{
	struct arena *old = *arena;
	*arena = NULL;
	if (old == NULL || --old->refs > 0)
		return;
	for (struct piece *piece = old->pieces, *next; piece != NULL;
	     piece = next) {
		next = piece->next;
		if (piece->size != PIECE_BYTES || spare.count >= spare_max) {
			free(piece);
			continue;
		}
		piece->next = spare.pieces;
		spare.pieces = piece;
		spare.count++;
	}
}

void
arena_wipe(struct arena *arena)
{
	for (struct piece *piece = arena->pieces; piece != NULL;
	     piece = piece->next) {
		/* The oldest one has the arena itself. */
		size_t kept = piece->next == NULL ? sizeof *arena : 0;
		sodium_memzero(piece->bytes + kept, piece->used - kept);
	}
}

/*
 * Bytes of the newest piece, or of a new one; not zeroed.  NULL where there is
 * no memory.
 */
static void *
arena_try(struct arena *arena, size_t bytes)
{
	must(bytes < SIZE_MAX / 2);
	size_t size = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	struct piece *piece = arena->pieces;
	if (piece->size - piece->used < size) {
		struct piece *more = piece_new(size);
		if (more == NULL)
			return NULL;
		more->next = piece;
		arena->pieces = piece = more;
	}
	void *ptr = piece->bytes + piece->used;
	piece->used += size;
	return ptr;
}

static void *
arena_take(struct arena *arena, size_t bytes)
{
	void *ptr = arena_try(arena, bytes);
	must(ptr != NULL);
	return ptr;
}

void *
arena_alloc(struct arena *arena, size_t bytes)
{
	return memset(arena_take(arena, bytes), 0, bytes);
}

char *
arena_str(struct arena *arena, struct span s)
{
	char *copy = arena_take(arena, s.len + 1);
	*span_put(copy, s) = '\0';
	return copy;
}

struct span
arena_dup(struct arena *arena, struct span s)
{
	return span_of(arena_str(arena, s), s.len);
}

char *
arena_dup_large(struct arena *arena, struct span s)
{
	char *copy = arena_try(arena, s.len + 1);
	if (copy != NULL)
		*span_put(copy, s) = '\0';
	return copy;
}

struct span
arena_printf(struct arena *arena, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char small[256];
	int len = vsnprintf(small, sizeof small, fmt, args);
	va_end(args);
	must(len >= 0);
	if ((size_t)len < sizeof small)
		return arena_dup(arena, span_of(small, (size_t)len));

	char *text = arena_take(arena, (size_t)len + 1);
	va_start(args, fmt);
	vsnprintf(text, (size_t)len + 1, fmt, args);
	va_end(args);
	return span_of(text, (size_t)len);
}
