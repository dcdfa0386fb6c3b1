"""What takes longer than others: tests/long.md, a table of names, seconds and reasons."""

import fnmatch
from dataclasses import dataclass
from pathlib import Path

# Of what is in no row.
EXPECTED, LIMIT = 1.0, 60.0


@dataclass
class Row:
    pattern: str
    expected: float
    limit: float


class Long:
    def __init__(self, page: Path):
        self.rows = [row for row in map(parse, page.read_text().splitlines()) if row]

    def of(self, name: str) -> Row:
        """The first row that fits a name."""
        fitting = (row for row in self.rows if fnmatch.fnmatchcase(name, row.pattern))
        return next(fitting, Row(name, EXPECTED, LIMIT))

    def has(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, row.pattern) for row in self.rows)


def parse(line: str) -> Row | None:
    # The reason is any text.
    cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|", 3)]
    if len(cells) != 4 or not cells[1].isdigit() or not cells[2].isdigit():
        return None
    return Row(cells[0].strip("`"), float(cells[1]), float(cells[2]))
