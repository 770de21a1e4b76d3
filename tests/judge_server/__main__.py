"""``python -m tests.judge_server BEHAVIOUR``: serve as this JSON says until standard input ends; prints the address."""

from __future__ import annotations

import json
import sys

from tests.judge_server import serve
from tests.judge_server.protocol import Behaviour

content = json.loads(sys.argv[1])
lists = {name: tuple(value) for name, value in content.items() if isinstance(value, list)}
with serve(Behaviour(**(content | lists))) as server:
    print(server.url, flush=True)
    sys.stdin.read()
