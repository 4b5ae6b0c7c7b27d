// The opencode plugin of skills-mcp: it adds the MCP server, and after each prompt the hint of `skills-mcp hook`.
//
// An error that leaves `chat.message` would stop the user's prompt. So every failure here means: no hint.

import { spawn } from "node:child_process"

const PROGRAM = "skills-mcp"
// After this the prompt goes on without a hint.
const HOOK_TIMEOUT_MS = 5_000
// A hint is one short JSON object; a longer answer is not one.
const MAX_ANSWER_CHARS = 16_384

/** What `skills-mcp hook` prints for this input; an empty string after any failure. */
function answerOf(args, input, cwd) {
  return new Promise((resolve) => {
    let child
    let answer = ""
    const finish = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    const stop = () => {
      child?.kill("SIGKILL")
      finish("")
    }
    const timer = setTimeout(stop, HOOK_TIMEOUT_MS)
    try {
      child = spawn(PROGRAM, [...args, "hook", "opencode"], { cwd, stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
      child.on("error", () => finish(""))
      child.on("close", () => finish(answer))
      child.stdout.setEncoding("utf8")
      child.stdout.on("error", () => finish(""))
      child.stdout.on("data", (text) => {
        answer += text
        if (answer.length > MAX_ANSWER_CHARS) stop()
      })
      // The program may end before it has read everything.
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(input))
    } catch {
      finish("")
    }
  })
}

/** @param options `args`: arguments of skills-mcp for the server and the hook, such as `["--dir", "/path/to/skills"]`. */
export default async function skills({ directory }, options) {
  const args = Array.isArray(options?.args) ? options.args.map(String) : ["--with-own-skills"]
  return {
    async config(config) {
      config.mcp ??= {}
      config.mcp.skills ??= { type: "local", command: [PROGRAM, ...args], enabled: true }
    },
    async "chat.message"({ sessionID }, { message, parts }) {
      try {
        const prompt = parts
          .filter((part) => part.type === "text" && !part.synthetic)
          .map((part) => part.text)
          .join("\n")
        if (!prompt.trim()) return
        const answer = await answerOf(args, { prompt, session_id: sessionID, cwd: directory }, directory)
        if (!answer) return
        const text = JSON.parse(answer).additionalContext
        if (typeof text !== "string" || !text) return
        // opencode sorts the parts of a message by id: a longer id comes after the one it begins with.
        const id = `${parts.at(-1).id}s`
        parts.push({ id, sessionID, messageID: message.id, type: "text", synthetic: true, text })
      } catch {
        // No hint.
      }
    },
  }
}
