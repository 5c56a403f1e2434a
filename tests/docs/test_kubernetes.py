# SPDX-License-Identifier: BSD-2-Clause
"""contrib/kubernetes: a linter accepts it, it has what it must have, and its
configuration is one that a gateway serves, with the probes that are named."""

import base64
import binascii
import json
import os
import re
import shutil
import subprocess

from once import http, tap
from once.demo import sample, source
from once.gateway import command
from once.tap import Skip, each, equal, test

FILE = source("contrib/kubernetes/onceproxy.yaml")
LINES = "{extends: default, rules: {octal-values: disable, braces: enable}}"


def yamllint():
    """It comes with a reader of YAML for Debian's Python."""
    found = shutil.which("yamllint")
    if not found:
        raise Skip("there is no yamllint")
    return found


def manifests(path=FILE):
    """What is in the file, by kind and name."""
    yamllint()
    done = subprocess.run(
        ["/usr/bin/python3", "-c",
         "import json, sys, yaml\n"
         "print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))",
         path], capture_output=True, text=True, check=True)
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


# --- what it must have ------------------------------------------------------

# Members that there are, of what is used here: kubectl refuses others, but no
# program of Debian knows them.
MEMBERS = {
    "": {"apiVersion", "kind", "metadata", "spec", "data", "type"},
    "metadata": {"name", "labels"},
    "Service.spec": {"selector", "ports", "clusterIP",
                     "publishNotReadyAddresses"},
    "Service.spec.ports": {"name", "port", "targetPort"},
    "PodDisruptionBudget.spec": {"maxUnavailable", "selector"},
    "StatefulSet.spec": {"serviceName", "replicas", "podManagementPolicy",
                         "selector", "template", "volumeClaimTemplates"},
    "StatefulSet.spec.template.spec": {
        "terminationGracePeriodSeconds", "automountServiceAccountToken",
        "securityContext", "topologySpreadConstraints", "containers",
        "volumes"},
    "StatefulSet.spec.template.spec.containers": {
        "name", "image", "ports", "readinessProbe", "livenessProbe",
        "lifecycle", "resources", "securityContext", "volumeMounts"},
    "StatefulSet.spec.template.spec.containers.readinessProbe": {
        "httpGet", "periodSeconds", "failureThreshold", "timeoutSeconds",
        "initialDelaySeconds"},
    "StatefulSet.spec.template.spec.containers.livenessProbe": {
        "httpGet", "periodSeconds", "failureThreshold", "timeoutSeconds",
        "initialDelaySeconds"},
    "StatefulSet.spec.template.spec.containers.volumeMounts": {
        "name", "mountPath", "subPath", "readOnly"},
    "StatefulSet.spec.template.spec.volumes": {"name", "configMap", "secret"},
}
KINDS = {"ConfigMap": "v1", "Secret": "v1", "Service": "v1",
         "StatefulSet": "apps/v1", "PodDisruptionBudget": "policy/v1"}
PATHS = {"readinessProbe": "/readyz", "livenessProbe": "/healthz"}


def strangers(kind, value, path=""):
    """Members of a manifest that there are not."""
    for one in value if isinstance(value, list) else [value]:
        known = MEMBERS.get(path, MEMBERS.get(f"{kind}.{path}"))
        for name in one if isinstance(one, dict) else ():
            if known is not None and name not in known:
                yield f"{kind}: {path}: no member is called {name}"
            yield from strangers(kind, one[name], f"{path}.{name}".strip("."))


def number_of_port(address):
    return int(address.rsplit(":", 1)[1])


