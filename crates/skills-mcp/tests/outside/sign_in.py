"""Signs in as the Python SDK's client does, with the provider's pages answered by plain HTTP, and calls a tool."""

import asyncio
import json
import re
import sys
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2 as httpx
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp import ClientSession
from mcp.shared.auth import OAuthClientMetadata


class Memory(TokenStorage):
    tokens = None
    client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


CALLBACK = "http://127.0.0.1:9/callback"
answered = {}


async def sign_in(url):
    """Does what a person would: logs in, and agrees."""
    async with httpx.AsyncClient(follow_redirects=False) as browser:
        answer = await browser.get(url)
        for _ in range(20):
            if answer.is_redirect:
                target = urljoin(str(answer.url), answer.headers["location"])
                if target.startswith(CALLBACK):
                    query = parse_qs(urlsplit(target).query)
                    answered.update(code=query["code"][0], state=query.get("state", [None])[0], iss=query.get("iss", [None])[0])
                    return
                answer = await browser.get(target)
                continue
            form = re.search(r'<form[^>]*action="([^"]+)"', answer.text)
            prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
            if not form or not prompt:
                raise SystemExit(f"no form in {answer.status_code} {answer.text[:2000]}")
            data = {"prompt": prompt[1]}
            if prompt[1] == "login":
                data.update(login="ada", password="any")
            answer = await browser.post(urljoin(str(answer.url), form[1]), data=data)
    raise SystemExit("the provider never sent the browser back")


async def callback():
    return AuthorizationCodeResult(code=answered["code"], state=answered["state"], iss=answered["iss"])


async def main():
    url = sys.argv[1]
    metadata = OAuthClientMetadata(
        client_name="checks",
        redirect_uris=[CALLBACK],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        scope="skills:read",
    )
    auth = OAuthClientProvider(url, metadata, Memory(), sign_in, callback)
    async with httpx.AsyncClient(auth=auth, timeout=60) as http:
        async with streamable_http_client(url, http_client=http) as streams:
            async with ClientSession(streams[0], streams[1]) as session:
                await session.initialize()
                tools = [tool.name for tool in (await session.list_tools()).tools]
                found = await session.call_tool("list_skills", {})
                print(json.dumps({"tools": tools, "listed": found.content[0].text}))


asyncio.run(main())
