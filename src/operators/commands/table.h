/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * Tables for people on standard output: columns as wide as what stands in
 * them, and cells that wrap where the whole would be too wide.  It knows
 * nothing of what the cells mean; what others chose is never written to a
 * terminal as it is.  Main thread.
 */
struct table;

/* In a cell, a blank that no line ends at. */
#define TABLE_NO_BREAK "\u00a0"

/* The titles live as long as the table; NULL: it has none. */
struct table *table_new(size_t n_columns, const char *const *titles);
/* One more row, of a cell for each column; NULL is an empty one. */
void table_row(struct table *table, const char *const *cells);
/*
 * Prints it, each line behind so many blanks; width 0: no cell wraps.  A cell
 * wraps behind blanks, commas and slashes, as far as it has any.
 */
void table_print(const struct table *table, size_t indent, size_t width);
/* Nulls the caller's pointer, accepts NULL. */
void table_free(struct table **table);

/* How wide the terminal is: 80 at least, and where there is none. */
size_t table_terminal_width(void);