def faults_of_names(made, pod, container):
    """What is named and is not there."""
    spec = made["StatefulSet", "onceproxy"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    for (kind, name), one in made.items():
        selector = one.get("spec", {}).get("selector")
        if selector is not None and selector.get(
                "matchLabels", selector) != labels:
            yield f"{kind} {name} selects other pods"
    if ("Service", spec["serviceName"]) not in made:
        yield f"there is no Service {spec['serviceName']}"
    if made["Service", spec["serviceName"]]["spec"].get(
            "clusterIP") != "None":
        yield "the Service of the StatefulSet has an address of its own"
    volumes = {v["name"]: v for v in pod["volumes"]}
    claims = {v["metadata"]["name"] for v in spec["volumeClaimTemplates"]}
    mounts = {m["name"]: m for m in container["volumeMounts"]}
    if set(mounts) != set(volumes) | claims:
        yield f"mounts {set(mounts)}, volumes {set(volumes) | claims}"
    for name, volume in volumes.items():
        kind, at = (("ConfigMap", volume["configMap"].get("name"))
                    if "configMap" in volume else
                    ("Secret", volume["secret"].get("secretName")))
        if (kind, at) not in made:
            yield f"there is no {kind} {at}"
        elif kind == "ConfigMap" and mounts[name].get(
                "subPath") not in made[kind, at]["data"]:
            yield f"the ConfigMap has no {mounts[name].get('subPath')}"


def faults_of_ports(made, container, config):
    """Who asks where nobody listens."""
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    if ports != {"http": number_of_port(config["listen"][0]),
                 "admin": number_of_port(config["admin"]["listen"])}:
        yield f"the configuration listens elsewhere than {ports}"
    for (kind, name), one in made.items():
        for port in one["spec"]["ports"] if kind == "Service" else ():
            if port["targetPort"] not in ports:
                yield f"{name} leads to no port: {port['targetPort']}"
    for name, path in PATHS.items():
        asks = container.get(name, {}).get("httpGet", {})
        if (asks.get("path"), asks.get("port")) != (path, "admin"):
            yield f"{name} asks {asks}"
    for address in (config["listen"][0], config["admin"]["listen"]):
        if not address.startswith("0.0.0.0:"):
            yield f"the kubelet does not reach {address}"


def faults_of_files(made, container, config):
    """What the configuration reads, and where it writes."""
    mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
    secret = made["Secret", "onceproxy"]["data"]
    named = re.findall(r'"file": "([^"]*)"', json.dumps(config))
    if set(named) != {os.path.join(mounts["secrets"], one)
                      for one in secret}:
        yield f"the configuration reads {named}"
    if mounts["state"] != config["state_dir"]:
        yield "its state is on no volume"
    if mounts["config"] != "/etc/onceproxy/onceproxy.json":
        yield f"the image reads no {mounts['config']}"


def faults_of_secrets(made):
    """What everybody knows, and a cluster would take: a Secret's data that is
    no base64 is refused by every API server."""
    for name, value in made["Secret", "onceproxy"].get("data", {}).items():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            continue
        yield f"the sample of {name} would be applied"


def faults_of_ends(pod, container, config):
    """Whether it is killed while it drains."""
    sleep = container["lifecycle"]["preStop"]["exec"]["command"]
    drain = int(config["drain_timeout"].removesuffix("s"))
    if sleep[0] != "sleep" or not (
            pod["terminationGracePeriodSeconds"] > int(sleep[1]) + drain):
        yield f"it sleeps {sleep} and drains {drain}"


def faults(made):
    """All that is wrong with manifests, as sentences."""
    pod = made["StatefulSet", "onceproxy"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    config = json.loads(made["ConfigMap", "onceproxy"]["data"][
        "onceproxy.json"])
    for (kind, name), one in made.items():
        if KINDS.get(kind) != one["apiVersion"]:
            yield f"{name}: no {kind} is of {one['apiVersion']}"
        yield from strangers(kind, one)
    yield from faults_of_names(made, pod, container)
    yield from faults_of_ports(made, container, config)
    yield from faults_of_files(made, container, config)
    yield from faults_of_secrets(made)
    yield from faults_of_ends(pod, container, config)
    image, _, tag = container["image"].rpartition(":")
    if not image or tag == "latest":
        yield f"nobody knows which version {container['image']} is"
    spare = made["PodDisruptionBudget", "onceproxy"]["spec"]
    if spare["maxUnavailable"] >= made[
            "StatefulSet", "onceproxy"]["spec"]["replicas"]:
        yield "all may be away at once"


@test
def it_has_what_it_must_have(bench):
    equal(list(faults(manifests())), [])


@each([
    ("a probe's path", "path: /readyz", "path: /ready"),
    ("a probe's port", "{path: /healthz, port: admin}",
     "{path: /healthz, port: http}"),
    ("a port of its own", "containerPort: 8080", "containerPort: 80"),
    ("a service's port", "targetPort: admin", "targetPort: metrics"),
    ("a label", "      labels: {app: onceproxy}\n    spec:",
     "      labels: {app: once}\n    spec:"),
    ("a service's name", "serviceName: onceproxy-each",
     "serviceName: onceproxy"),
    ("a secret's name", "secretName: onceproxy", "secretName: other"),
    ("a configuration's name", "configMap: {name: onceproxy}",
     "configMap: {name: other}"),
    ("a file's name", "subPath: onceproxy.json", "subPath: config.json"),
    ("a secret file's name", "  admin-token: ", "  token: "),
    ("a secret that everybody knows",
     '"<base64 of the password of Redis>"', "Y2hhbmdlLW1l"),
    ("a volume", "mountPath: /var/lib/onceproxy", "mountPath: /var/lib/once"),
    ("too little time", "terminationGracePeriodSeconds: 45",
     "terminationGracePeriodSeconds: 35"),
    ("a longer drain", '"drain_timeout": "30s"', '"drain_timeout": "60s"'),
    ("an address of its own alone", '"listen": "0.0.0.0:9090"',
     '"listen": "127.0.0.1:9090"'),
    ("the latest image", "image: onceproxy:0.2.0", "image: onceproxy:latest"),
    ("any image", "image: onceproxy:0.2.0", "image: onceproxy"),
    ("a misspelled member", "terminationGracePeriodSeconds: 45",
     "terminationGracePeriodSeconds: 45\n      restartPolicies: Always"),
    ("an old kind", "policy/v1", "policy/v1beta1"),
    ("no budget", "maxUnavailable: 1", "maxUnavailable: 2"),
])
def what_is_wrong_is_found(bench, old, new):
    with open(FILE, encoding="utf-8") as file:
        text = file.read()
    assert old in text, old
    found = list(faults(manifests(bench.file(
        text.replace(old, new).encode(), "wrong.yaml"))))
    assert found, f"{old} may be {new}"


@test
def its_configuration_is_the_example(bench):
    equal(parts()[3], sample("etc/examples/kubernetes.json"))


@test
def its_image_is_of_this_version(bench):
    _, _, container, _ = parts()
    version = command("--version").stdout.split()[1]
    equal(container["image"], f"onceproxy:{version}")


@test
def a_gateway_serves_its_configuration(bench):
    """As the kubelet asks: by the pod's address, without a token."""
    made, pod, container, config = parts()
    secret = {name: f"of {name}".replace(" ", "-")
              for name in made["Secret", "onceproxy"]["data"]}
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
