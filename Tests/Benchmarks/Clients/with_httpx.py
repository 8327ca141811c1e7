"""Sends the alerts of standard input with httpx, as its documentation of HTTP/2 shows, with one more try to connect."""
import asyncio
import os
import ssl
import sys

import httpx


async def run():
    context = ssl.create_default_context(cafile=os.environ["CA"])
    context.load_cert_chain(os.environ["CERTIFICATE"])
    headers = {"apns-topic": os.environ["TOPIC"], "apns-push-type": "alert"}
    transport = httpx.AsyncHTTPTransport(http2=True, verify=context, retries=1)
    async with httpx.AsyncClient(transport=transport, headers=headers) as client:

        async def send(token, payload):
            try:
                answer = await client.post(f"{os.environ['URL']}/3/device/{token}", content=payload)
                answer.raise_for_status()
            except httpx.HTTPError as error:
                print(type(error).__name__, error, file=sys.stderr)

        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        tasks = set()
        while line := await lines.readline():
            task = asyncio.create_task(send(*line.decode().rstrip("\n").split(" ", 1)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)


asyncio.run(run())
