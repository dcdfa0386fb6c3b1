"""The journeys in real editors: each scene is a job, played by tests/editors/play."""

import json
import re
from pathlib import Path

from editors import needs
from long import Long
from pool import Job, Pool, Result

JOURNEYS = "nvim-current nvim-older nvim-plugin-current nvim-plugin-older helix emacs vscode vscode-chat vscode-no-server".split()
PART = "journeys"


class Unknown(Exception):
    """What was asked for is no journey or no scene."""


def chosen(root: Path, wanted: list[str]) -> list[tuple[str, str]]:
    """The scenes of `JOURNEY`, `JOURNEY:SCENE` or `:SCENE`; all where nothing is named."""
    folder = root / "tests/editors/scenes"
    scenes = sorted(entry.name for entry in folder.iterdir())
    found = []
    for text in wanted or JOURNEYS:
        one, _, scene = text.partition(":")
        if one and one not in JOURNEYS:
            raise Unknown(f"there is no journey '{one}'; there are: {' '.join(JOURNEYS)}")
        if scene and scene not in [*scenes, "start"]:
            raise Unknown(f"there is no scene '{scene}'; there are: {' '.join(scenes)}")
        for journey in [one] if one else JOURNEYS:
            if journey == "vscode-no-server":
                found += [(journey, "start")] if scene in ("", "start") else []
                continue
            found += [(journey, each) for each in ([scene] if scene else scenes) if each != "start" and plays(folder / each, journey)]
    # Asked for twice, played once.
    return list(dict.fromkeys(found))


def plays(scene: Path, journey: str) -> bool:
    """Some scenes are not for all editors, and `vscode-chat` plays only those that name it."""
    named = scene / "journeys"
    if named.exists():
        return journey in named.read_text().split()
    return journey != "vscode-chat"


def editor(journey: str) -> str:
    """The part of the set-up that a journey needs."""
    return journey.split("-")[0]


def add(root: Path, pool: Pool, long: Long, server: Path, scenes: list[tuple[str, str]], is_set_up: bool = False) -> None:
    for journey, scene in scenes:
        name = f"{journey}:{scene}"
        row = long.of(name)
        in_vscode = journey.startswith("vscode")
        pool.add(Job(
            name=name,
            part=PART,
            command=[str(root / "tests/editors/play"), journey, scene],
            judge=judge,
            alone=f"tests/editors/run {name}  (what it saw: target/editors/{journey}/{scene})",
            limit=row.limit,
            expected=row.expected,
            # A browser and the editor's own server.
            slots=2 if in_vscode else 1,
            after=frozenset({"server", *(() if is_set_up else [needs(editor(journey))]), *(["extension"] if in_vscode else ())}),
            cwd=root,
            env={"COUNTERSIGN_BIN": str(server), "JOURNEY_VSIX": str(vsix(root)), "JOURNEY_EXTENSIONS": str(installed(root))},
            prints="all",
        ))


def vsix(root: Path) -> Path:
    """The extension as it is published."""
    version = json.loads((root / "editors/vscode/package.json").read_text())["version"]
    return root / f"editors/vscode/countersign-{version}.vsix"


def installed(root: Path) -> Path:
    """Where it is installed once for all scenes."""
    return root / "target/editors/extensions"


def judge(job: Job, status: int | None, text: str) -> list[Result]:
    passed, failed = (len(re.findall(rf"^{word} ", text, re.M)) for word in ("ok", "FAIL"))
    if status is None:
        lines = [f"it was stopped after {job.limit:.0f} s", *text.splitlines()[-12:]]
    else:
        lines = failures(text) or [f"it ended with status {status}", *text.splitlines()[-12:]]
    good = status == 0 and failed == 0 and passed > 0
    reason = "" if good else "\n".join(lines)
    return [Result(job.name, good, reason, checks=(passed, failed))]


def failures(text: str) -> list[str]:
    """The checks that failed, with what they said."""
    lines, taking = [], False
    for line in text.splitlines():
        if re.match(r"(ok|FAIL|==) |\d+ passed, ", line):
            taking = line.startswith("FAIL ")
        if taking:
            lines.append(line[:400])
    return lines[:15]
