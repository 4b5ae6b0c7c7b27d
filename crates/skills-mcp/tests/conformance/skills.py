"""FastMCP's skills client reads every skill, over HTTP and over stdio: its models refuse what the extension does not allow."""

import asyncio
import base64
import hashlib
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills.client import SkillsClientExtension

URL, COMMAND, ARGUMENTS = sys.argv[1], sys.argv[2], sys.argv[3:]


async def check(target):
    async with Client(target, extensions=[SkillsClientExtension()]) as client:
        skills = await client.list_skills()
        assert len(skills) >= 13, f"{len(skills)} skills"
        for skill in skills:
            assert await client.get_skill(skill.uri) == skill, skill.uri
            for resource in skill.resources:
                content = (await client.read_resource(resource.uri))[0]
                blob = getattr(content, "blob", None)
                raw = base64.b64decode(blob) if blob is not None else content.text.encode()
                digest = "sha256:" + hashlib.sha256(raw).hexdigest()
                assert (digest, len(raw)) == (resource.digest, resource.size), resource.uri
        return len(skills)


async def main():
    for target in [URL, StdioTransport(COMMAND, ARGUMENTS)]:
        print(await check(target), "skills")


asyncio.run(main())
