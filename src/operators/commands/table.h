/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * A table is printed for people on standard output: its columns are as wide as
 * their cells; the last ones wrap where the whole would be too wide.  It knows
 * nothing of what the cells mean; control characters in them are never written
 * to a terminal.  Main thread.
 */
struct table;

/* A blank in a cell at which no line ends. */
#define TABLE_NO_BREAK "\u00a0"

/* Makes a table; its titles live as long as it does.  NULL: it has none. */
struct table *table_new(size_t n_columns, const char *const *titles);
/* Adds a row, of a cell for each column. */
void table_row(struct table *table, const char *const *cells);
/*
 * Prints the table, each line behind so many blanks; width 0: no cell wraps.  A
 * cell wraps behind blanks, commas and slashes, as far as it has any.
 */
void table_print(const struct table *table, size_t indent, size_t width);
/* Nulls the caller's pointer, accepts NULL. */
void table_free(struct table **table);

/* Returns how wide the terminal is: 80 at least, and where there is none. */
size_t table_terminal_width(void);
