#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# html.sh STYLE FOLDER PAGE...: the manual pages as HTML in FOLDER, each with a
# table of contents and links to the others, and an index.html that lists them.
# Pages of other programs are Debian's on the web.
set -eu

command -v mandoc >/dev/null || {
	echo "html.sh: there is no mandoc, which makes HTML of the manual" \
		"(Debian: apt-get install mandoc)" >&2
	exit 1
}
style=$1 folder=$2
nav='<nav><a href="index.html">onceproxy</a></nav>'
# Names of ours begin with an o, those of others do not.
other='Xr" href="\([^o"][^"]*\)\.html'
debian='Xr" href="https://manpages.debian.org/\1'
shift 2
rm -rf "$folder"
mkdir -p "$folder"
cp "$style" "$folder/style.css"

for page; do
	mandoc -T html -O toc,style=style.css,man=%N.%S.html "$page" |
		sed -e "s|^<body>|&$nav|" -e "s|$other|$debian|g" \
		>"$folder/${page##*/}.html"
done

{
	cat <<-'END'
		<!DOCTYPE html>
		<html lang="en">
		<head>
		<meta charset="utf-8">
		<meta name="viewport" content="width=device-width">
		<link rel="stylesheet" href="style.css">
		<title>onceproxy</title>
		</head>
		<body>
		<h1>onceproxy</h1>
		<dl>
	END
	for page; do
		name=${page##*/}
		printf '<dt><a href="%s.html">%s(%s)</a></dt>\n<dd>%s</dd>\n' \
			"$name" "${name%.*}" "${name##*.}" \
			"$(sed -n 's/\\-/-/g; s/^\.Nd //p' "$page")"
	done
	printf '</dl>\n</body>\n</html>\n'
} >"$folder/index.html"
