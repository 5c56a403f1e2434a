# SPDX-License-Identifier: BSD-2-Clause
#
# Makes C strings of Lua scripts:
#
#     awk -v dir=DIR -f ../quote.awk -f embed.awk A.lua B.lua ...
#
# A line "-- include X" stands for the file DIR/X, which may have such lines too.

BEGIN {
	print "/* Made from src/store/record/lua/ by make. */"
	print "#include \"store/record/script.h\""
}

FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.lua$/, "", name)
	printf "%s\nconst char script_%s[] =\n", opened ? ";" : "", name
	opened = 1
}

function include(name,    line, got) {
	while ((got = (getline line < (dir "/" name))) > 0)
		copy(line)
	if (got < 0)
		exit failed = 1
	close(dir "/" name)
}

function copy(line) {
	if (sub(/^\t*-- include /, "", line))
		include(line)
	else
		put(line)
}

{ copy($0) }

END {
	if (failed)
		exit 1
	print ";"
}
