"""The scripted model: an HTTP server on the loopback that answers a client as a model would, by a script.

A script is a generator. It yields a `Step`, which is a call of one of our tools, and is sent the `Step` back once the
client has returned the call's result. The model takes care of how a client lets a model call a tool.
"""
import dataclasses
import gzip
import http.server
import json
import re
import threading
import time

from clients import NAME
from dialects import DIALECTS, Act
from texts import all_texts

ASIDE = {"reasoning": "none", "next_speaker": "user", "model_choice": "flash", "complexity_score": 1,
         "complexity_reasoning": "none"}
SEARCH_TOOLS = ("ToolSearch", "tool_search")
MAX_SEARCHES = 2


@dataclasses.dataclass
class Step:
    """A call of one of our tools, and what became of it. Without arguments the model only looks at the tool."""
    tool: str
    arguments: dict = None
    called: float = 0
    returned: float = 0
    called_as: str = ""
    searches: int = 0
    result: object = None

    @property
    def texts(self):
        """Every text in the result that the model received."""
        return all_texts(self.result)


def offered(asked, tool):
    """The tool of a request that stands for our tool; clients put the name of the server before it, if anything."""
    ours = re.compile(rf"(.*[^a-z0-9])?{NAME}[^a-z0-9]+{re.escape(tool)}", re.IGNORECASE)
    return next((one for one in asked.tools if ours.fullmatch(one.whole_name)), None)


class Session:
    """One client with one script: what the client asked, and what the model does next."""

    def __init__(self, script):
        self.script, self.lock = script, threading.Lock()
        self.requests = []
        """Every request of the conversation: when it came, its body, and what it offers."""
        self.steps = []
        self.known = set()
        """Our tools that the model has searched for."""
        self.failure = ""
        self.number, self.step, self.act = 0, None, None
        self.ended = threading.Event()

    def answer(self, body, asked):
        """What the model does about this request."""
        with self.lock:
            if asked.is_aside:
                return Act("say", json.dumps(ASIDE))
            if not asked.tools:
                return Act("say", "A task")
            self.requests.append((time.time(), body, asked))
            if self.act and self.number not in asked.results:
                return self.act
            if self.act:
                self.take(asked.results[self.number])
            elif not self.ended.is_set():
                self.advance(None)
            self.act = None
            while not self.ended.is_set() and self.step.arguments is None and not self.is_hidden(asked):
                self.advance(self.step)
            if self.ended.is_set():
                return Act("say", "Done.")
            self.number += 1
            self.act = self.next_act(asked)
            self.act.number = self.number
            return self.act

    def take(self, result):
        """Take a result: of a search for tools, after which the model still has its call to make, or of the call."""
        if self.step.called_as or self.step.arguments is None:
            self.step.result, self.step.returned = result, time.time()
            self.advance(self.step)

    def advance(self, step):
        """Go on in the script."""
        try:
            self.step = self.script.send(step)
            self.steps.append(self.step)
        except StopIteration:
            self.ended.set()
        except Exception as error:  # A script reads what a client made of an answer; whatever that is, the client must end.
            self.failure = f"{type(error).__name__}: {error}"
            self.ended.set()

    def is_hidden(self, asked):
        """Whether the model must still search for this step's tool, and can."""
        ways = [tool for tool in asked.tools if tool.name in SEARCH_TOOLS or tool.kind == "custom"]
        return bool(ways) and self.step.tool not in self.known and not offered(asked, self.step.tool)

    def next_act(self, asked):
        """The next thing that a model must do to make the call of this step."""
        step, by_name = self.step, {tool.name: tool for tool in asked.tools}
        guess = f"mcp__{NAME}__{step.tool}"
        tool = offered(asked, step.tool)
        if tool:
            return self.call(tool.name, step.arguments, tool.namespace, tool.whole_name)
        search = next((by_name[name] for name in SEARCH_TOOLS if name in by_name), None)
        if search and "tool_call" in by_name and step.tool in self.known:
            return self.call("tool_call", {"name": guess, "arguments": step.arguments}, "", f"tool_call {guess}")
        if search and step.searches < MAX_SEARCHES:
            self.searched()
            if search.kind == "tool_search":
                return Act("find", name=search.name, arguments={"query": step.tool.replace("_", " "), "limit": 8})
            return Act("call", name=search.name, arguments={"query": f"select:{guess}"})
        code = by_name.get("exec")
        if code and code.kind == "custom" and step.tool not in self.known:
            self.searched()
            look = f"text(ALL_TOOLS.filter(one => one.name === '{guess}').map(one => one.description).join('\\n'))"
            return Act("code", look, code.name, namespace=code.namespace)
        if code and code.kind == "custom":
            step.called_as, step.called = f"exec {guess}", time.time()
            source = f"text(await tools.{guess}({json.dumps(step.arguments)}))"
            return Act("code", source, code.name, namespace=code.namespace)
        name = step.tool if step.tool in by_name else guess
        return self.call(name, step.arguments, "", name)

    def searched(self):
        self.step.searches += 1
        self.known.add(self.step.tool)

    def call(self, name, arguments, namespace, called_as):
        self.step.called_as, self.step.called = called_as, time.time()
        return Act("call", name=name, arguments=arguments, namespace=namespace)


class Handler(http.server.BaseHTTPRequestHandler):
    """HTTP around a session."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        """The JSON of a request, which may come in chunks and may be compressed."""
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            data = b""
            while length := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(length)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return json.loads(data or b"{}")

    def reply(self, data, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        models = [{"id": "scripted", "object": "model", "name": "scripted", "owned_by": "none", "created": 1}]
        self.reply(json.dumps({"object": "list", "data": models, "models": []}).encode())

    do_HEAD = do_GET

    def do_POST(self):
        body, path = self.body(), self.path.split("?")[0]
        dialect = next((one for one in DIALECTS if one.path.search(path)), None)
        if dialect is None:
            return self.reply(b'{"input_tokens": 100, "totalTokens": 100}')
        act = self.server.session.answer(body, dialect.read(body))
        whole, events = dialect.write(act, body)
        if not (body.get("stream") or "stream" in path):
            return self.reply(json.dumps(whole).encode())
        lines = []
        for event in events:
            named = isinstance(event, dict) and "type" in event
            lines.append((f"event: {event['type']}\n" if named else "")
                         + f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")
        return self.reply("".join(lines).encode(), "text/event-stream")


class Model(http.server.ThreadingHTTPServer):
    """The server; it has one session at a time."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.session = Session(iter(()))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_):
        """A client that hangs up is no error of ours; one that sends what we cannot read never comes to its end."""
