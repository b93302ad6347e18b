"""Ordinary programs with four clients. Each ends by printing `fine`."""

from __future__ import annotations

NETWORK = (
    "api.example.com", "*.example.org:443", "other.example.com:8080", "localhost",
    "b\u00fccher.example.com",
)  # fmt: skip

PROGRAMS = {
    "urllib get": """
import json, urllib.request
with urllib.request.urlopen("https://api.example.com/items?page=1") as answer:
    data = json.load(answer)
assert data["path"] == "/items?page=1" and data["tls"], data
print("fine")
""",
    "urllib post": """
import json, urllib.parse, urllib.request
form = urllib.parse.urlencode({"a": 1, "b": "two words"}).encode()
with urllib.request.urlopen("http://api.example.com/form", data=form) as answer:
    data = json.load(answer)
assert data["body"] == "a=1&b=two+words" and data["method"] == "POST", data
assert data["headers"]["content-type"] == "application/x-www-form-urlencoded"
print("fine")
""",
    "urllib error": """
import urllib.error, urllib.request
try:
    urllib.request.urlopen("https://api.example.com/status?code=404")
except urllib.error.HTTPError as error:
    assert error.code == 404 and b"as asked" in error.read()
    print("fine")
""",
    "urllib redirect": """
import urllib.request
with urllib.request.urlopen("http://api.example.com/redirect?to=/items") as answer:
    assert answer.url == "http://api.example.com/items", answer.url
print("fine")
""",
    "http.client keeps its connection": """
import http.client
connection = http.client.HTTPSConnection("api.example.com")
for number in range(5):
    connection.request("GET", f"/{number}")
    assert f"/{number}" in connection.getresponse().read().decode()
print("fine")
""",
    "requests json": """
import requests
answer = requests.post("https://api.example.com/items", json={"name": "Zo\\u00eb"}, timeout=5)
assert answer.ok and "Zo" in answer.json()["body"], answer.text
print("fine")
""",
    "requests session": """
import requests
with requests.Session() as session:
    session.headers["X-Mine"] = "yes"
    session.get("https://api.example.com/cookie")
    headers = session.get("https://api.example.com/items").json()["headers"]
assert headers["cookie"] == "taste=sweet" and headers["x-mine"] == "yes", headers
print("fine")
""",
    "requests redirect to another host": """
import requests
to = "https://a.example.org/landed"
answer = requests.get("https://api.example.com/redirect", params={"to": to})
assert answer.url == to and len(answer.history) == 1 and answer.json()["host"] == "a.example.org"
print("fine")
""",
    "requests upload": """
import io, requests
files = {"file": ("data.csv", io.BytesIO(b"a,b\\n1,2\\n" * 20000), "text/csv")}
answer = requests.put("https://api.example.com/upload", files=files)
assert answer.json()["size"] > 160000, answer.text[:200]
print("fine")
""",
    "requests chunked upload": """
import requests
answer = requests.post("http://api.example.com/upload", data=(b"x" * 1000 for _ in range(100)))
assert answer.json()["size"] == 100000, answer.text[:200]
print("fine")
""",
    "requests stream": """
import requests
with requests.get("https://api.example.com/stream?pieces=50", stream=True) as answer:
    lines = list(answer.iter_lines())
assert lines == [f"line {number}".encode() for number in range(50)]
print("fine")
""",
    "requests gzip": """
import requests
answer = requests.get("https://api.example.com/gzip")
assert answer.json() == {"packed": True} and answer.headers["content-encoding"] == "gzip"
print("fine")
""",
    "requests large": """
import requests
assert len(requests.get("https://api.example.com/bytes?size=5000000").content) == 5_000_000
print("fine")
""",
    "requests time-out": """
import requests
try:
    requests.get("https://api.example.com/slow?seconds=2", timeout=0.3)
except requests.Timeout:
    print("fine")
""",
    "requests errors and head": """
import requests
assert requests.head("https://api.example.com/bytes?size=9").headers["content-length"] == "9"
assert requests.delete("https://api.example.com/x").json()["method"] == "DELETE"
try:
    requests.get("https://api.example.com/status?code=503").raise_for_status()
except requests.HTTPError as error:
    assert error.response.status_code == 503
    print("fine")
""",
    "requests in threads": """
import requests
from concurrent.futures import ThreadPoolExecutor
def fetch(number):
    return requests.get(f"https://api.example.com/{number}").json()["path"]
with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(fetch, range(24))) == [f"/{number}" for number in range(24)]
print("fine")
""",
    "requests with a wildcard and a port": """
import requests
assert requests.get("https://b.c.example.org/x").json()["host"] == "b.c.example.org"
assert requests.get("http://other.example.com:8080/x").json()["host"] == "other.example.com:8080"
print("fine")
""",
    "requests without an answer": """
import requests
try:
    requests.get("https://api.example.com/cut")
except requests.RequestException:
    print("fine")
""",
    "httpx get and post": """
import httpx
with httpx.Client(base_url="https://api.example.com", timeout=5) as client:
    assert client.get("/items", params={"page": 2}).json()["path"] == "/items?page=2"
    assert client.post("/items", json={"a": 1}).json()["body"] == '{"a":1}'
print("fine")
""",
    "httpx stream and redirect": """
import httpx
with httpx.stream("GET", "https://api.example.com/stream?pieces=9") as answer:
    assert len(list(answer.iter_lines())) == 9
answer = httpx.get("https://api.example.com/redirect?to=/items", follow_redirects=True)
assert answer.url.path == "/items"
print("fine")
""",
    "httpx async": """
import asyncio, httpx
async def main():
    async with httpx.AsyncClient() as client:
        answers = await asyncio.gather(
            *(client.get(f"https://api.example.com/{number}") for number in range(12))
        )
    return [answer.json()["path"] for answer in answers]
assert asyncio.run(main()) == [f"/{number}" for number in range(12)]
print("fine")
""",
    "aiohttp gather": """
import aiohttp, asyncio
async def fetch(session, number):
    async with session.get(f"https://api.example.com/{number}") as answer:
        return (await answer.json())["path"]
async def main():
    async with aiohttp.ClientSession() as session:
        return await asyncio.gather(*(fetch(session, number) for number in range(20)))
assert asyncio.run(main()) == [f"/{number}" for number in range(20)]
print("fine")
""",
    "aiohttp post and upload": """
import aiohttp, asyncio
async def main():
    async with aiohttp.ClientSession() as session:
        async with session.post("http://api.example.com/x", json={"a": 1}) as answer:
            assert (await answer.json())["body"] == '{"a": 1}'
        form = aiohttp.FormData()
        form.add_field("file", b"x" * 100000, filename="x.bin")
        async with session.post("https://api.example.com/x", data=form) as answer:
            assert (await answer.json())["size"] > 100000
asyncio.run(main())
print("fine")
""",
    "a name in another alphabet": """
import requests, urllib.request
for place in ("https://b\u00fccher.example.com/x", "https://xn--bcher-kva.example.com/x"):
    assert requests.get(place).json()["host"] == "xn--bcher-kva.example.com"
with urllib.request.urlopen("https://xn--bcher-kva.example.com/x") as answer:
    assert answer.status == 200
print("fine")
""",
    "a header in another alphabet": """
import json, urllib.request
request = urllib.request.Request("https://api.example.com/x")
request.add_header("X-Name", "Zo\u00eb".encode().decode("latin-1"))
with urllib.request.urlopen(request) as answer:
    sent = json.load(answer)["headers"]["x-name"]
assert sent.encode("latin-1").decode() == "Zo\u00eb", sent
print("fine")
""",
    "a local service of the host": """
import requests
assert requests.get("http://localhost/x").json()["address"] == "127.0.0.1"
print("fine")
""",
    "a refusal is explained": """
import requests
try:
    requests.get("https://evil.com/")
except requests.ConnectionError as error:
    assert "evil.com is not on this sandbox's network list" in str(error), error
print("fine")
""",
    "a hundred requests": """
import requests
with requests.Session() as session:
    for number in range(100):
        assert session.get("https://api.example.com/x").ok
print("fine")
""",
}

STEPS = [
    "import requests\nsession = requests.Session()\nprint(session.get('https://api.example.com/1').json()['path'])",
    "print(session.get('https://api.example.com/2').json()['path'])",
    "print(session.get('https://api.example.com/3').json()['path'])",
]
