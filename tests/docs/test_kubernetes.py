# SPDX-License-Identifier: BSD-2-Clause
"""contrib/kubernetes: a linter accepts it, its parts fit each other, and its
configuration is one that a gateway serves, with the probes that are named."""

import json
import os
import shutil
import subprocess

from once import http, tap
from once.demo import source
from once.gateway import command
from once.tap import Skip, equal, test

FILE = source("contrib/kubernetes/onceproxy.yaml")
LINES = "{extends: default, rules: {octal-values: disable, braces: enable}}"


def yamllint():
    """It comes with a reader of YAML for Debian's Python."""
    found = shutil.which("yamllint")
    if not found:
        raise Skip("there is no yamllint")
    return found


def manifests():
    """What is in the file, by kind and name."""
    yamllint()
    done = subprocess.run(
        ["/usr/bin/python3", "-c",
         "import json, sys, yaml\n"
         "print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))",
         FILE], capture_output=True, text=True, check=True)
    return {(m["kind"], m["metadata"]["name"]): m
            for m in json.loads(done.stdout)}


def parts():
    """The StatefulSet's pod, its container, and the configuration."""
    made = manifests()
    pod = made["StatefulSet", "onceproxy"]["spec"]["template"]["spec"]
    config = made["ConfigMap", "onceproxy"]["data"]["onceproxy.json"]
    return made, pod, pod["containers"][0], json.loads(config)


@test
def a_linter_accepts_it(bench):
    done = subprocess.run([yamllint(), "-s", "-d", LINES, FILE],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout), (0, ""))


@test
def its_parts_fit_each_other(bench):
    made, pod, container, config = parts()
    spec = made["StatefulSet", "onceproxy"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    for name in ("StatefulSet", "PodDisruptionBudget"):
        equal(made[name, "onceproxy"]["spec"]["selector"]["matchLabels"],
              labels)
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    for (kind, _), manifest in made.items():
        if kind == "Service":
            equal(manifest["spec"]["selector"], labels)
            assert all(p["targetPort"] in ports
                       for p in manifest["spec"]["ports"])
    assert ("Service", spec["serviceName"]) in made
    equal(ports, {"http": int(config["listen"][0].rsplit(":", 1)[1]),
                  "admin": int(config["admin"]["listen"].rsplit(":", 1)[1])})
    volumes = ({v["name"] for v in pod["volumes"]}
               | {v["metadata"]["name"] for v in spec["volumeClaimTemplates"]})
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    equal(set(mounts), volumes)
    equal(mounts["state"], config["state_dir"])


@test
def it_is_given_the_time_that_a_drain_takes(bench):
    _, pod, container, config = parts()
    sleep = container["lifecycle"]["preStop"]["exec"]["command"]
    equal(sleep[0], "sleep")
    drain = int(config["drain_timeout"].removesuffix("s"))
    assert (pod["terminationGracePeriodSeconds"]
            > int(sleep[1]) + drain), (sleep, drain)


@test
def its_image_is_of_this_version(bench):
    _, _, container, _ = parts()
    version = command("--version").stdout.split()[1]
    equal(container["image"], f"onceproxy:{version}")


@test
def a_gateway_serves_its_configuration(bench):
    """As the kubelet asks: by the pod's address, without a token."""
    made, pod, container, config = parts()
    secret = made["Secret", "onceproxy"]["stringData"]
    mount, = (m["mountPath"] for m in container["volumeMounts"]
              if m["name"] == "secrets")
    folder = bench.folder()
    for name, value in secret.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write(value)
    redis = bench.own_redis("--requirepass", secret["redis-password"])
    upstream = bench.upstream()
    text = json.dumps(config).replace(mount, folder)
    for name in secret:
        assert os.path.join(folder, name) in text, f"nobody reads {name}"
    for old, new in (("0.0.0.0:8080", "127.0.0.1:0"),
                     ("0.0.0.0:9090", "127.0.0.1:0"),
                     ("redis://redis:6379/0", redis.url),
                     ("http://payments:9000", upstream.url),
                     ("/var/lib/onceproxy", folder)):
        assert old in text, old
        text = text.replace(old, new)
    gateway = bench.serve(json.loads(text))
    for name in ("readinessProbe", "livenessProbe"):
        path = container[name]["httpGet"]["path"]
        got = http.ask(gateway.ready["admin"],
                       http.build("GET", path, host="10.1.2.3:9090"))
        equal((name, got.status), (name, 200))
    equal(gateway.ask("k").status, 201)


tap.main()
