"""An HTTP server on asyncio's streams, and clients that keep their connections and send it orders as JSON."""

import asyncio
import json

import elsewhere  # noqa: F401
from timing import repeat

CLIENTS = 20
PRICES = {f"item {number}": 0.5 + number for number in range(50)}
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found"}


class Refused(Exception):
    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class Request:
    def __init__(self, method, path, headers, body):
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body


def other():
    return None


def parse_head(text):
    first, *lines = text.split("\r\n")
    method, path, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return method, path, headers


async def read_request(reader):
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:  # the client has closed the connection
        return None
    method, path, headers = parse_head(head[:-4].decode("latin-1"))
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Request(method, path, headers, body)


def read_order(body):
    order = json.loads(body)
    if not order["lines"]:
        raise Refused(400, "an order needs lines")
    return order


def price_of(line):
    number = line["count"]
    price = PRICES[line["item"]] * number  # @hot
    if number < 0:
        price = 0.0  # @cold
    return price


def discount(total, customer):
    return 0.1 * total if customer["regular"] and total > 100 else 0.0


def place_order(request):
    order = read_order(request.body)
    total = sum([price_of(line) for line in order["lines"]])
    off = discount(total, order["customer"])
    return {"order": order["number"], "total": round(total - off, 2), "lines": len(order["lines"])}


def list_prices(request):
    return PRICES


ROUTES = {("POST", "/orders"): place_order, ("GET", "/prices"): list_prices}


def answer(request):
    handler = ROUTES.get((request.method, request.path))
    try:
        if handler is None:
            raise Refused(404, f"there is no {request.path}")
        return 200, handler(request)
    except Refused as error:
        return error.status, {"error": str(error)}


def encode(status, content):
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode("latin-1") + b"\r\n\r\n" + body


async def serve(reader, writer):
    while True:
        request = await read_request(reader)
        if request is None:
            break
        writer.write(encode(*answer(request)))
        await writer.drain()
    writer.close()


def make_request(client, number):
    if number % 20 == 19:
        return b"GET /prices HTTP/1.1\r\nHost: shop\r\n\r\n"
    lines = [{"item": f"item {(number + each) % 50}", "count": each + 1} for each in range(number % 5)]
    customer = {"name": f"customer {client}", "regular": client % 2 == 0, "address": ["Long Street 1", "Far Away"]}
    body = json.dumps({"number": number, "customer": customer, "lines": lines}).encode()
    return b"POST /orders HTTP/1.1\r\nHost: shop\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


async def order(port, client, count):
    """Return how many orders were taken."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    taken = 0
    for number in range(count):
        writer.write(make_request(client, number))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.rpartition(b"Content-Length:")[2])
        content = json.loads(await reader.readexactly(length))
        taken += "total" in content
    writer.close()
    await writer.wait_closed()
    return taken


async def trade(count):
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    taken = await asyncio.gather(*[order(port, client, count) for client in range(CLIENTS)])
    server.close()
    await server.wait_closed()
    return sum(taken)


def work(size):
    count = max(20, int(100 * size))
    expected = sum(1 for number in range(count) if number % 20 != 19 and number % 5)
    assert asyncio.run(trade(count)) == CLIENTS * expected


if __name__ == "__main__":
    repeat(work)
