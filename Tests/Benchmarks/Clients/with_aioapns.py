"""Sends the alerts of standard input with aioapns, as its README shows. aioapns itself tries an alert up to five times."""
import asyncio
import json
import os
import ssl
import sys
from urllib.parse import urlsplit
from uuid import uuid4

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol as Service


async def run():
    # The service is on this machine, and asks for the protocol that aioapns does not name by itself.
    service = urlsplit(os.environ["URL"])
    Service.APNS_SERVER, Service.APNS_PORT = service.hostname, service.port
    context = ssl.create_default_context(cafile=os.environ["CA"])
    context.set_alpn_protocols(["h2"])
    client = APNs(client_cert=os.environ["CERTIFICATE"], topic=os.environ["TOPIC"], ssl_context=context)

    async def send(token, payload):
        request = NotificationRequest(device_token=token, message=json.loads(payload), notification_id=str(uuid4()),
                                      push_type=PushType.ALERT)
        try:
            await client.send_notification(request)
        except Exception as error:
            print(type(error).__name__, error, file=sys.stderr)

    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    tasks = set()
    while line := await lines.readline():
        task = asyncio.create_task(send(*line.decode().split(" ", 1)))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


asyncio.run(run())
