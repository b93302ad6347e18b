"""Reaching anything over a socket."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Proof, attack, gets, gets_any, group

NETWORK = group(
    "network",
    gets_any(
        "import asyncio, errno, http.client, os, socket, socketserver, ssl, urllib.request\n"
        "def reached(function, *numbers):\n"
        "    try: function()\n"
        "    except OSError as error: return error.errno in numbers\n"
        "    return False\n",
        tcp="socket.create_connection(('127.0.0.1', PORT), 0.2)",
        tcp_by_name="socket.create_connection(('localhost', PORT), 0.2)",
        tcp_by_connect_ex="socket.socket().connect_ex(('127.0.0.1', PORT)) == 0",
        tcp_any_address="socket.create_connection(('0.0.0.0', PORT), 0.2)",
        tcp6="socket.create_connection(('::1', PORT6), 0.2)",
        tcp_mapped="socket.create_connection(('::ffff:127.0.0.1', PORT), 0.2)",
        tcp_fast_open=("socket.socket().sendto(b'x', socket.MSG_FASTOPEN, ('127.0.0.1', PORT))"),
        udp="socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', UDP))",
        udp_connected=(
            "(lambda s: (s.connect(('127.0.0.1', UDP)), s.send(b'x')))"
            "(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))"
        ),
        udp_message=(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
            ".sendmsg([b'x'], [], 0, ('127.0.0.1', UDP))"
        ),
        unix="(lambda s: (s.connect(UNIX), 'connected'))(socket.socket(socket.AF_UNIX))",
        abstract="(lambda s: (s.connect(ABSTRACT), 'in'))(socket.socket(socket.AF_UNIX))",
        bind_tcp="reached(lambda: socket.socket().bind(('127.0.0.1', PORT)), errno.EADDRINUSE)",
        bind_udp=(
            "reached(lambda: socket.socket(2, 2).bind(('127.0.0.1', UDP)), errno.EADDRINUSE)"
        ),
        bind_abstract="reached(lambda: socket.socket(1).bind(ABSTRACT), errno.EADDRINUSE)",
        serve="socketserver.TCPServer(('127.0.0.1', 0), None).server_address",
        http=(
            "(lambda c: (c.request('GET', '/'), 'sent'))"
            "(http.client.HTTPConnection('127.0.0.1', PORT, timeout=0.2))"
        ),
        asyncio_connection="asyncio.run(asyncio.open_connection('127.0.0.1', PORT))",
        asyncio_unix="asyncio.run(asyncio.open_unix_connection(UNIX))",
        asyncio_server="asyncio.run(asyncio.start_server(print, '127.0.0.1', 0)).sockets",
        by_syscall=(
            "__import__('ctypes').CDLL(None).connect(socket.socket().detach(),"
            " b'\\x02\\x00' + PORT.to_bytes(2, 'big') + bytes([127, 0, 0, 1]) + bytes(8), 16) == 0"
        ),
        netlink=(
            "(lambda s: (s.bind((0, 0)), s.send(bytes([20,0,0,0, 18,0,1,3, 1,0,0,0, 0,0,0,0,"
            " 0,0,0,0])), len(s.recv(65536))))(socket.socket(socket.AF_NETLINK, "
            "socket.SOCK_RAW, 0))"
        ),
        interfaces="[name for _, name in socket.if_nameindex() if name != 'lo']",
    ),
    gets(
        "kernel crypto",
        "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
        "import socket",
        proof=Proof.NONE,
    ),
    attack(
        "urllib",
        """
        import urllib.error, urllib.request
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=0.2)
        except TimeoutError:
            print(WON, "it waited for an answer")
        """,
    ),
    attack(
        "urllib of a file",
        """
        import urllib.request
        print(WON, urllib.request.urlopen("file://" + FILE).read())
        """,
    ),
    attack(
        "raw packets",
        """
        import socket
        print(WON, socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
        """,
        root=True,
    ),
    attack(
        "packets of the link",
        """
        import socket
        print(WON, socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
        """,
        root=True,
    ),
    attack(
        "ping",
        """
        import socket
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
        print(WON, sock.sendto(bytes([8, 0, 0xf7, 0xff, 0, 0, 0, 0]), ("127.0.0.1", 0)))
        """,
        proof=Proof.NONE,
    ),
    attack(
        "virtual machine's socket",
        """
        import socket
        sock = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        sock.settimeout(0.2)
        sock.connect((socket.VMADDR_CID_HOST, 1024))
        print(WON)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "a name is looked up",
        """
        import socket
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.connect(("127.0.0.53", 53))
        print(WON, sock.send(bytes(12)))
        """,
    ),
    attack(
        "a descriptor is passed on",
        """
        import os, socket
        ours, theirs = socket.socketpair()
        socket.send_fds(ours, [b"x"], [os.open("/dev/null", os.O_RDONLY)])
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(UNIX)
        socket.send_fds(sock, [b"x"], [0])
        print(WON)
        """,
    ),
    attack(
        "a subprocess has the network",
        """
        import subprocess, sys
        code = f"import socket; socket.create_connection(('127.0.0.1', {PORT})); print('in')"
        print(WON, subprocess.run([sys.executable, "-c", code], capture_output=True).stdout)
        """,
    ),
)
