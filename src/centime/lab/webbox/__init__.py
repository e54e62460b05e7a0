"""The simulated web: `WebBox` is the truth; `WebBoxServer` serves it, `serve_in_process` does so in another process."""

from centime.lab.webbox.box import Links, WebBox
from centime.lab.webbox.process import Served, serve_in_process
from centime.lab.webbox.server import WebBoxServer

__all__ = ["Links", "Served", "WebBox", "WebBoxServer", "serve_in_process"]
