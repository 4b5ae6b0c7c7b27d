"""The four ways in which clients talk to a model: Anthropic Messages, OpenAI Responses, OpenAI Chat, and Gemini.

A dialect is a class with two functions. `read` makes an `Asked` of the body of a request. `write` makes the body of the
answer from an `Act`: one JSON value for a client that wants no stream, and a list of events for one that does.
"""
import dataclasses
import json
import re
import time

CALL_ID = re.compile(r"skillscall(\d+)x")


@dataclasses.dataclass
class Tool:
    """A tool that a request offers, in any dialect."""
    name: str
    description: str
    entry: dict
    kind: str = "function"
    namespace: str = ""

    @property
    def whole_name(self):
        return f"{self.namespace}__{self.name}" if self.namespace else self.name


@dataclasses.dataclass
class Asked:
    """A request: the tools it offers, and the results of the model's calls by the calls' numbers."""
    tools: list
    results: dict
    is_aside: bool = False
    """Whether the client asks something that is no part of the conversation."""


@dataclasses.dataclass
class Act:
    """What the model does: it says a text, or calls a tool in one of the ways that clients have."""
    kind: str
    """One of say, call, find (Codex's search for tools) and code (Codex's code mode)."""
    text: str = ""
    name: str = ""
    arguments: dict = dataclasses.field(default_factory=dict)
    namespace: str = ""
    number: int = 0

    @property
    def call_id(self):
        return f"call_skillscall{self.number}x{time.time_ns() % 10**8}"


def number_of(call_id):
    """The number of the model's call with this id; none for a call of another model."""
    found = CALL_ID.search(call_id or "")
    return int(found[1]) if found else None


def function_tool(entry):
    return Tool(entry.get("name") or "", entry.get("description") or "", entry)


class Anthropic:
    path = re.compile(r"/messages$")

    @staticmethod
    def read(body):
        blocks = [block for message in body.get("messages", []) if isinstance(message.get("content"), list)
                  for block in message["content"]]
        results = {number_of(block.get("tool_use_id")): block.get("content") for block in blocks
                   if block.get("type") == "tool_result"}
        return Asked([function_tool(entry) for entry in body.get("tools") or []], results)

    @staticmethod
    def write(act, body):
        if act.kind == "say":
            block, reason = {"type": "text", "text": act.text}, "end_turn"
            start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": act.text}
        else:
            block = {"type": "tool_use", "id": act.call_id, "name": act.name, "input": act.arguments}
            reason, start = "tool_use", {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(act.arguments)}
        message = {
            "id": f"msg_{time.time_ns()}", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": [block], "stop_reason": reason, "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10}}
        events = [
            {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
            {"type": "content_block_start", "index": 0, "content_block": start},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}},
            {"type": "message_stop"}]
        return message, events


