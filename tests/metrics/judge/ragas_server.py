"""A stand-in for a model that metrics of ragas ask; ``python -m tests.metrics.judge.ragas_server`` runs it.

It answers each prompt of ragas by a plain rule on words: a statement is true if the other text has all its words. The
run scores 300 pairs of EVOUNA-TQ with three metrics of ragas beside two free metrics, and prints table and cost.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import assay

METRICS = ("answer-accuracy", "answer-correctness", "factual-correctness")
#: The metrics that compare an answer with a context.
OF_CONTEXT = ("faithfulness", "response-groundedness")
#: A candidate with this text gets a reply that is no JSON, and one with the other is refused.
UNREADABLE, REFUSED = "unreadable answer", "refused answer"
#: A candidate with this text gets its JSON in a code block, with words around it.
FENCED = "fenced answer"


class RagasServer(ThreadingHTTPServer):
    """The stand-in, with the prompts that it received and its address."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.prompts: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        self.server.prompts.append(prompt)
        text = answer(prompt)
        status: int
        reply: dict[str, Any]
        status, reply = 400, {"error": {"message": "flagged by the content filter", "code": "content_filter"}}
        if text is not None:
            usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4, "total_tokens": 0}
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            status, reply = 200, {"id": "1", "object": "chat.completion", "created": 1, "model": body["model"]}
            reply |= {"usage": usage, "choices": [choice]}
        content = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


def answer(prompt: str) -> str | None:
    """Return the reply to a prompt of ragas; None to refuse it."""
    data, _ = json.JSONDecoder().raw_decode(prompt.rpartition("\ninput: ")[2].strip())
    if REFUSED in json.dumps(data):
        return None
    if UNREADABLE in json.dumps(data):
        return "I would rather not say."
    if "user_answer" in data:
        gold, given = _words(data["reference_answer"]), _words(data["user_answer"])
        return json.dumps({"rating": 4 if gold <= given else 2 if gold & given else 0})
    if "context" in data and "response" in data:
        context, given = _words(data["context"]), _words(data["response"])
        return json.dumps({"rating": 2 if given <= context else 1 if given & context else 0})
    if "ground_truth" in data:
        gold = _words(" ".join(data["ground_truth"]))
        kinds: dict[str, list[dict[str, str]]] = {"TP": [], "FP": [], "FN": []}
        for statement in data["answer"]:
            kinds["TP" if _words(statement) & gold else "FP"].append({"statement": statement, "reason": "words"})
        given = _words(" ".join(data["answer"]))
        for statement in data["ground_truth"]:
            if not _words(statement) & given:
                kinds["FN"].append({"statement": statement, "reason": "words"})
        return json.dumps(kinds)
    if "statements" in data:
        context = _words(data["context"])
        verdicts = [
            {"statement": one, "reason": "words", "verdict": int(_words(one) <= context)} for one in data["statements"]
        ]
        return json.dumps({"statements": verdicts})
    text = data.get("answer") or data["response"]
    sentences = [one for one in re.split(r"(?<=[.!?])\s+", text) if one]
    reply = json.dumps({"statements" if "answer" in data else "claims": sentences})
    return f"Here it is:\n```json\n{reply}\n```\nAnything else?" if FENCED in text else reply


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@contextmanager
def serve_ragas() -> Iterator[RagasServer]:
    """Serve in a thread."""
    with RagasServer() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def metric_at(url: str, name: str, **options: object) -> str:
    """Return the name of a metric of ragas at an endpoint."""
    settings = {"model": "stand-in", "endpoint": url, "price_in": 1, "price_out": 4, **options}
    return f"ragas:{name}," + ",".join(f"{key}={value}" for key, value in settings.items())


def main() -> None:
    """Run three metrics of ragas beside two free ones, and print the table and what each cost."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    with serve_ragas() as server, tempfile.TemporaryDirectory() as folder:
        metrics = [*(metric_at(server.url, name) for name in METRICS), "contains", "combined:answer-judge"]
        run = Path(folder) / "run"
        print(assay.run("evouna-tq", metrics, sample=pairs, resamples=0, buckets="none", out=run, budget=5))
        print(f"{len(server.prompts)} requests reached the server")


if __name__ == "__main__":
    main()
