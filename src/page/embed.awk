# SPDX-License-Identifier: BSD-2-Clause
#
# Makes a C string of the page: awk -f embed.awk -v dir=DIR page.html.  A line
# "@X@" stands for the file DIR/X; licences and indentation stay behind.

function put(line) {
	if (line ~ /SPDX/)
		return
	sub(/^[\t ]+/, "", line)
	if (line == "")
		return
	gsub(/\\/, "&&", line)
	gsub(/"/, "\\\\&", line)
	printf "\t\"%s\\n\"\n", line
}

BEGIN {
	print "/* Made from src/page/ by make. */"
	print "#include \"gate/asked.h\""
	print "\nconst char admin_page_text[] ="
}

/^@.*@$/ {
	name = dir "/" substr($0, 2, length($0) - 2)
	while ((got = (getline line < name)) > 0)
		put(line)
	if (got < 0)
		exit failed = 1
	close(name)
	next
}

{ put($0) }

END {
	if (failed)
		exit 1
	print ";"
}
