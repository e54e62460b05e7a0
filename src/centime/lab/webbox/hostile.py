"""The hostile site."""

from centime.lab.webbox.reply import Asked, Reply, sentence


class HostileAnswers:
    """The answers of the hostile site."""

    def __init__(self, port: int) -> None:
        self.port = port

    def reply(self, asked: Asked) -> Reply:
        """What it says."""
        return sentence(asked, 404, "Not yet.")
