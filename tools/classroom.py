"""Let ten readers work on one JupyterHub at once, and print what each of them needs.

    python -m tools.classroom                             ten readers, in English
    ATTNBOOK_LANGUAGE=zh_CN python -m tools.classroom     in Chinese, after `tools.translate write`

The hub is the one that classes use, from PyPI, with its proxy from npm. It gets an environment of
its own, which also sees the packages of this one, and listens only to this computer. Each reader
has a home directory, opens a chapter through an nbgitpuller link, runs all its cells, and answers
an exercise incorrectly, then correctly. At the end, a teacher collects their progress. Nobody logs
in with a password, and the system limits no memory here, so this does not test a server's
settings.
"""

import asyncio
import contextlib
import json
import os
import shutil
import site
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import nbformat
from tornado.httpclient import AsyncHTTPClient, HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from attnbook.exercises.catalog import ALL
from attnbook.exercises.source import reader_source
from manuscript.cells import STUB
from manuscript.common import ROOT, UserError, counted, run_tool
from manuscript.edition import LANGUAGE, SOURCE
from manuscript.normal_form import text_of
from manuscript.readers_copy import for_readers
from tools.lock import versions

CHAPTER, EXERCISE = "03_single_head.ipynb", "03.scores"
HUB = "jupyterhub==6.1.1"  # the other packages of a class are pinned in binder/requirements.txt
PROXY = "configurable-http-proxy@5"
READERS = 10
PORT = 8765
PATIENCE = 900  # seconds, because ten servers start at once
SETTINGS = """\
c.JupyterHub.ip = "127.0.0.1"
c.JupyterHub.port = {port}
c.JupyterHub.hub_port = {port} + 1
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{port_of_proxy}"
c.ConfigurableHTTPProxy.auth_token = {token!r}
c.ConfigurableHTTPProxy.should_start = False  # the hub would wait for it for only ten seconds
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
c.Spawner.args = ["--allow-root"]
c.Spawner.http_timeout = c.Spawner.start_timeout = 900
c.Spawner.environment = {{"ATTNBOOK_LANGUAGE": {language!r}}}
c.Spawner.env_keep = ["PATH", "PYTHONPATH", "OMP_NUM_THREADS"]
c.JupyterHub.concurrent_spawn_limit = 0
c.JupyterHub.services = [{{"name": "class", "api_token": {token!r}}}]
c.JupyterHub.load_roles = [{{
    "name": "class", "services": ["class"],
    "scopes": ["admin:users", "admin:servers", "access:servers"],
}}]
"""


class Result(NamedTuple):
    """What happened to one reader: seconds, megabytes, and the errors of cells."""

    first_cell: float
    chapter: float
    kernel: float
    server: float
    errors: list[str]


def main() -> int:
    """Start a hub, let the readers work, end it, and print the figures and the report."""
    folder = ROOT / "_build" / "classroom"
    for name in ("homes", "hub", "handed-in", "launch"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    make_environment(folder)
    make_repository(folder / "launch")
    token = uuid.uuid4().hex
    with running(folder, token):
        results = asyncio.run(lesson(folder, token))
    print_figures(results)
    print(report(folder))
    return int(any(result.errors for result in results))


# --- the hub --------------------------------------------------------------------------------------


def packages_of_a_hub() -> list[str]:
    """The packages of a hub, as readers' servers have them."""
    pins = versions((ROOT / "binder" / "requirements.txt").read_text("utf-8"))
    return [HUB, *(f"{name}=={pins[name]}" for name in ("jupyterlab", "nbgitpuller"))]


def make_environment(folder: Path) -> None:
    """Install the hub and its proxy, unless they are there; the book's packages are shared."""
    venv, proxy = folder / "venv", folder / "node_modules"
    if not (venv / "bin" / "jupyterhub").exists():
        print("Installing JupyterHub, which takes a few minutes.", flush=True)
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, venv], check=True)
        python = venv / "bin" / "python"
        subprocess.run(
            [*uv, "pip", "install", "-q", "--python", python, *packages_of_a_hub()], check=True
        )
    (packages,) = venv.glob("lib/python*/site-packages")
    shared = [*site.getsitepackages(), str(ROOT / "src")]  # the book is installed from its folder
    (packages / "book.pth").write_text("\n".join(shared) + "\n")
    if not proxy.exists():
        npm = shutil.which("npm")
        if not npm:
            raise UserError("the hub's proxy needs npm; install Node.js")
        subprocess.run([npm, "install", "--silent", "--prefix", folder, PROXY], check=True)


