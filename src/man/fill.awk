# SPDX-License-Identifier: BSD-2-Clause
#
# Fills a manual page in:
#     awk -v gen=src/gen -v version=V -v datadir=D -f fill.awk PAGE.in
# A line "@NAME@" stands for what "gen NAME" prints, @VERSION@ for V, @DATADIR@
# for D.

/^@[a-z]+@$/ {
	command = gen " " substr($0, 2, length($0) - 2)
	while ((got = (command | getline line)) > 0)
		print line
	if (got < 0 || close(command) != 0)
		exit 1
	next
}

{
	gsub(/@VERSION@/, version)
	gsub(/@DATADIR@/, datadir)
	print
}
