"""The official Python client lists, calls and reads over stdio and HTTP, in both eras of the protocol."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

URL, COMMAND, ARGUMENTS = sys.argv[1], sys.argv[2], sys.argv[3:]


async def check(target, mode):
    async with Client(target, mode=mode) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert {"get_skill", "skill", "skills_search"} <= set(tools), tools
        answer = await client.call_tool("skill", {"name": "release-notes"})
        assert "Read references/style.md first." in answer.content[0].text, answer
        resources = (await client.list_resources()).resources
        uri = next(str(resource.uri) for resource in resources if resource.name == "release-notes")
        text = (await client.read_resource(uri)).contents[0].text
        assert text.endswith("Read references/style.md first.\n"), text
        picture = (await client.read_resource(uri.replace("SKILL.md", "assets/dot.png"))).contents[0]
        assert picture.blob, picture
        prompts = [prompt.name for prompt in (await client.list_prompts()).prompts]
        assert "release-notes" in prompts, prompts
        try:
            await client.read_resource("skill://release-notes/missing.md")
        except Exception as error:
            print(mode, type(error).__name__, error)
        else:
            raise AssertionError("a missing resource was read")


async def main():
    for mode in ["auto", "legacy", "2026-07-28"]:
        await check(URL, mode)
        await check(StdioServerParameters(command=COMMAND, args=ARGUMENTS), mode)


asyncio.run(main())