@contextlib.contextmanager
def running(folder: Path, token: str) -> Iterator[None]:
    """Run the hub and its proxy during the block."""
    path = f"{folder / 'venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "CONFIGPROXY_AUTH_TOKEN": token}
    address = ["--ip", "127.0.0.1", "--port", str(PORT), "--api-port", str(PORT + 2)]
    commands: tuple[list[str | Path], ...] = (
        [folder / "node_modules" / ".bin" / "configurable-http-proxy", *address],
        [folder / "venv" / "bin" / "jupyterhub", "-f", write_settings(folder, token)],
    )
    with (folder / "hub" / "log.txt").open("w") as log:
        options: Any = {"stdout": log, "stderr": log, "env": environment, "cwd": folder / "hub"}
        processes = [subprocess.Popen(command, **options) for command in commands]
    try:
        yield
    finally:
        for process in reversed(processes):  # the hub also ends the readers' servers
            process.terminate()
            process.wait(PATIENCE)


def make_repository(folder: Path) -> None:
    """Write the chapter as readers get it into a git repository, like the branch `launch`."""
    notebook = nbformat.read(SOURCE / "book" / CHAPTER, as_version=4)
    for_readers(notebook)
    (folder / CHAPTER).write_text(text_of(notebook), encoding="utf-8")
    who = ["-c", "user.name=book", "-c", "user.email=book@localhost"]
    for command in (["init", "-qb", "launch"], ["add", "."], [*who, "commit", "-qm", "chapters"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def write_settings(folder: Path, token: str) -> Path:
    """Write the settings of the hub, and return their file."""
    file = folder / "hub" / "jupyterhub_config.py"
    text = SETTINGS.format(
        port=PORT,
        port_of_proxy=PORT + 2,
        homes=str(folder / "homes"),
        language=LANGUAGE,
        token=token,
    )
    file.write_text(text)
    return file


# --- the lesson -----------------------------------------------------------------------------------


async def lesson(folder: Path, token: str) -> list[Result]:
    """Wait for the hub, then let all readers work at once."""
    AsyncHTTPClient.configure(None, max_clients=4 * READERS)
    hub = Hub(token)
    await hub.wait_for("/hub/api/", lambda answer: "version" in answer)
    names = [f"reader{i:02}" for i in range(1, READERS + 1)]
    return list(await asyncio.gather(*(work(folder, hub, name) for name in names)))


async def work(folder: Path, hub: "Hub", name: str) -> Result:
    """One reader: start a server, open the chapter, run it, and answer the exercise twice."""
    start = time.monotonic()
    await hub.ask("POST", f"/hub/api/users/{name}")
    await hub.ask("POST", f"/hub/api/users/{name}/server")
    await hub.wait_for(f"/hub/api/users/{name}", lambda a: json.loads(a)["servers"][""]["ready"])
    repository = (folder / "launch").as_uri()
    link = f"/user/{name}/git-pull/api?repo={repository}&branch=launch&targetpath=book"
    await hub.ask("GET", link)
    file = folder / "homes" / name / "book" / CHAPTER
    body = {"path": f"book/{CHAPTER}", "name": CHAPTER, "type": "notebook"}
    answer = await hub.ask(
        "POST", f"/user/{name}/api/sessions", body | {"kernel": {"name": "python3"}}
    )
    kernel = Kernel(await hub.connect(f"/user/{name}/api/kernels", json.loads(answer)))
    errors, first = [], 0.0
    for cell in nbformat.read(file, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        for source in answers(cell.source) if cell.id == f"{STUB}scores" else [cell.source]:
            if error := await kernel.run(source):
                errors.append(f"{name}, cell {cell.id}: {error}")
        first = first or time.monotonic() - start
    chapter = time.monotonic() - start
    found = memory(folder / "homes" / name)
    await hub.ask("DELETE", f"/hub/api/users/{name}/server")
    return Result(first, chapter, *found, errors)


def answers(stub: str) -> list[str]:
    """A wrong answer and a right one, with the line of the stub that checks them."""
    exercise = ALL[EXERCISE]
    check = stub.rpartition("\n")[2]
    right = reader_source(exercise.reference)
    wrong = f"def {exercise.call}:\n    return query @ key.mT"
    return [f"import math\n\n{code}\n\n\n{check}" for code in (wrong, right)]


def memory(home: Path) -> tuple[float, float]:
    """The most that the reader's kernel and server have needed, in megabytes."""
    found = {"ipykernel": 0.0, "singleuser": 0.0}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"HOME={home}".encode() not in (process / "environ").read_bytes().split(b"\0"):
                continue
            command = (process / "cmdline").read_text(errors="replace")
            status = (process / "status").read_text()
        except OSError:  # it has ended
            continue
        for part in found:
            if part in command and "VmHWM" in status:
                kilobytes = int(status.partition("VmHWM:")[2].split()[0])
                found[part] = max(found[part], kilobytes / 1024)
    return found["ipykernel"], found["singleuser"]


class Hub:
    """The address of the hub and of the readers' servers, as a service of the hub sees them."""

    def __init__(self, token: str) -> None:
        self.headers = {"Authorization": f"token {token}"}

    async def ask(self, method: str, path: str, body: Any = None) -> str:
        """Send a request, and return the text of the answer."""
        request = HTTPRequest(
            f"http://127.0.0.1:{PORT}{path}",
            method,
            self.headers,
            json.dumps(body) if body else None,
            allow_nonstandard_methods=True,
            connect_timeout=PATIENCE,
            request_timeout=PATIENCE,
        )
        return (await AsyncHTTPClient().fetch(request)).body.decode()

    async def wait_for(self, path: str, holds: Callable[[str], bool]) -> None:
        """Ask again until the answer is the wanted one."""
        for _try in range(300):
            try:
                if holds(await self.ask("GET", path)):
                    return
            except (OSError, KeyError, HTTPClientError):  # it is still starting
                pass
            await asyncio.sleep(3)  # each answer costs the hub time
        raise UserError(f"{path} of the hub never gave the answer")

    async def connect(self, path: str, session: Any) -> WebSocketClientConnection:
        """Open the channels of a session's kernel."""
        address = f"ws://127.0.0.1:{PORT}{path}/{session['kernel']['id']}/channels"
        request = HTTPRequest(
            address, headers=self.headers, connect_timeout=PATIENCE, request_timeout=PATIENCE
        )
        return await websocket_connect(request)


class Kernel:
    """A kernel at the other end of a websocket."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket

    async def run(self, source: str) -> str:
        """Run a cell to its end; return the name and the text of its error, or ""."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
        content = {"code": source, "silent": False, "store_history": True, "allow_stdin": False}
        message = {
            "header": header | {"username": "", "session": header["msg_id"], "date": ""},
            "parent_header": {},
            "metadata": {},
            "content": content,
            "channel": "shell",
        }
        await self.socket.write_message(json.dumps(message))
        error = ""
        while True:
            text = await self.socket.read_message()
            if text is None:
                return "the connection to the kernel was closed"
            reply = json.loads(text)
            if reply["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            if reply["msg_type"] == "error":
                error = f"{reply['content']['ename']}: {reply['content']['evalue']}"
            if reply["msg_type"] == "status" and reply["content"]["execution_state"] == "idle":
                return error


# --- what came out --------------------------------------------------------------------------------


def print_figures(results: list[Result]) -> None:
    """Print the median and the largest number of each kind, and every error."""
    print(f"{counted(len(results), 'reader')} at once, {os.cpu_count()} processors")
    for name, unit in (
        ("first_cell", "s until the first cell has run"),
        ("chapter", "s until the chapter has run"),
        ("kernel", "MB for a kernel at its peak"),
        ("server", "MB for a server at its peak"),
    ):
        numbers = [getattr(result, name) for result in results]
        print(f"{median(numbers):7.0f}  to {max(numbers):5.0f} {unit}")
    errors = [error for result in results for error in result.errors]
    print("\n".join([f"{counted(len(errors), 'cell')} failed", *errors]))


def report(folder: Path) -> str:
    """Collect the readers' progress as a teacher does; return the tables of the chapter."""
    for home in (folder / "homes").iterdir():
        found = home / ".local" / "share" / "attnbook" / "progress.jsonl"
        if found.exists():
            shutil.copy(found, folder / "handed-in" / f"{home.name}.jsonl")
    handed_in = str(folder / "handed-in")
    command = [sys.executable, "-m", "attnbook", "report", handed_in, "--chapter", "3"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    run_tool(main)
