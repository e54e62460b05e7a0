"""The window: pages, an API and metrics of crawls over HTTP. It follows crawls as a reader, and writes nothing."""
