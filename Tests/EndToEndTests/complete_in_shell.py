"""Types unfinished commands into an interactive shell, presses Tab, and prints the completed lines.

    complete_in_shell.py SHELL COMPLETIONS LINE...

SHELL is bash, zsh or fish; COMPLETIONS is the folder of the completion scripts. Tab is pressed once, so there must be
one candidate. Each line is printed as the shell would pass it to a program, one word per line, with an empty line at
the end.
"""

import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

PATIENCE = 60  # seconds, for all lines together

shell, folder, *lines = sys.argv[1:]
command, setup = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        f". /usr/share/bash-completion/bash_completion; . {folder}/issuectl.bash",
    ),
    "zsh": (["zsh", "-f", "-i"], f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u"),
    "fish": (["fish", "--no-config", "--interactive"], f"source {folder}/issuectl.fish"),
}[shell]

process, terminal = pty.fork()
if process == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 500, 0, 0))

screen = b""
deadline = time.monotonic() + PATIENCE


def output_until(mark, start):
    """Returns the screen's text after `start` up to the mark, and where the mark ends."""
    global screen
    while (end := screen.find(mark, start)) < 0:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            sys.exit(f"{shell} did not print {mark}; the screen is\n{screen.decode(errors='replace')}")
        screen += os.read(terminal, 65536)
    return screen[start:end].decode(), end + len(mark)


def enter(text):
    os.write(terminal, text.encode())


# The quotation marks keep the typed commands from looking like their output.
enter(f"{setup}\r")
enter("printf 'RE''ADY\\n'\r")
_, position = output_until(b"READY\r\n", 0)
for line in lines:
    # Control-A moves to the start of the line, whose words then become arguments of printf.
    enter(f"{line}\t\x01printf '%s\\n' 'BE''GIN' \x05 'E''ND'\r")
    _, position = output_until(b"BEGIN\r\n", position)
    text, position = output_until(b"END\r\n", position)
    print(text.replace("\r\n", "\n"))
enter("exit\r")
os.close(terminal)
os.waitpid(process, 0)
