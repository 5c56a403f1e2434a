# SPDX-License-Identifier: BSD-2-Clause
#
# Makes C strings of Lua scripts: awk -f embed.awk -v dir=DIR A.lua B.lua …
# A line "-- include X" stands for the file DIR/X; licences stay behind.

function put(line) {
	if (line ~ /SPDX/)
		return
	gsub(/\\/, "&&", line)
	gsub(/"/, "\\\\&", line)
	printf "\t\"%s\\n\"\n", line
}

BEGIN {
	print "/* Made from src/lua/ by make. */"
	print "#include \"store/script.h\""
}

FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.lua$/, "", name)
	printf "%s\nconst char script_%s[] =\n", opened ? ";" : "", name
	opened = 1
}

/^-- include / {
	while ((got = (getline line < (dir "/" $3))) > 0)
		put(line)
	if (got < 0)
		exit failed = 1
	close(dir "/" $3)
	next
}

{ put($0) }

END {
	if (failed)
		exit 1
	print ";"
}
