# SPDX-License-Identifier: BSD-2-Clause
#
# For the embed.awk of lua/ and page/: a line of a file as a line of a C
# string.  Licences stay behind.

function put(line) {
	if (line ~ /SPDX/)
		return
	gsub(/\\/, "&&", line)
	gsub(/"/, "\\\\&", line)
	printf "\t\"%s\\n\"\n", line
}
