"""The clients: one row for each, with its package, how it is configured and how it is started.

A `setup` function writes the client's configuration below a temporary HOME and returns the words after the program's
name, and the environment variables that the client needs.
"""
import dataclasses
import json
import typing

NAME = "skills"
"""The name under which every client knows our server."""
PROMPT = "Do the task in the way that the team has written down."


@dataclasses.dataclass
class Setting:
    """What a setup function needs: the folders, the address of the model, and the server's command line."""
    home: object
    project: object
    model: str
    server: list

    def save(self, path, text):
        """Write a configuration file below HOME; what is no text is written as JSON."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if isinstance(text, str) else json.dumps(text))
        return str(file)

    def stdio(self, **more):
        """The entry of our server in the form that most clients share."""
        return {NAME: {"command": self.server[0], "args": self.server[1:], **more}}


@dataclasses.dataclass
class Client:
    """One client at one version."""
    package: str
    version: str
    program: str
    setup: typing.Callable
    own_directory: str
    """The directory of skills that only this client knows, below the project."""
    hook_only: bool = False
    """Whether a model behind this client learns of skills from our prompt hook only."""
    remembers: bool = False
    """Whether the client keeps tools of a server in HOME, so that a second session may differ from the first."""


def claude_code(to):
    config = to.save("servers.json", {"mcpServers": to.stdio()})
    environment = {
        "ANTHROPIC_BASE_URL": to.model, "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    tools = f"mcp__{NAME},ToolSearch"
    return ["--print", PROMPT, "--strict-mcp-config", "--mcp-config", config, "--allowedTools", tools], environment


def codex_with(model):
    """The setup of Codex with a model; the model decides whether Codex is in code mode."""
    def setup(to):
        # TOML reads JSON's texts and lists of texts.
        to.save(".codex/config.toml", f"""
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{to.model}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[projects.{json.dumps(str(to.project))}]
trust_level = "trusted"
[mcp_servers.{NAME}]
command = {json.dumps(to.server[0])}
args = {json.dumps(to.server[1:])}
""")
        return ["exec", "--skip-git-repo-check", PROMPT], {"SCRIPTED_KEY": "none"}
    return setup


def gemini(to):
    to.save(".gemini/settings.json", {
        "mcpServers": to.stdio(trust=True),
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False}})
    environment = {"GOOGLE_GEMINI_BASE_URL": to.model, "GEMINI_API_KEY": "none", "GEMINI_CLI_NO_RELAUNCH": "true"}
    return ["--yolo", "--skip-trust", "--model", "gemini-2.5-flash", "--prompt", PROMPT], environment


def opencode(to):
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    to.save(".config/opencode/opencode.json", {
        "model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled", "autoupdate": False,
        "permission": {"*": "allow"},
        "mcp": {NAME: {"type": "local", "enabled": True, "command": to.server}},
        "provider": {"scripted": {
            "name": "scripted", "npm": "@ai-sdk/openai-compatible", "models": {"scripted": model},
            "options": {"baseURL": f"{to.model}/v1", "apiKey": "none"}}}})
    off = ["MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD"]
    return ["run", PROMPT], {f"OPENCODE_DISABLE_{what}": "1" for what in off}


def qwen(to):
    to.save(".qwen/settings.json", {
        "mcpServers": to.stdio(trust=True),
        "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}})
    environment = {"OPENAI_BASE_URL": f"{to.model}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}
    return ["--yolo", "--prompt", PROMPT], environment


def copilot(to):
    to.save(".copilot/mcp-config.json", {"mcpServers": to.stdio(type="local", tools=["*"])})
    environment = {
        "COPILOT_HOME": str(to.home / ".copilot"), "COPILOT_OFFLINE": "true", "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": f"{to.model}/v1", "COPILOT_PROVIDER_API_KEY": "none",
        "COPILOT_MODEL": "gpt-5.4"}
    return ["--prompt", PROMPT, "--allow-all-tools", "--disable-builtin-mcps"], environment


def continue_dev(to):
    # YAML reads JSON.
    config = to.save(".continue/config.yaml", {
        "name": "run", "version": "1.0.0", "schema": "v1",
        "mcpServers": [{"name": NAME, "command": to.server[0], "args": to.server[1:]}],
        "models": [{
            "name": "scripted", "provider": "openai", "model": "gpt-4o", "apiBase": f"{to.model}/v1",
            "apiKey": "none", "roles": ["chat"], "capabilities": ["tool_use"]}]})
    environment = {
        "CONTINUE_GLOBAL_DIR": str(to.home / ".continue"), "CONTINUE_API_KEY": "none",
        "CONTINUE_TELEMETRY_ENABLED": "0"}
    return ["--config", config, "--auto", "-p", PROMPT], environment


def cline(to):
    provider = "openai-compatible"
    settings = {"provider": provider, "baseUrl": f"{to.model}/v1", "apiKey": "none", "model": "scripted"}
    to.save(".cline/data/settings/providers.json", {
        "version": 1, "modes": {}, "lastUsedProvider": provider,
        "providers": {provider: {
            "settings": settings, "tokenSource": "manual", "updatedAt": "2026-11-01T00:00:00.000Z"}}})
    transport = {"type": "stdio", "command": to.server[0], "args": to.server[1:]}
    to.save(".cline/data/settings/cline_mcp_settings.json", {"mcpServers": {NAME: {"transport": transport}}})
    return ["-P", provider, "-m", "scripted", "--auto-approve", "true", PROMPT], {}


CLIENTS = {
    "claude-code": Client("@anthropic-ai/claude-code", "2.1.325", "claude", claude_code, ".claude/skills"),
    "codex": Client("@openai/codex", "0.166.0", "codex", codex_with("gpt-5.5"), ".codex/skills"),
    "codex-code-mode": Client(
        "@openai/codex", "0.166.0", "codex", codex_with("gpt-6.1-sol"), ".codex/skills", hook_only=True),
    "gemini": Client("@google/gemini-cli", "0.61.0", "gemini", gemini, ".gemini/skills"),
    "opencode": Client("opencode-ai", "1.18.33", "opencode", opencode, ".opencode/skills"),
    "qwen": Client("@qwen-code/qwen-code", "0.24.4", "qwen", qwen, ".qwen/skills"),
    "copilot": Client("@github/copilot", "1.0.102", "copilot", copilot, ".github/skills", remembers=True),
    "continue": Client("@continuedev/cli", "1.5.47", "cn", continue_dev, ".continue/skills"),
    "cline": Client("cline", "3.0.65", "cline", cline, ".cline/skills"),
}
