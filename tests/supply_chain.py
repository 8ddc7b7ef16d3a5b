#!/usr/bin/env python3
"""Checks what the packages of Cargo.lock bring along: known advisories, and scripts that run while they are built.

usage: tests/supply_chain.py METADATA            check
       tests/supply_chain.py --look-up DATABASE METADATA   write both lists anew

METADATA is what 'cargo metadata --format-version 1 --locked' prints, DATABASE a clone of the RustSec advisory
database. The lists are beside the other fixtures of the tests:

advisories.txt     each locked package by name, with the advisories that are known of it. A package that is not on
                   the list has not been looked up. Advisories that only tell of an unmaintained package are left out.
build-scripts.txt  each package with a build script, and the digest of its text. A script that is not on the list
                   has to be read: it may run anything on the machine that builds.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
ADVISORIES = FIXTURES / "advisories.txt"
SCRIPTS = FIXTURES / "build-scripts.txt"

# What a script would need to fetch something.
NETWORK = re.compile(
    r"https?://[^\s\"']*\.(?:tar|tgz|zip|gz|xz|so|a|lib|dll)\b|TcpStream|UdpSocket|std::net"
    r"|\b(?:ureq|reqwest|hyper|curl|attohttpc|minreq)::"
    r"|Command::new\(\s*\"(?:curl|wget|ssh|powershell|python3?|npm)\""
    r"|Command::new\(\s*\"git\"\s*\)[^;]*\"(?:clone|fetch|pull|submodule)\"",
)


def version(text):
    """Orders versions: a pre-release comes before the release."""
    core, _, pre = text.split("+")[0].partition("-")
    numbers = [int(number) for number in core.split(".")]
    return numbers + [0] * (3 - len(numbers)), pre == "", pre


def fits(requirement, found):
    """Tells whether a version meets all parts of a requirement, as Cargo reads it."""
    for part in requirement.split(","):
        operator, wanted = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~)?\s*(\S+)\s*", part).groups()
        have, bound = version(found), version(wanted)
        numbers = bound[0]
        at = 1 if operator == "~" else next((at for at, number in enumerate(numbers) if number), 2)
        below = numbers[:at] + [numbers[at] + 1] + [0] * (2 - at)
        meets = {
            ">=": have >= bound,
            "<=": have <= bound,
            ">": have > bound,
            "<": have < bound,
            "=": have == bound,
        }.get(operator, have >= bound and have[0] < below)
        if not meets:
            return False
    return True


def build_scripts(packages):
    """Returns the build script of each package, with all Rust files beside it that it may be made of."""
    found = {}
    for package in packages:
        for target in package["targets"]:
            if package["source"] and "custom-build" in target["kind"]:
                script = pathlib.Path(target["src_path"])
                root = pathlib.Path(package["manifest_path"]).parent
                files = {script}
                if script.parent != root and script.parent.name != "src":
                    files.update(script.parent.rglob("*.rs"))
                files.update((root / "build").rglob("*.rs"))
                found[package["name"], package["version"]] = sorted(files)
    return found


def digest(files):
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.read_bytes())
    return whole.hexdigest()[:16]


def lines_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def check_advisories(packages):
    known = {name: advisories for name, *advisories in lines_of(ADVISORIES)}
    for package in packages:
        name, found = package["name"], package["version"]
        if name not in known:
            yield f"{name} {found}: nobody has looked for advisories of it"
        for advisory in known.get(name, []):
            number, *safe = advisory.split(" ")
            if not any(fits(requirement, found) for requirement in safe):
                yield f"{name} {found}: {number}"


def check_scripts(packages):
    known = {tuple(line) for line in lines_of(SCRIPTS)}
    for (name, found), files in build_scripts(packages).items():
        for file in files:
            match = NETWORK.search(file.read_text(encoding="utf-8", errors="replace"))
            if match:
                yield f"{name} {found}: {file.name} may use the network: {match.group()}"
        if (name, digest(files)) not in known:
            yield f"{name} {found}: its build script has to be read; then '{name}<TAB>{digest(files)}' goes into {SCRIPTS.name}"


def look_up(database, packages):
    import tomllib

    def git(*args):
        return subprocess.run(["git", "-C", database, *args], check=True, capture_output=True, text=True).stdout

    names = sorted({package["name"] for package in packages})
    known = {name: [] for name in names}
    for path in git("ls-tree", "-r", "--name-only", "HEAD", "crates").split():
        name = path.split("/")[1]
        if name not in known or not path.endswith(".md"):
            continue
        text = re.search(r"```toml\n(.*?)```", git("show", f"HEAD:{path}"), re.DOTALL).group(1)
        entry = tomllib.loads(text)
        advisory, versions = entry["advisory"], entry.get("versions", {})
        if advisory.get("withdrawn") or advisory.get("informational") in ("unmaintained", "notice"):
            continue
        safe = versions.get("patched", []) + versions.get("unaffected", [])
        safe = [requirement.replace(" ", "") for requirement in safe]
        known[name].append(" ".join([advisory["id"], *sorted(safe)]))
    head = git("log", "-1", "--format=%h of %cs").strip()
    text = [f"# Written by tests/supply_chain.py --look-up, from the RustSec advisory database at {head}."]
    text += ["\t".join([name, *sorted(known[name])]) for name in names]
    ADVISORIES.write_text("\n".join(text) + "\n", encoding="utf-8")
    text = ["# Written by tests/supply_chain.py --look-up: whoever runs that has read what is new here."]
    text += sorted({f"{name}\t{digest(files)}" for (name, _), files in build_scripts(packages).items()})
    SCRIPTS.write_text("\n".join(text) + "\n", encoding="utf-8")


def main(args):
    database = args[1] if args[:1] == ["--look-up"] and len(args) == 3 else None
    if len(args) != 1 and database is None:
        sys.exit(__doc__)
    with open(args[-1], encoding="utf-8") as file:
        packages = [package for package in json.load(file)["packages"] if package["source"]]
    if database is not None:
        look_up(database, packages)
    problems = [*check_advisories(packages), *check_scripts(packages)]
    if problems:
        sys.exit("packages that need a look:\n  " + "\n  ".join(sorted(problems)))


main(sys.argv[1:])
