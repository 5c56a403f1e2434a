/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
#include "operators/commands/print.h"
#include "operators/commands/table.h"

enum { GAP = 2, LEAST = 10, TERMINAL_LEAST = 80, TERMINAL_MAX = 400 };

struct table {
	size_t n_columns;
	const char *const *titles;
	char **cells; /* row by row */
	size_t n_rows;
};

/* --- text --- */

/* True of a byte of UTF-8 that is not the first of its character. */
static bool
goes_on(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static size_t
width_of(const char *text)
{
	size_t width = 0;
	for (; *text != '\0'; text++)
		width += !goes_on(*text);
	return width;
}

/* Returns how many bytes of the text fit a line of that width. */
static size_t
piece_of(const char *text, size_t width)
{
	size_t at = 0, good = 0, columns = 0;
	while (text[at] != '\0') {
		if (!goes_on(text[at]) && columns++ == width)
			return good > 0 ? good : at;
		at++;
		if (strchr(" ,/-", text[at - 1]) != NULL &&
		    strchr(",/", text[at]) == NULL)
			good = at;
	}
	return at;
}

/* --- the table --- */

struct table *
table_new(size_t n_columns, const char *const *titles)
{
	struct table *table = mem_zero(sizeof *table);
	table->n_columns = n_columns;
	table->titles = titles;
	return table;
}

void
table_row(struct table *table, const char *const *cells)
{
	size_t n = table->n_columns;
	table->cells = mem_grow(table->cells,
	    (table->n_rows + 1) * n * sizeof(char *));
	char **row = table->cells + table->n_rows++ * n;
	for (size_t i = 0; i < n; i++) {
		FILE *out = mem_stream(&row[i]);
		print_safely(out, cells[i]);
		must(fclose(out) == 0);
	}
}

void
table_free(struct table **table)
{
	struct table *t = *table;
	*table = NULL;
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n_rows * t->n_columns; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

/* --- printing --- */

/* Prints text, in which a blank that holds words together is a plain one. */
static void
print_piece(struct span text)
{
	while (text.len > 0) {
		bool blank = span_starts(text, SPAN(TABLE_NO_BREAK));
		putchar(blank ? ' ' : *text.ptr);
		text = span_from(text, blank ? strlen(TABLE_NO_BREAK) : 1);
	}
}

/* Prints one row; its last cell wraps where it would be wider than last. */
static void
print_row(const char *const *cells, const size_t *wide, size_t n,
    size_t indent, size_t last)
{
	size_t blanks = indent, column = indent;
	for (size_t i = 0; i + 1 < n; i++) {
		if (*cells[i] != '\0') {
			printf("%*s", (int)blanks, "");
			print_piece(span_str(cells[i]));
			blanks = 0;
		}
		blanks += wide[i] + GAP - width_of(cells[i]);
		column += wide[i] + GAP;
	}
	const char *rest = cells[n - 1];
	do {
		size_t len = piece_of(rest, last), shown = len;
		while (shown > 0 && rest[shown - 1] == ' ')
			shown--;
		printf("%*s", shown > 0 ? (int)blanks : 0, "");
		print_piece(span_of(rest, shown));
		putchar('\n');
		rest += len;
		rest += strspn(rest, " ");
		blanks = column;
	} while (*rest != '\0');
}

void
table_print(const struct table *table, size_t indent, size_t width)
{
	size_t n = table->n_columns, column = indent;
	size_t *wide = mem_zero(n * sizeof *wide);
	for (size_t i = 0; i < n && table->titles != NULL; i++)
		wide[i] = strlen(table->titles[i]);
	for (size_t i = 0; i < table->n_rows * n; i++) {
		size_t own = width_of(table->cells[i]);
		wide[i % n] = own > wide[i % n] ? own : wide[i % n];
	}
	for (size_t i = 0; i + 1 < n; i++)
		column += wide[i] + GAP;
	size_t last = width == 0 ? SIZE_MAX
	    : width > column + LEAST ? width - column
				     : LEAST;
	if (table->titles != NULL)
		print_row(table->titles, wide, n, indent, last);
	for (size_t i = 0; i < table->n_rows; i++)
		print_row((const char *const *)table->cells + i * n, wide, n,
		    indent, last);
	free(wide);
}

size_t
table_terminal_width(void)
{
	struct winsize size = {0};
	const char *columns = getenv("COLUMNS");
	struct span text = span_str(columns);
	int64_t width;
	(void)digits_take(&text, TERMINAL_MAX, &width);
	if (width == 0 && isatty(STDOUT_FILENO) &&
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	if (width < TERMINAL_LEAST)
		return TERMINAL_LEAST;
	return width < TERMINAL_MAX ? (size_t)width : TERMINAL_MAX;
}
