# SPDX-License-Identifier: BSD-2-Clause
#
# Makes a C string of the page:
#
#     awk -v dir=DIR -f ../quote.awk -f embed.awk page.html
#
# A line "@X@" stands for the file DIR/X; indentation stays behind.

function put_bare(line) {
	sub(/^[\t ]+/, "", line)
	if (line != "")
		put(line)
}

BEGIN {
	print "/* Made from src/operators/admin/page/ by make. */"
	print "#include \"operators/admin/admin_page.h\""
	print "\nconst char admin_page_text[] ="
}

/^@.*@$/ {
	name = dir "/" substr($0, 2, length($0) - 2)
	while ((got = (getline line < name)) > 0)
		put_bare(line)
	if (got < 0)
		exit failed = 1
	close(name)
	next
}

{ put_bare($0) }

END {
	if (failed)
		exit 1
	print ";"
}
