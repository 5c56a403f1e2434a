# SPDX-License-Identifier: BSD-2-Clause
#
# Fills a manual page in:
#     awk -v gen=src/gen -v version=V -v datadir=D -v sysconfdir=S \
#         -f fill.awk PAGE.in
# A line "@NAME WORD...@" stands for what "gen NAME WORD..." prints, @VERSION@
# for V, @DATADIR@ for D, @SYSCONFDIR@ for S.

# Text of at most 78 characters to a line; no line may begin like a macro.
function put(text,    at) {
	while (length(text) > 78 && text !~ /^\./) {
		for (at = 79; at > 1; at--)
			if (substr(text, at, 2) ~ /^ [^.']/)
				break
		if (at == 1)
			break
		print substr(text, 1, at - 1)
		text = substr(text, at + 1)
	}
	print text
}

/^@[a-z][a-z_. ]*@$/ {
	command = gen " " substr($0, 2, length($0) - 2)
	while ((got = (command | getline line)) > 0)
		put(line)
	if (got < 0 || close(command) != 0)
		exit 1
	next
}

{
	gsub(/@VERSION@/, version)
	gsub(/@DATADIR@/, datadir)
	gsub(/@SYSCONFDIR@/, sysconfdir)
	print
}
