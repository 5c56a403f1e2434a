#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# Holds the configuration's schema, its sample and the program together.
# Runs in the build folder; srcdir says where the sources are.

srcdir=${srcdir:-.}
schema=$srcdir/etc/onceproxy.schema.json
sample=$srcdir/etc/onceproxy.json
python=${PYTHON3:-python3}
made=$(mktemp) || exit 99
trap 'rm -f "$made"' EXIT

echo 1..3

# ok NUMBER NAME STATUS
ok() {
	[ "$3" -eq 0 ] || printf 'not '
	echo "ok $1 - $2"
}

src/gen schema >"$made" &&
	diff -u "$schema" "$made" | sed 's/^/# /' >&2
cmp -s "$schema" "$made"
ok 1 "the schema is what gen prints (else: make update-schema)" $?

said=$(src/onceproxy check -c "$sample")
[ "$said" = "$sample: ok" ]
status=$?
[ $status -eq 0 ] || echo "# $said"
ok 2 "the program accepts the sample" $status

name="the schema accepts the sample"
if "$python" -c 'import jsonschema' 2>/dev/null; then
	"$python" - "$schema" "$sample" <<'END'
import json
import re
import sys

import jsonschema

# No text of it has a blank before two slashes.
schema, sample = (
    json.loads(re.sub("(^| ) *// .*", "", open(name).read(), flags=re.M))
    for name in sys.argv[1:])
jsonschema.Draft202012Validator.check_schema(schema)
jsonschema.Draft202012Validator(schema).validate(sample)
END
	ok 3 "$name" $?
else
	echo "ok 3 - $name # SKIP no python3 with jsonschema"
fi
