// What the scripts of real clients do, with the TypeScript SDK: find a skill and load it by what the texts say, before and after an edit.
import { mkdirSync, writeFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const { command, args, env, name, folder } = JSON.parse(process.argv[2]);
const client = new Client({ name, version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env }));
const tools = (await client.listTools()).tools;
const call = async (tool, given) => (await client.callTool({ name: tool, arguments: given })).content[0].text;
const load = tools.map((tool) => tool.name).find((tool) => tool === "load_skill" || tool === "skill");
const routes = tools.some((tool) => tool.name === "get_skill");
// The skill by the one way to find that the server offers.
const found = async (request) => {
  if (!routes) {
    const lines = (await call("skills_search", { query: request })).split("\n");
    return lines.find((line) => line.startsWith("- ")).slice(2).split(":")[0];
  }
  const answer = JSON.parse(await call("get_skill", { context: request }));
  return answer.skill_path ?? answer.candidates[0].skill_path;
};
const find = async (request) => {
  const name = await found(request);
  const byPath = routes ? await call("get_skill", { skill_path: name }) : "";
  return { found: name, loaded: await call(load, { name }), by_path: byPath };
};
const before = await find("rotate the certificates of the gateway");
mkdirSync(`${folder}/zeppelin`, { recursive: true });
writeFileSync(
  `${folder}/zeppelin/SKILL.md`,
  "---\nname: zeppelin\ndescription: Paint a zeppelin in stripes\n---\n\nStart at the nose.\n",
);
const after = await find("paint the zeppelin");
const result = { instructions: client.getInstructions(), tools: tools.map((tool) => tool.name), before, after };
console.log(JSON.stringify(result));
await client.close();
