"""The meaning of each figure and column of the window: its type for programs, a sentence and a document for people.

Every figure that the window shows links to its sentence on the page Help; the OpenAPI document has the same sentences.
"""

from dataclasses import dataclass

DOCUMENTS = {
    "refresh.md": "Keeping a crawl fresh",
    "changes.md": "Did the page change?",
    "crawl.md": "Crawling",
    "analysis.md": "What scores mean",
    "search.md": "Searching a crawl",
    "serve.md": "The window",
    "cluster.md": "Many machines",
    "webbox.md": "The simulated web",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A figure or a column."""

    kind: str  # number, integer, string, boolean, time, url, bytes, seconds, days, share or percent
    meaning: str
    document: str


FIELDS = {
    "known": Field("integer", "Pages that the crawl knows: canonical URLs that were given or linked to.", "crawl.md"),
    "read": Field("integer", "Pages whose last visit found them.", "crawl.md"),
    "fresh": Field("number", "Copies that are estimated to be the same as the page now.", "refresh.md"),
    "fresh_share": Field(
        "share",
        "The estimated share of the importance of all known pages that is in fresh copies; pages that were never read, "
        "or are gone, have none.",
        "refresh.md",
    ),
    "true_pages": Field("integer", "Pages of the simulated web, beside those that the crawl knows.", "webbox.md"),
    "true_fresh_share": Field(
        "share",
        "The true share of the copy that is the same as the simulated web now, beside the estimate of the crawl.",
        "webbox.md",
    ),
    "true_error": Field(
        "number",
        "How far all importance is from that of the simulated web as it is now, beside the certified error, "
        "which is about the links that the crawl has seen.",
        "webbox.md",
    ),
    "visits": Field("integer", "Attempts to fetch, with any outcome.", "crawl.md"),
    "hosts": Field("integer", "Hosts that the crawl knows.", "crawl.md"),
    "links": Field("integer", "Known links between known pages.", "crawl.md"),
    "wire_bytes": Field("bytes", "Bytes received, as they were sent: headers and compressed bodies.", "crawl.md"),
    "pages_per_second": Field("number", "Visits per second, between the last two figures of the crawl.", "serve.md"),
    "bytes_per_second": Field("number", "Bytes per second, between the last two figures of the crawl.", "serve.md"),
    "certified_error": Field(
        "number",
        "The mean over all pages of the distance between importance and the exact PageRank of the known graph is at "
        "most this. The mean importance is 1.",
        "crawl.md",
    ),
    "largest_error": Field("number", "No page and no set of pages is wrong by more than this.", "crawl.md"),
    "frontier": Field("integer", "Pages that wait to be fetched.", "crawl.md"),
    "leased": Field("integer", "Pages that a fetcher has now.", "crawl.md"),
    "retry": Field("integer", "Pages that failed and are tried again later.", "crawl.md"),
    "budget": Field("string", "The budget that the crawl was given, or one to compare it with.", "refresh.md"),
    "errors": Field("integer", "Visits that found neither the page nor a redirect, by outcome.", "crawl.md"),
    "running": Field("boolean", "Whether a process crawls in the folder now.", "serve.md"),
    "url": Field("url", "The canonical URL of the page.", "crawl.md"),
    "host": Field("string", "Scheme, name and port of the host.", "crawl.md"),
    "title": Field("string", "The title of the page.", "search.md"),
    "importance": Field("number", "PageRank of the graph known so far; the mean over all pages is 1.", "crawl.md"),
    "rank": Field("integer", "The place in this order.", "crawl.md"),
    "kind": Field("string", "html, xml, dtd, other, error, dead, redirect, or unread.", "crawl.md"),
    "outcome": Field("string", "The outcome of the last visit.", "crawl.md"),
    "status": Field("integer", "The HTTP status of the answer; none if there was no answer.", "crawl.md"),
    "changes": Field("integer", "Visits that found other content than the visit before.", "changes.md"),
    "changes_per_visit": Field("share", "The share of visits that found a change.", "changes.md"),
    "changes_per_day": Field("number", "The estimated change rate.", "refresh.md"),
    "last_visit": Field("time", "When the page was last visited.", "crawl.md"),
    "worth": Field("number", "What a visit now gains: importance times the expected staleness.", "refresh.md"),
    "worth_needed": Field("number", "The threshold at which a visit is worth its cost.", "refresh.md"),
    "level": Field("string", "How urgent it is: requisite, published, deadline, refresh, discovery.", "refresh.md"),
    "why": Field("string", "The reason, in words.", "refresh.md"),
    "host_ready": Field("string", "When the host may be fetched from: now, a time, or blocked.", "crawl.md"),
    "waiting": Field("integer", "Pages of the host that wait to be fetched.", "crawl.md"),
    "failures": Field("integer", "Visits that failed.", "crawl.md"),
    "refused": Field("integer", "Visits that robots.txt or an exclude pattern refused.", "crawl.md"),
    "ready": Field("string", "When the host may be fetched from: now, a time, or blocked.", "crawl.md"),
    "crawl_delay_seconds": Field("seconds", "The delay that robots.txt requests.", "crawl.md"),
    "latency_seconds": Field("seconds", "How long the host takes to answer.", "crawl.md"),
    "trouble": Field("string", "The last failure.", "crawl.md"),
    "fresh_percent": Field("percent", "The estimated share of its copies that are fresh.", "refresh.md"),
    "gap_seconds": Field(
        "seconds", "The shortest time between two visits to the host, of the newest ones.", "crawl.md"
    ),
    "usual_gap_seconds": Field("seconds", "The median of these times.", "crawl.md"),
    "seen": Field("time", "When a visit saw the change.", "changes.md"),
    "last_seen_before": Field("time", "When a visit last found the page before: it changed in between.", "changes.md"),
    "change": Field("string", "new, changed, gone or back.", "changes.md"),
    "bytes": Field("bytes", "The size of the body.", "changes.md"),
    "old_bytes": Field("bytes", "The size of the body before.", "changes.md"),
    "version": Field("integer", "The number of the version, which stays when older ones are removed.", "changes.md"),
    "time": Field("time", "When it was first seen, or when it happened.", "changes.md"),
    "last_seen": Field("time", "When the page was last seen with this body.", "changes.md"),
    "digest": Field("string", "A checksum of the body.", "changes.md"),
    "score": Field("number", "BM25 times importance.", "search.md"),
    "language": Field("string", "As the page declares it.", "search.md"),
    "snippet": Field("string", "A piece of the text with the words of the search.", "search.md"),
    "unit": Field("string", "Whether the budget counts pages or bytes.", "refresh.md"),
    "per_day": Field("number", "The budget of a day.", "refresh.md"),
    "fresh_in_the_coming_days": Field("share", "The freshness predicted for the coming days.", "refresh.md"),
    "age_in_the_coming_days": Field("days", "The predicted mean age of the copy, in days.", "refresh.md"),
    "fresh_in_the_long_run": Field("share", "The freshness predicted for the long run.", "refresh.md"),
    "age_in_the_long_run_of_what_is_read": Field("days", "Mean age of the pages that are read, in days.", "refresh.md"),
    "pages_never_read": Field("integer", "Pages for which no age makes a visit worth its cost.", "refresh.md"),
    "pages": Field("integer", "The number of pages.", "analysis.md"),
    "energy": Field("number", "The sum of the importance of the pages of a site.", "analysis.md"),
    "received": Field("number", "The energy that links of other sites bring.", "analysis.md"),
    "spread": Field("number", "The energy that links to other sites take away.", "analysis.md"),
    "lost": Field("number", "The energy lost in pages without links.", "analysis.md"),
    "command": Field("string", "set, publish, subscribe or unsubscribe.", "serve.md"),
    "detail": Field("string", "The content of the command, or what went wrong.", "serve.md"),
    "by": Field("string", "Who gave the order: the name of a token, or the command line.", "serve.md"),
    "state": Field(
        "string",
        "Of a command: waiting, applied or refused. Of a partition: starting, running, frozen (it has not answered for "
        "three seconds), lost (it continues from its replica), ended, or stopped.",
        "serve.md",
    ),
    "partition": Field("integer", "The number of the partition, which owns some hosts.", "cluster.md"),
    "partitions": Field("integer", "How many partitions there are.", "cluster.md"),
    "node": Field("string", "The node that runs the partition: its number, or its address.", "cluster.md"),
    "replica": Field(
        "string",
        "Whether the replica of the partition is complete, or still lacks stored bodies; none if there is no replica.",
        "cluster.md",
    ),
    "taken_over": Field("integer", "How often another process took over in this run.", "cluster.md"),
    "process": Field("integer", "The number of the process.", "cluster.md"),
    "proxies": Field("integer", "Pages of other partitions that its pages link to.", "cluster.md"),
    "pending_batches": Field("integer", "Batches of money that others have not applied yet.", "cluster.md"),
    "owed_share": Field(
        "number", "Money that pages have received and not yet paid, as a share of all money.", "cluster.md"
    ),
    "unsent_share": Field("number", "Money for others that no batch has yet, as a share of all money.", "cluster.md"),
    "in_flight_share": Field("number", "Money in batches that are in transit, as a share of all money.", "cluster.md"),
    "span_seconds": Field("seconds", "The time between two figures.", "serve.md"),
}

JSON_TYPES = {
    "number": "number",
    "share": "number",
    "percent": "number",
    "seconds": "number",
    "days": "number",
    "integer": "integer",
    "bytes": "integer",
    "boolean": "boolean",
}  # all others are strings
