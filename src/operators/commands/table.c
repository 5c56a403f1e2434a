/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/must.h"
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
width_of(const char *text, size_t len)
{
	size_t width = 0;
	for (size_t i = 0; i < len; i++)
		width += !goes_on(text[i]);
	return width;
}

/* Control characters would speak to the terminal. */
static char *
safe_copy(const char *text)
{
	char *copy = NULL;
	size_t len;
	FILE *out = open_memstream(&copy, &len);
	must(out != NULL);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;
		if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\x%02x", c);
		else
			putc(c, out);
	}
	must(fclose(out) == 0);
	return copy;
}

/* True where a line may end between these two. */
static bool
is_break(char before, char behind)
{
	return strchr(" ,/-", before) != NULL && strchr(",/", behind) == NULL;
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
		if (is_break(text[at - 1], text[at]))
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
	for (size_t i = 0; i < n; i++)
		row[i] = safe_copy(cells[i] ? cells[i] : "");
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

struct widths {
	size_t wide;
	size_t least; /* no word is cut */
};

static void
widen(struct widths *widths, const char *text)
{
	size_t len = strlen(text), from = 0;
	size_t wide = width_of(text, len);
	if (wide > widths->wide)
		widths->wide = wide;
	for (size_t at = 1; from < len; at++) {
		if (text[at] != '\0' && !is_break(text[at - 1], text[at]))
			continue;
		size_t word = width_of(text + from, at - from);
		if (text[at - 1] == ' ')
			word--;
		if (word > widths->least)
			widths->least = word;
		from = at;
	}
}

/* Returns the column that gives way next; n where none can. */
static size_t
widest(const struct widths *widths, size_t n, bool cut_words)
{
	size_t found = n;
	for (size_t i = 0; i < n; i++) {
		size_t least = cut_words ? LEAST : widths[i].least;
		if (widths[i].wide > least &&
		    (found == n || widths[i].wide > widths[found].wide))
			found = i;
	}
	return found;
}

/* The widest columns give way until all fit, as far as they can. */
static void
fit(struct widths *widths, size_t n, size_t most)
{
	size_t sum = n > 0 ? GAP * (n - 1) : 0;
	for (size_t i = 0; i < n; i++)
		sum += widths[i].wide;
	for (; sum > most; sum--) {
		size_t at = widest(widths, n, false);
		if (at == n)
			at = widest(widths, n, true);
		if (at == n)
			return;
		widths[at].wide--;
	}
}

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

/* Prints one row, in as many lines as its longest cell needs. */
static void
print_row(const char *const *cells, const struct widths *widths, size_t n,
    size_t indent)
{
	const char **rest = mem_copy(cells, n * sizeof *cells);
	bool more = true;
	while (more) {
		size_t blanks = indent;
		more = false;
		for (size_t i = 0; i < n; i++) {
			size_t len = piece_of(rest[i], widths[i].wide);
			size_t shown = len;
			while (shown > 0 && rest[i][shown - 1] == ' ')
				shown--;
			if (shown > 0) {
				printf("%*s", (int)blanks, "");
				blanks = 0;
				print_piece(span_of(rest[i], shown));
			}
			blanks += widths[i].wide + GAP -
			    width_of(rest[i], shown);
			rest[i] += len;
			rest[i] += strspn(rest[i], " ");
			more = more || *rest[i] != '\0';
		}
		putchar('\n');
	}
	free(rest);
}

void
table_print(const struct table *table, size_t indent, size_t width)
{
	size_t n = table->n_columns;
	struct widths *widths = mem_zero(n * sizeof *widths);
	for (size_t i = 0; i < n && table->titles != NULL; i++)
		widen(&widths[i], table->titles[i]);
	for (size_t i = 0; i < table->n_rows * n; i++)
		widen(&widths[i % n], table->cells[i]);
	if (width > indent)
		fit(widths, n, width - indent);
	if (table->titles != NULL)
		print_row(table->titles, widths, n, indent);
	for (size_t i = 0; i < table->n_rows; i++)
		print_row((const char *const *)table->cells + i * n, widths,
		    n, indent);
	free(widths);
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