class Responses:
    path = re.compile(r"/responses$")

    @classmethod
    def read(cls, body):
        items = [item for item in body.get("input") or [] if isinstance(item, dict)]
        tools = cls.tools(body.get("tools"))
        for item in items:
            if item.get("type") in ("tool_search_output", "additional_tools"):
                tools += cls.tools(item.get("tools"))
        results = {number_of(item.get("call_id")): item.get("output", item.get("tools")) for item in items
                   if str(item.get("type")).endswith("_output")}
        return Asked(tools, results)

    @classmethod
    def tools(cls, entries, namespace=""):
        found = []
        for entry in entries or []:
            kind = entry.get("type", "function")
            if kind == "namespace":
                found += cls.tools(entry.get("tools"), entry.get("name") or "")
            else:
                name = entry.get("name") or kind
                found.append(Tool(name, entry.get("description") or "", entry, kind, namespace))
        return found

    @staticmethod
    def write(act, body):
        now = time.time_ns()
        part = {"type": "output_text", "text": act.text, "annotations": []}
        item = {"id": f"item_{now}", "status": "completed"}
        where = {"item_id": item["id"], "output_index": 0}
        if act.kind == "say":
            item |= {"type": "message", "role": "assistant", "content": [part]}
            between = [
                {"type": "response.content_part.added", **where, "content_index": 0, "part": {**part, "text": ""}},
                {"type": "response.output_text.delta", **where, "content_index": 0, "delta": act.text},
                {"type": "response.output_text.done", **where, "content_index": 0, "text": act.text}]
        elif act.kind == "find":
            item |= {"type": "tool_search_call", "call_id": act.call_id, "execution": "client",
                     "arguments": act.arguments}
            between = []
        elif act.kind == "code":
            item |= {"type": "custom_tool_call", "call_id": act.call_id, "name": act.name, "input": act.text}
            between = []
        else:
            arguments = json.dumps(act.arguments)
            item |= {"type": "function_call", "call_id": act.call_id, "name": act.name, "arguments": arguments}
            between = [
                {"type": "response.function_call_arguments.delta", **where, "delta": arguments},
                {"type": "response.function_call_arguments.done", **where, "arguments": arguments}]
        if act.namespace:
            item["namespace"] = act.namespace
        response = {
            "id": f"resp_{now}", "object": "response", "created_at": now // 10**9, "status": "completed",
            "model": body.get("model"), "output": [item], "tools": [], "tool_choice": "auto",
            "parallel_tool_calls": False,
            "usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
                      "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}}
        begun = {**response, "status": "in_progress", "output": [], "usage": None}
        events = [{"type": "response.created", "response": begun},
                  {"type": "response.output_item.added", "output_index": 0, "item": item},
                  *between,
                  {"type": "response.output_item.done", "output_index": 0, "item": item},
                  {"type": "response.completed", "response": response}]
        return response, [{**event, "sequence_number": number} for number, event in enumerate(events)]


class Chat:
    path = re.compile(r"/chat/completions$")

    @staticmethod
    def read(body):
        results = {number_of(message.get("tool_call_id")): message.get("content")
                   for message in body.get("messages", []) if message.get("role") == "tool"}
        return Asked([function_tool(entry.get("function") or {}) for entry in body.get("tools") or []], results)

    @staticmethod
    def write(act, body):
        message, reason = {"role": "assistant", "content": act.text}, "stop"
        if act.kind != "say":
            function = {"name": act.name, "arguments": json.dumps(act.arguments)}
            message = {"role": "assistant", "content": None,
                       "tool_calls": [{"index": 0, "id": act.call_id, "type": "function", "function": function}]}
            reason = "tool_calls"
        common = {"id": f"chat_{time.time_ns()}", "created": int(time.time()), "model": body.get("model")}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
        common["object"] = "chat.completion.chunk"
        first = {**common, "choices": [{"index": 0, "delta": message, "finish_reason": None}]}
        last = {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
        return whole, [first, last, "[DONE]"]


class Gemini:
    path = re.compile(r":(stream)?generateContent$", re.IGNORECASE)

    @staticmethod
    def read(body):
        tools = [function_tool(entry) for group in body.get("tools") or []
                 for entry in group.get("functionDeclarations") or []]
        parts = [part["functionResponse"] for content in body.get("contents", [])
                 for part in content.get("parts", []) if "functionResponse" in part]
        # The client may leave ids out, but it answers calls in their order.
        results = {number: part.get("response") for number, part in enumerate(parts, 1)}
        wanted = body.get("generationConfig") or {}
        aside = wanted.get("responseMimeType") == "application/json" or "responseJsonSchema" in wanted
        return Asked(tools, results, bool(aside))

    @staticmethod
    def write(act, _body):
        part = {"text": act.text}
        if act.kind != "say":
            part = {"functionCall": {"name": act.name, "args": act.arguments}}
        answer = {
            "modelVersion": "scripted",
            "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [part]}}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}}
        return answer, [answer]


DIALECTS = [Anthropic, Responses, Chat, Gemini]
