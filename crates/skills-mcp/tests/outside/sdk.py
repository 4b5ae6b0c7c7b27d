"""What the scripts of real clients do, with the Python SDK: find a skill and load it by what the texts say, before and after an edit."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client


async def main():
    given = json.loads(sys.argv[1])
    server = StdioServerParameters(command=given["command"], args=given["args"], env=given["env"])
    who = types.Implementation(name=given["name"], version="1.0.0")
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes, client_info=who) as session:
        welcome = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        load = next(tool for tool in tools if tool in ("load_skill", "skill"))

        async def found(request):
            """The skill by the one way to find that the server offers."""
            if "get_skill" not in tools:
                lines = (await call("skills_search", {"query": request})).splitlines()
                return next(line for line in lines if line.startswith("- "))[2:].split(":")[0]
            answer = json.loads(await call("get_skill", {"context": request}))
            return answer.get("skill_path") or answer["candidates"][0]["skill_path"]

        async def call(tool, arguments):
            return (await session.call_tool(tool, arguments)).content[0].text

        async def find(request):
            name = await found(request)
            by_path = await call("get_skill", {"skill_path": name}) if "get_skill" in tools else ""
            return {"found": name, "loaded": await call(load, {"name": name}), "by_path": by_path}

        before = await find("rotate the certificates of the gateway")
        os.makedirs(f"{given['folder']}/zeppelin", exist_ok=True)
        with open(f"{given['folder']}/zeppelin/SKILL.md", "w") as file:
            file.write("---\nname: zeppelin\ndescription: Paint a zeppelin in stripes\n---\n\nStart at the nose.\n")
        after = await find("paint the zeppelin")
        print(json.dumps({"instructions": welcome.instructions, "tools": tools, "before": before, "after": after}))


asyncio.run(main())
