"""What the server and the client said to each other, read from the files of the tee."""
import dataclasses
import json


@dataclasses.dataclass
class Call:
    """A call of a tool as the server saw it."""
    asked: float
    tool: str
    text: str
    structured: object
    is_error: bool


class Wire:
    """The MCP traffic of one run."""

    def __init__(self, folder):
        self.instructions, self.lists, self.calls, self.client = "", [], [], ""
        for file in sorted(folder.glob("*.jsonl")):
            self.read(file)
        self.calls.sort(key=lambda call: call.asked)

    def read(self, file):
        """Read the file of one server process."""
        open_requests = {}
        for line in file.read_text().splitlines():
            when, side, text = json.loads(line)
            try:
                message = json.loads(text)
            except ValueError:
                continue
            if "id" not in message:
                continue
            if side == "client" and "method" in message:
                open_requests[str(message["id"])] = (when, message["method"], message.get("params") or {})
            elif side == "server" and str(message["id"]) in open_requests and "method" not in message:
                self.note(message, *open_requests.pop(str(message["id"])))

    def note(self, answer, asked, method, params):
        """Note an answer of the server with what was asked for."""
        result = answer.get("result") or {}
        # Since 2026-07-28 there is no handshake, and every request names the client.
        reported = params.get("clientInfo") or (params.get("_meta") or {}).get("io.modelcontextprotocol/clientInfo") or {}
        self.client = self.client or reported.get("name", "")
        self.instructions = self.instructions or result.get("instructions") or ""
        if method == "tools/list":
            self.lists.append({tool["name"]: tool for tool in result.get("tools", [])})
        elif method == "tools/call":
            parts = [part.get("text", "") for part in result.get("content") or []]
            failed = "error" in answer or bool(result.get("isError"))
            text = "\n".join(parts) or json.dumps(answer.get("error") or "")
            self.calls.append(Call(asked, params.get("name"), text, result.get("structuredContent"), failed))

    @property
    def tools(self):
        """Our tools as the server first listed them."""
        return self.lists[0] if self.lists else {}

    def descriptions(self, tool):
        """Every description that the server ever gave this tool."""
        return {listed[tool].get("description") or "" for listed in self.lists if tool in listed}

    def call_of(self, step):
        """The call that the server saw for a step of the model; none where the client did not pass it on."""
        return next((call for call in self.calls
                     if call.tool == step.tool and step.called <= call.asked <= step.returned), None)
