"""What FastMCP's client for the Skills extension makes of a server: every skill, and whether the bytes of each file are what its manifest says."""

import asyncio
import base64
import hashlib
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.skills.client import SkillsClientExtension


async def main():
    given = json.loads(sys.argv[1])
    server = StdioTransport(command=given["command"], args=given["args"], env=given["env"])
    async with Client(server, extensions=[SkillsClientExtension()]) as client:
        skills = await client.list_skills()
        files = wrong = 0
        for skill in skills:
            assert await client.get_skill(skill.uri) == skill, skill.uri
            for resource in skill.resources:
                (content,) = await client.read_resource(resource.uri)
                text = getattr(content, "text", None)
                data = text.encode() if text is not None else base64.b64decode(content.blob)
                files += 1
                wrong += resource.digest != "sha256:" + hashlib.sha256(data).hexdigest() or resource.size != len(data)
        names = [skill.frontmatter.name for skill in skills]
        print(json.dumps({"names": names, "files": files, "wrong": wrong}))


asyncio.run(main())
