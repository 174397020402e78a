"""Evidence into facts. Pure: texts come in, facts go out; no I/O, no clock.

`pieces` observes what the transcript reader gives, `collected` the items of a capture, `exchanges` one proxied request.
"""
