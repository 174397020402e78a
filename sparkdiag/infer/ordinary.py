"""Lines that a healthy server or node writes again and again, and the anchors that stand in them all the same.

An anchor that most lines hold sends every one of them through its signature's regular expression: a large log is then
read many times slower. The answers stay the same, so this is a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..facts import Signature

__all__ = ["LINES", "common_anchors"]

LINES = (
    "(APIServer pid=71) INFO 11-30 16:46:35 [loggers.py:335] Engine 000: Avg prompt throughput: 73.2 tokens/s, "
    "Avg generation throughput: 85.8 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.6%, "
    "Prefix cache hit rate: 41.0%",
    "(APIServer pid=71) INFO 11-30 16:46:35 [metrics.py:103] SpecDecoding metrics: Mean acceptance length: 2.61, "
    "Accepted throughput: 51.20 tokens/s, Drafted throughput: 95.40 tokens/s, Accepted: 512 tokens, "
    "Drafted: 954 tokens, Per-position acceptance rate: 0.801, 0.541, 0.269, Avg Draft acceptance rate: 53.7%",
    '(APIServer pid=71) INFO:     192.0.2.7:51934 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
    '(APIServer pid=71) INFO:     192.0.2.7:51934 - "POST /v1/completions HTTP/1.1" 200 OK',
    '(APIServer pid=71) INFO:     192.0.2.7:51934 - "GET /v1/models HTTP/1.1" 200 OK',
    '(APIServer pid=71) INFO:     192.0.2.7:51934 - "GET /health HTTP/1.1" 200 OK',
    '(APIServer pid=71) INFO:     192.0.2.7:51934 - "GET /metrics HTTP/1.1" 200 OK',
    "(APIServer pid=71) INFO 11-30 16:46:35 [async_llm.py:426] Added request chatcmpl-8f1c0d6e5b7a4c21.",
    "(APIServer pid=71) INFO 11-30 16:46:35 [logger.py:43] Received request chatcmpl-8f1c0d6e: prompt: 'Hello', "
    "params: SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, temperature=0.6, "
    "top_p=0.95, top_k=20, min_p=0.0, seed=None, stop=[], stop_token_ids=[], bad_words=[], include_stop_str_in_output="
    "False, ignore_eos=False, max_tokens=2000, min_tokens=0, logprobs=None, prompt_logprobs=None, skip_special_tokens="
    "True, spaces_between_special_tokens=True, truncate_prompt_tokens=None, guided_decoding=None, extra_args=None), "
    "prompt_token_ids: None, prompt_embeds shape: None, lora_request: None.",
    "[2026-11-30 16:38:49] Prefill batch, #new-seq: 1, #new-token: 12, #cached-token: 0, token usage: 0.00, "
    "#running-req: 0, #queue-req: 0, input throughput (token/s): 20.51",
    "[2026-11-30 16:38:50 TP0] Decode batch, #running-req: 1, #token: 97, token usage: 0.00, accept len: 2.31, "
    "accept rate: 0.58, cuda graph: True, gen throughput (token/s): 85.83, #queue-req: 0",
    '[2026-11-30 16:38:50] INFO:     192.0.2.7:51934 - "POST /generate HTTP/1.1" 200 OK',
    '[2026-11-30 16:38:50] INFO:     192.0.2.7:51934 - "GET /health_generate HTTP/1.1" 200 OK',
    "Nov 30 16:38:50 node-a systemd[1]: Started session-7.scope - Session 7 of User operator.",
    "Nov 30 16:38:50 node-a CRON[1907]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)",
    "Nov 30 16:38:50 node-a kernel: docker0: port 2(veth1a2b3c4) entered forwarding state",
    "Nov 30 16:38:50 node-a kernel: [UFW BLOCK] IN=enP7s7 OUT= MAC= SRC=192.0.2.9 DST=192.0.2.7 LEN=52 "
    "TOS=0x00 PREC=0x00 TTL=64 ID=4711 DF PROTO=TCP SPT=51934 DPT=8000 WINDOW=501 RES=0x00 ACK URGP=0",
    'Nov 30 16:38:50 node-a dockerd[900]: level=info msg="ignoring event" container=4f5e6d',
    "node-a:71:71 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0",
)


def common_anchors(signatures: Iterable[Signature]) -> Iterator[tuple[Signature, str, str]]:
    """Signatures of logs that ordinary lines are tried on though they do not mean them: (signature, anchor, line)."""
    for signature in signatures:
        if not {"log", "any"} & set(signature.pieces):
            continue
        regex = re.compile(signature.regex)
        for line in LINES:
            held = next((anchor for anchor in signature.anchors if anchor in line), None)
            if held is not None and regex.search(line) is None:
                yield signature, held, line
                break
