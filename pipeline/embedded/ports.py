"""Free ports on this machine."""

import socket


def free_ports(count: int) -> list[int]:
    """That many different TCP ports that nothing listens on at 127.0.0.1 now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [opened.getsockname()[1] for opened in sockets]
    finally:
        for opened in sockets:
            opened.close()


def answers(port: int) -> bool:
    """Whether something accepts connections on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
