"""The official Python client of the Model Context Protocol, driven line by line.

usage: client.py VERSION PROGRAM ARGUMENT...

Starts the program as a server, connects to it in that version of the protocol, and prints one JSON object about the
connection. Then each line of standard input is one JSON request with a member 'do'; its answer is one JSON object on
a line of standard output. A refusal by the protocol is an answer with a member 'refused'. The end of the input ends
the connection. What the client itself finds wrong with an answer of the server ends it with a traceback.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup, TaskStatus
from mcp import Client, ClientSession, MCPError, StdioServerParameters, stdio_client
from mcp.client.subscriptions import ResourceUpdated, listen
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import BaseModel

Json = dict[str, Any]

# No answer of a test takes longer; without it, a server that is silent would hang the test.
TIMEOUT_SECONDS = 120


def plain(model: BaseModel) -> Json:
    """Returns a message as the JSON that travels."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


def as_line(answer: Json) -> None:
    """Prints an answer."""
    print(json.dumps(answer), flush=True)


class Updates:
    """The addresses of the resources that have changed, as the server tells of them."""

    def __init__(self) -> None:
        self.send, self.receive = anyio.create_memory_object_stream[str](1000)

    async def note(self, message: object) -> None:
        """Notes a message of a protocol with a handshake."""
        if isinstance(message, types.ResourceUpdatedNotification):
            await self.send.send(str(message.params.uri))

    async def listen(self, session: ClientSession, uri: str, *, task_status: TaskStatus[None]) -> None:
        """Listens as the newest protocol has it."""
        async with listen(session, resource_subscriptions=[uri]) as events:
            task_status.started()
            async for event in events:
                if isinstance(event, ResourceUpdated):
                    await self.send.send(str(event.uri))


UPDATES = Updates()


@asynccontextmanager
async def connected(version: str, server: StdioServerParameters) -> AsyncIterator[ClientSession]:
    """Connects in a version: by the handshake, or as versions without one have it; 'auto' is as the client does."""
    if version not in HANDSHAKE_PROTOCOL_VERSIONS:
        async with Client(server, mode=version, read_timeout_seconds=TIMEOUT_SECONDS, cache=None) as client:
            yield client.session
        return
    async with stdio_client(server) as (read, write):
        session = ClientSession(read, write, read_timeout_seconds=TIMEOUT_SECONDS, message_handler=UPDATES.note)
        async with session:
            if version == HANDSHAKE_PROTOCOL_VERSIONS[-1]:
                await session.initialize()
            else:
                await initialize(session, version)
            yield session


async def initialize(session: ClientSession, version: str) -> None:
    """Does what `ClientSession.initialize` does, but offers an older version."""
    offer = types.InitializeRequestParams(
        protocol_version=version,
        capabilities=types.ClientCapabilities(),
        client_info=types.Implementation(name="an older client", version="1"),
    )
    result = await session.send_request(types.InitializeRequest(params=offer), types.InitializeResult)
    session.adopt(result)
    await session.send_notification(types.InitializedNotification())


class Driver:
    """Does what the lines ask for."""

    def __init__(self, session: ClientSession, tasks: TaskGroup) -> None:
        self.session = session
        self.tasks = tasks
        self.begun: anyio.CancelScope | None = None
        self.ended = anyio.Event()
        self.outcome: Json = {}

    async def do(self, request: Json) -> Json:
        """Does one; a refusal is an answer, too."""
        actions: dict[str, Callable[[Json], Awaitable[Json]]] = {
            "call": self.call,
            "begin": self.begin,
            "cancel": self.cancel,
            "wait": self.wait,
            "tools": self.tools,
            "resources": self.resources,
            "templates": self.templates,
            "read": self.read,
            "prompts": self.prompts,
            "prompt": self.prompt,
            "subscribe": self.subscribe,
            "unsubscribe": self.unsubscribe,
            "updated": self.updated,
        }
        try:
            return await actions[request["do"]](request)
        except MCPError as error:
            return {"refused": plain(error.error)}

    async def call(self, request: Json) -> Json:
        """Calls a tool; with 'progress', also returns what it told on the way."""
        told: list[Json] = []

        async def hear(done: float, total: float | None, message: str | None) -> None:
            told.append({"done": done, "total": total, "message": message})

        wants_progress = request.get("progress", False)
        result = await self.session.call_tool(
            request["tool"], request["arguments"], progress_callback=hear if wants_progress else None
        )
        answer = plain(result)
        return {**answer, "progress": told} if wants_progress else answer

    async def begin(self, request: Json) -> Json:
        """Calls a tool, and does not wait for it."""
        self.begun, self.ended, self.outcome = anyio.CancelScope(), anyio.Event(), {}
        self.tasks.start_soon(self.run, self.begun, request)
        return {"begun": request["tool"]}

    async def run(self, scope: anyio.CancelScope, request: Json) -> None:
        """Calls a tool until it has answered or is canceled."""
        with scope:
            self.outcome = await self.do({**request, "do": "call"})
        if scope.cancelled_caught:
            self.outcome = {"canceled": True}
        self.ended.set()

    async def cancel(self, _request: Json) -> Json:
        """Cancels the call that was begun, as a client does that has lost interest."""
        assert self.begun is not None
        self.begun.cancel()
        return await self.wait({})

    async def wait(self, _request: Json) -> Json:
        """Waits for the call that was begun."""
        await self.ended.wait()
        return self.outcome

    async def tools(self, _request: Json) -> Json:
        """Lists the tools."""
        return plain(await self.session.list_tools())

    async def resources(self, request: Json) -> Json:
        """Lists the resources from a cursor on."""
        params = types.PaginatedRequestParams(cursor=request.get("cursor"))
        return plain(await self.session.list_resources(params=params))

    async def templates(self, _request: Json) -> Json:
        """Lists the shapes of the addresses of resources."""
        return plain(await self.session.list_resource_templates())

    async def read(self, request: Json) -> Json:
        """Reads a resource."""
        return plain(await self.session.read_resource(request["uri"]))

    async def subscribe(self, request: Json) -> Json:
        """Subscribes to a resource, in the way of the protocol."""
        if self.session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return plain(await self.session.subscribe_resource(request["uri"]))
        await self.tasks.start(UPDATES.listen, self.session, request["uri"])
        return {}

    async def unsubscribe(self, request: Json) -> Json:
        """Ends a subscription."""
        return plain(await self.session.unsubscribe_resource(request["uri"]))

    async def updated(self, _request: Json) -> Json:
        """Waits for the next update of a resource."""
        return {"uri": await UPDATES.receive.receive()}

    async def prompts(self, _request: Json) -> Json:
        """Lists the prompts."""
        return plain(await self.session.list_prompts())

    async def prompt(self, request: Json) -> Json:
        """Reads a prompt."""
        return plain(await self.session.get_prompt(request["name"]))


async def main(version: str, program: str, arguments: list[str]) -> None:
    """Connects, and does what the lines of standard input ask for."""
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with connected(version, server) as session, anyio.create_task_group() as tasks:
        driver = Driver(session, tasks)
        info, capabilities = session.server_info, session.server_capabilities
        as_line(
            {
                "version": session.protocol_version,
                "server": plain(info) if info else None,
                "capabilities": plain(capabilities) if capabilities else None,
                "instructions": session.instructions,
            }
        )
        async for line in anyio.wrap_file(sys.stdin):
            as_line(await driver.do(json.loads(line)))
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3:])
