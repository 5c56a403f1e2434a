/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/nearest.h"

/* Longer names are not compared. */
enum { LENGTH_MAX = 63 };

struct nearest
nearest_to(struct span wanted)
{
	/* About every third byte may differ. */
	size_t most = wanted.len < 3 ? 1 : wanted.len < 7 ? 2 : 3;
	return (struct nearest){wanted, {NULL, 0}, most + 1};
}

/* Case, and whether "-" or "_" stands between words, is no difference. */
static char
folded(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	return c == '-' ? '_' : c;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * How many bytes must be changed, put in, left out or swapped with their
 * neighbour (optimal string alignment).
 */
static size_t
distance(struct span a, struct span b)
{
	size_t rows[3][LENGTH_MAX + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	for (size_t j = 0; j <= b.len; j++)
		above[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		char x = folded(a.ptr[i - 1]);
		row[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			char y = folded(b.ptr[j - 1]);
			row[j] = least(above[j], row[j - 1]) + 1;
			row[j] = least(row[j], above[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == folded(b.ptr[j - 2]) &&
			    y == folded(a.ptr[i - 2]))
				row[j] = least(row[j], before[j - 2] + 1);
		}
		size_t *free_row = before;
		before = above;
		above = row;
		row = free_row;
	}
	return above[b.len];
}

void
nearest_try(struct nearest *nearest, struct span name)
{
	if (nearest->wanted.len > LENGTH_MAX || name.len > LENGTH_MAX ||
	    name.len == 0)
		return;
	size_t far = distance(nearest->wanted, name);
	/* What shares nothing is not near, however short. */
	if (far < nearest->distance && far < name.len &&
	    far < nearest->wanted.len) {
		nearest->found = name;
		nearest->distance = far;
	}
}
