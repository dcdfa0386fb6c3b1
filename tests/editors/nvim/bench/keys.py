"""keys.py NVIM LINES : presses keys in the composer of a chat into which an answer streams, in a terminal, and prints how long each took
until it was on the screen. A key is pressed when the last one is there."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = 150
PAUSE = 0.04
PATIENCE = 20.0
# Letters that nothing else on the screen has.
LETTERS = "αβγδεζηθικλμνξοπρστυφχψω"


class Screen:
    """A Neovim in a terminal of 150 columns."""

    def __init__(self, command: list[str], env: dict[str, str], folder: str) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 45, 150, 0, 0))
        self.seen = b""

    def read(self, seconds: float) -> bool:
        """Takes what is drawn, and answers what a terminal is asked."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self.fd, 1 << 16)
        except OSError:
            raise SystemExit("Neovim has ended: " + self.seen[-2000:].decode(errors="replace")) from None
        self.seen += part
        if b"\x1b[c" in part:
            os.write(self.fd, b"\x1b[?62;22c")
        if b"\x1b[6n" in part:
            os.write(self.fd, b"\x1b[1;1R")
        return True

    def until(self, look, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not look():
            if time.monotonic() > end:
                return False
            self.read(0.05)
        return True

    def rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.read(left)
        self.seen = b""

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def measure(nvim: str, lines: str, folder: str) -> None:
    ready = Path(folder, "ready")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "NVIM"))}
    env |= {"HOME": folder, "TERM": "xterm-256color", "COLORTERM": "truecolor", "BENCH_LINES": lines, "BENCH_READY": str(ready)}
    version = subprocess.run([nvim, "--version"], env=env, capture_output=True, text=True, check=True).stdout.split("\n")[0]
    screen = Screen([nvim, "-i", "NONE", "-u", "NONE", "-c", f"luafile {HERE / 'stream.lua'}"], env, folder)
    try:
        if not screen.until(ready.exists, 60):
            raise SystemExit("the chat was not there: " + re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", " ", screen.seen.decode(errors="replace"))[-2000:])
        screen.rest(1.0)
        took, lost = [], 0
        for i in range(KEYS):
            letter = LETTERS[i % len(LETTERS)].encode()
            begun = time.monotonic()
            os.write(screen.fd, letter)
            if screen.until(lambda: letter in screen.seen, PATIENCE):
                took.append((time.monotonic() - begun) * 1000)
            else:
                lost += 1
            if sum(took) > 60000:
                break
            screen.rest(PAUSE + i % 7 * 0.005)
    finally:
        screen.end()
    took.sort()
    at = lambda part: took[min(len(took) - 1, int(len(took) * part))]
    print(f"{version}, {ready.read_text().strip()} lines: key to screen p50 {at(0.5):.0f} ms, p90 {at(0.9):.0f} ms, p99 {at(0.99):.0f} ms"
          f" ({len(took)} keys{f', {lost} lost' if lost else ''})", flush=True)


def main() -> None:
    nvim, lines = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="countersign-bench.")
    try:
        measure(nvim, lines, folder)
    finally:
        # The server of the terminal's Neovim writes until its end.
        time.sleep(0.3)
        shutil.rmtree(folder, ignore_errors=True)


main()
